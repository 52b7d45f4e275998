"""What a fake upstream keeps as OpenAI does, for whoever has its key: responses, and conversations with their items."""

import json
import re
from dataclasses import dataclass, field
from itertools import count
from typing import Any

Body = dict[str, Any]
#: The ids that the fake upstream's answers have before they are stored.
_ID = re.compile(rb'"(resp|msg|fc)_1"')


def _not_found(what: str) -> tuple[int, Body]:
    return 404, {"error": {"message": f"{what} not found.", "type": "invalid_request_error", "param": None}}


@dataclass
class StoredResponses:
    """Responses with their input, and conversations, by id.

    A response in the background is queued first, and done when somebody asks for it.
    """

    responses: dict[str, Body] = field(default_factory=dict)
    inputs: dict[str, list[Body]] = field(default_factory=dict)
    conversations: dict[str, list[Body]] = field(default_factory=dict)
    _numbers: Any = field(default_factory=lambda: count(1))

    def named(self, raw: bytes, number: int) -> bytes:
        """An answer, or events of one, with ids of its own."""
        return _ID.sub(rb'"\1_%d"' % number, raw)

    def number(self) -> int:
        """The number of the next response."""
        return next(self._numbers)

    def keep(self, body: Body, response: Body) -> None:
        """Store a response with all that the model was given."""
        input_items = body.get("input") or []
        new = [{"role": "user", "content": input_items}] if isinstance(input_items, str) else input_items
        self.responses[response["id"]] = response
        previous = body.get("previous_response_id")
        earlier = [*self.inputs[previous], *self.responses[previous]["output"]] if previous else []
        if conversation := body.get("conversation"):
            earlier = list(self.conversations[conversation])
            self.conversations[conversation] += [*new, *response["output"]]
        self.inputs[response["id"]] = [*earlier, *new]

    def answer(self, method: str, path: str, raw: bytes) -> tuple[int, Body] | None:
        """The answer to a request about what is stored, or that continues what is not; None for others."""
        kind, object_id, rest = [*path.removeprefix("/v1/").split("/", 2), "", ""][:3]
        if kind == "responses" and not object_id:
            return self._missing(json.loads(raw))
        if kind == "conversations":
            return self._conversation(method, object_id, rest, json.loads(raw or b"{}"))
        if kind != "responses":
            return None
        if object_id not in self.responses:
            return _not_found(f"Response {object_id}")
        response = self.responses[object_id]
        if method == "DELETE":
            del self.responses[object_id]
            return 200, {"id": object_id, "object": "response", "deleted": True}
        if rest == "input_items":
            return 200, {"object": "list", "data": self.inputs[object_id], "has_more": False}
        if rest == "cancel":
            response = {**response, "status": "cancelled", "output": []}
        self.responses[object_id] = {**response, "status": "completed" if not rest else "cancelled"}
        return 200, self.responses[object_id]

    def _missing(self, body: Body) -> tuple[int, Body] | None:
        """The error if a request continues what is not stored."""
        for name, known in (("previous_response_id", self.responses), ("conversation", self.conversations)):
            if body.get(name) and body[name] not in known:
                return _not_found(f"{name} {body[name]}")
        return None

    def _conversation(self, method: str, object_id: str, rest: str, body: Body) -> tuple[int, Body]:
        if not object_id:
            object_id = f"conv_{self.number()}"
            self.conversations[object_id] = list(body.get("items") or [])
        elif object_id not in self.conversations:
            return _not_found(f"Conversation {object_id}")
        elif rest.startswith("items"):
            self.conversations[object_id] += body.get("items") or []
            return 200, {"object": "list", "data": self.conversations[object_id], "has_more": False}
        elif method == "DELETE":
            del self.conversations[object_id]
            return 200, {"id": object_id, "object": "conversation.deleted", "deleted": True}
        return 200, {"id": object_id, "object": "conversation", "created_at": 1, "metadata": {}}

"""Record the result of a request: the turn's answer, and the call with its cost. Blocks on the database."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from memorybank import services
from memorybank.services import Bank, Output

from . import turn_recording
from .database import upstream_objects
from .protocols import Answer
from .routes import Route
from .turn_recording import RecordedQuestion

MAX_COUNTED_CHARACTERS = 200_000


@dataclass(frozen=True, slots=True)
class Call:
    """A finished request to the upstream at ``address``.

    ``body`` is what was sent there, ``failed`` the ledger's outcome of a failure, or "".
    """

    bank: Bank
    route: Route
    address: str
    body: dict[str, Any]
    received_at: datetime
    answer: Answer
    status: str
    failed: str
    ended_at: datetime = field(default_factory=timezone.now)

    def record(self, question: RecordedQuestion | None, *, may_exist: bool) -> None:
        """Record the turn's answer, if there is a turn, and enter the call in the ledger if its route has a purpose.

        ``may_exist``: an earlier attempt may have recorded them although it seemed to fail.
        """
        answer, purpose = self.answer, self.route.purpose
        answer.model = answer.model or str(self.body.get("model") or "")
        if purpose and not self.failed:
            self._estimate_tokens()
        if question:
            turn_recording.record_answer(question, answer, self.status)
            self._bind_conversation(question.output)
        elif self.route.object_id and answer.state:
            turn_recording.record_stored_answer(self.bank, self._turn_in_background(), answer)
        if purpose:
            services.record_call(
                self.bank,
                purpose=purpose,
                model=answer.model,
                prompt_tokens=answer.prompt_tokens or 0,
                completion_tokens=answer.completion_tokens or 0,
                asked_at=self.received_at,
                ended_at=self.ended_at,
                failed=self.failed,
                error=answer.error,
                may_exist=may_exist,
            )

    def _turn_in_background(self) -> Output | None:
        return upstream_objects.find_turn(self.bank.pk, self.address, self.answer.stored_id)

    def _bind_conversation(self, output: Output | None) -> None:
        conversation = self.route.protocol.conversation(self.body)
        if conversation and output:
            upstream_objects.bind_conversation(self.bank.pk, self.address, conversation, output.chat_id)

    def _estimate_tokens(self) -> None:
        """Estimate token counts that are missing: they are optional, and a cancelled stream ends before them."""
        answer = self.answer
        if answer.prompt_tokens is None:
            answer.prompt_tokens = _count_tokens(self._prompt_text())
        if answer.completion_tokens is None:
            calls = [
                json.dumps(message.recorded["tool_calls"]) for message in answer.messages if message.has_tool_calls
            ]
            answer.completion_tokens = services.count_tokens("\n".join([answer.text, *calls]))

    def _prompt_text(self) -> str:
        """The text of the request, to count its tokens."""
        protocol = self.route.protocol
        try:
            return "\n".join([protocol.system(self.body), *(item.text for item in protocol.messages(self.body))])
        except Exception:  # a body that cannot be parsed here, though the upstream accepted it
            return json.dumps(self.body)


def _count_tokens(text: str) -> int:
    """Count a text's tokens; extrapolate from its first ``MAX_COUNTED_CHARACTERS`` if it is longer."""
    if len(text) <= MAX_COUNTED_CHARACTERS:
        return services.count_tokens(text)
    return round(services.count_tokens(text[:MAX_COUNTED_CHARACTERS]) * len(text) / MAX_COUNTED_CHARACTERS)

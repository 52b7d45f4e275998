"""Record the result of a request: the turn's answer, and the call with its cost. Blocks on the database."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from memorybank import services
from memorybank.services import Bank

from . import turn_recording
from .protocols import Answer
from .requests import Route
from .turn_recording import RecordedQuestion

MAX_COUNTED_CHARACTERS = 200_000


@dataclass(frozen=True, slots=True)
class Call:
    """A request that was answered or failed: ``body`` as it was sent, and ``failed``, the ledger's outcome, or ""."""

    bank: Bank
    route: Route
    body: dict[str, Any]
    received_at: datetime
    answer: Answer
    status: str
    failed: str
    ended_at: datetime = field(default_factory=timezone.now)

    def record(self, question: RecordedQuestion | None) -> None:
        """Record it, with the turn if it is one."""
        answer, purpose = self.answer, self.route.purpose
        answer.model = answer.model or str(self.body.get("model") or "")
        if purpose and not self.failed:
            self._estimate_tokens()
        if question:
            turn_recording.record_answer(question, answer, self.status)
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
            )

    def _estimate_tokens(self) -> None:
        """Estimate tokens that the upstream did not report: it need not, and for a cancelled stream it cannot."""
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
    """The tokens of a text; those of a long one are estimated from its beginning."""
    if len(text) <= MAX_COUNTED_CHARACTERS:
        return services.count_tokens(text)
    return round(services.count_tokens(text[:MAX_COUNTED_CHARACTERS]) * len(text) / MAX_COUNTED_CHARACTERS)

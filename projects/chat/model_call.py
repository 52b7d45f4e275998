"""One call of the model of chats: heard piece by piece, stopped by whoever hears it, and on the ledger."""

from collections.abc import Callable
from contextlib import closing

from django.utils import timezone

from memorybank import llm, services
from memorybank.models import Bank, LLMCall, ledgered
from projects.web.db_connections import give_back

from .prompt import Prompt


class Stopped(Exception):
    """Somebody stopped an answer. ``completion`` is what there was of it."""

    def __init__(self, completion: llm.Completion | None = None) -> None:
        super().__init__()
        self.completion = completion or llm.Completion("", 0, 0, "")


#: Gets the pieces of an answer; raises :class:`Stopped` to have no more of them.
Hear = Callable[[str], None]


def unheard(piece: str) -> None:
    """Nobody listens."""


def call(bank: Bank, model: llm.LLM, prompt: Prompt, hear: Hear) -> llm.Completion:
    """One call of the model, on the ledger; :class:`Stopped` with what there was if it was stopped."""
    give_back()  # others need it more while the model answers
    with ledgered(bank.pk, LLMCall.Purpose.CHAT, model.model, timezone.now(), keep=LLMCall.save) as row:
        completion, whole = _heard(model, prompt, hear)
        row.model = completion.model[:200]
        row.charge(completion)
    if not whole:
        raise Stopped(completion)
    return completion


def _heard(model: llm.LLM, prompt: Prompt, hear: Hear) -> tuple[llm.Completion, bool]:
    """What the model said, and whether that is all of it; what a stopped answer cost nobody says, so it is counted."""
    said: list[str] = []
    with closing(model.stream(prompt.messages)) as stream:
        while True:
            try:
                piece = next(stream)
                hear(piece)
            except StopIteration as end:
                return end.value, True
            except Stopped:
                text = "".join(said)
                return llm.Completion(text, prompt.tokens, services.count_tokens(text), model.model), False
            said.append(piece)

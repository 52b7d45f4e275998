"""One call of the chat model: streamed in chunks, stopped by the listener, and entered in the ledger of calls."""

from collections.abc import Callable
from contextlib import closing

from memorybank import llm, services
from memorybank.services import Bank, LLMCall
from projects.web.db_connections import release_connection

from .prompt import Prompt


class Stopped(Exception):
    """Somebody stopped an answer. ``completion`` is the part until then."""

    def __init__(self, completion: llm.Completion | None = None) -> None:
        super().__init__()
        self.completion = completion or llm.Completion("", 0, 0, "")


#: Gets each chunk of an answer; raises :class:`Stopped` to end it.
OnChunk = Callable[[str], None]


def ignore_chunk(chunk: str) -> None:
    """For callers that want the whole answer alone."""


def call(bank: Bank, model: llm.LLM, prompt: Prompt, on_chunk: OnChunk) -> llm.Completion:
    """The model's answer; :class:`Stopped` with the part until then if it was stopped."""
    release_connection()  # other requests need the connection while the model answers
    with services.ledgered_call(bank, purpose=LLMCall.Purpose.CHAT, model=model.model) as row:
        completion, whole = _stream(model, prompt, on_chunk)
        row.model = completion.model[:200]
        row.charge(completion)
    if not whole:
        raise Stopped(completion)
    return completion


def _stream(model: llm.LLM, prompt: Prompt, on_chunk: OnChunk) -> tuple[llm.Completion, bool]:
    """The answer, and whether it is whole. Providers report no usage for a stopped one, so its tokens are counted."""
    chunks: list[str] = []
    with closing(model.stream(prompt.messages)) as stream:
        while True:
            try:
                chunk = next(stream)
                on_chunk(chunk)
            except StopIteration as end:
                return end.value, True
            except Stopped:
                text = "".join(chunks)
                return llm.Completion(text, prompt.tokens, services.count_tokens(text), model.model), False
            chunks.append(chunk)

"""Call the chat model: stream the answer in chunks, let the caller stop it, and record the call in the ledger."""

from collections.abc import Callable
from contextlib import closing

from memorybank import llm, services
from memorybank.services import Bank, LLMCall
from projects.web.db_connections import release_connection

from .prompt import Prompt


class Stopped(Exception):
    """Somebody stopped an answer. ``completion`` is the part received by then."""

    def __init__(self, completion: llm.Completion | None = None) -> None:
        super().__init__()
        self.completion = completion or llm.Completion("", 0, 0, "")


#: Gets each chunk of an answer; raises :class:`Stopped` to end it.
OnChunk = Callable[[str], None]


def ignore_chunk(chunk: str) -> None:
    """Do nothing, for callers that need only the complete answer."""


def call(bank: Bank, model: llm.LLM, prompt: Prompt, on_chunk: OnChunk) -> llm.Completion:
    """Return the model's answer. Raises :class:`Stopped`, with the text so far, if ``on_chunk`` stops it."""
    release_connection()  # other requests need the connection while the model answers
    with services.ledgered_call(bank, purpose=LLMCall.Purpose.CHAT, model=model.model) as row:
        completion, whole = _stream(model, prompt, on_chunk)
        row.model = completion.model[:200]
        row.charge(completion)
    if not whole:
        raise Stopped(completion)
    return completion


def _stream(model: llm.LLM, prompt: Prompt, on_chunk: OnChunk) -> tuple[llm.Completion, bool]:
    """The answer, and whether it is complete; providers report no usage for a stopped one, so count its tokens."""
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

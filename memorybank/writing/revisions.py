"""Replace turns by a new answer: they are set aside in the transaction that records the answer, not before."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memorybank.clock import PRESENT, at_present
from memorybank.core.quotes import NO_QUOTES, Quotes
from memorybank.models import Bank, Output
from memorybank.new_output import AttemptResult, NewOutput
from memorybank.writing import recording, versions


@at_present
def record(
    bank: Bank,
    *,
    chat_key: str,
    author: str,
    question: str,
    answer: str = "",
    messages: Sequence[Any] = (),
    status: str = Output.Status.OK,
    created_at: datetime | None = None,
    key: str = "",
    key_is_fingerprint: bool = False,
    title: str = "",
    replaces: Sequence[int] = (),
    metadata: Mapping[str, Any] | None = None,
    private: bool | None = None,
    readers: Sequence[str] = (),
    begun_by: str = "",
    quotes: Quotes = NO_QUOTES,
    now: datetime = PRESENT,
) -> Output:
    """Record one inference: one short transaction without a model call, so an outage loses nothing.

    ``key`` is the caller's own id: the same key in the same chat is recorded once; an output without an answer
    (pending, error, …) is replaced by the same key with one. Once it is erased, its key is refused, unless
    ``key_is_fingerprint``: then it only tells which words these are, and they may be said again. A caller who asks a
    model records the message as pending first and then :func:`complete`s it.
    ``replaces`` are ids of outputs of the chat: they are set aside in the transaction that records the answer, as its
    earlier versions, and stay if there is none. ``metadata`` are labels that no model reads. If the output begins a
    chat, ``private`` and ``readers`` set who may read its memory (default: the bank's setting), and ``begun_by`` names
    the program. Raises :class:`InvalidInput`, naming the field and the limit; any other error rolls back the caller's
    transaction, too.
    """
    new = NewOutput(
        chat_key=chat_key,
        author=author,
        question=question,
        created_at=created_at or now,
        answer=answer,
        messages=messages,
        status=status,
        key=key,
        key_is_fingerprint=key_is_fingerprint,
        title=title,
        replaces=tuple(replaces),
        metadata=metadata or {},
        private=private,
        readers=tuple(readers),
        begun_by=begun_by,
        quotes=quotes,
    )
    if status != Output.Status.OK or not replaces:
        return recording.record(bank, new, now=now)[0]
    pending, _ = recording.record(bank, replace(new, status=Output.Status.PENDING, answer="", title=""), now=now)
    return complete(bank, pending, answer=answer, title=title, quotes=quotes, now=now)


@at_present
def complete(
    bank: Bank,
    output: Output,
    *,
    answer: str = "",
    status: str = Output.Status.OK,
    error: str = "",
    title: str = "",
    messages: Sequence[Any] = (),
    quotes: Quotes = NO_QUOTES,
    now: datetime = PRESENT,
) -> Output:
    """Record the outcome of an attempt that :func:`record` (as pending) or :func:`retry_output` began.

    Returns the output as it is now: one that becomes ok comes after all the others of its chat and is pending for
    memory. The first answer wins, whichever attempt it is from; a failure of any attempt but the latest changes and
    replaces nothing. ``title`` names an untitled chat; ``messages`` are those between question and answer, if they were
    not known when the output was recorded. ``quotes`` is what the answer repeats of the memory that it was given.
    Raises :class:`InvalidInput` if the output has been erased; any other error rolls back the caller's transaction.
    """

    outcome = AttemptResult(status, answer, error, title, messages, quotes)

    def record_outcome() -> Output:
        return recording.complete(bank, output, outcome, now=now)

    if status != Output.Status.OK or not output.replaces:
        return record_outcome()
    return versions.replace_turns(bank, output, record_outcome, now=now)

"""The public face of the app: what another app may call. What concerns one bank takes it first."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone

from memorybank import audit, conf
from memorybank.core.reports import ExplainedLine, Receipt, Report
from memorybank.language import tokens
from memorybank.models import Bank, Event, Output, PublicId, public_id
from memorybank.monitoring.dashboard import Board
from memorybank.monitoring.health import Vitals
from memorybank.monitoring.invariants import Violation
from memorybank.monitoring.statistics import History, Statistics
from memorybank.monitoring.time_series import Curve
from memorybank.new_output import MAX_TEXT, NewOutput, Outcome
from memorybank.reading import exporting, prompting
from memorybank.reading import recall as recalling
from memorybank.reading.browsing import Origin
from memorybank.reading.explanations import Explanation
from memorybank.reading.prompting import PromptMemory
from memorybank.reading.recall import Hit
from memorybank.reading.rendering import Block, ShownLine, Text, render
from memorybank.services.compaction import (
    begin_compaction,
    compact_chat,
    finish_compaction,
    resume_compaction,
    tools_said,
)
from memorybank.services.erasure import clear, forget, forget_asked, opt_out, restore_asked, set_private
from memorybank.services.facts import (
    add,
    browse,
    edit,
    explain,
    find,
    hide,
    keep_back,
    origins,
    pin,
    release,
    restore,
    sentences,
    telling_words,
    unpin,
)
from memorybank.services.jobs import ask, retry_parked, run, summarise_now
from memorybank.services.monitoring import board, check, history, last_sweep, outage, spent, statistics, vitals
from memorybank.writing import bank_settings, recording, revisions

# Whatever writes memory is imported where it is called: no prompt needs its rules, which take a third of a second.

__all__ = [
    "MAX_TEXT",
    "Block",
    "Board",
    "Curve",
    "ExplainedLine",
    "Explanation",
    "History",
    "Hit",
    "NewOutput",
    "Origin",
    "PromptMemory",
    "PublicId",
    "Receipt",
    "Report",
    "ShownLine",
    "Statistics",
    "Text",
    "Violation",
    "Vitals",
    "add",
    "ask",
    "ask_again",
    "begin_compaction",
    "board",
    "browse",
    "check",
    "clear",
    "compact_chat",
    "complete",
    "configure",
    "count_tokens",
    "disable",
    "edit",
    "enable",
    "explain",
    "explain_line",
    "export",
    "find",
    "finish_compaction",
    "forget",
    "forget_asked",
    "hide",
    "history",
    "keep_back",
    "keep_prompt",
    "last_sweep",
    "opt_out",
    "origins",
    "outage",
    "pin",
    "prompt_memory",
    "public_id",
    "recall",
    "record",
    "record_many",
    "reindex",
    "release",
    "render",
    "restore",
    "restore_asked",
    "resume_compaction",
    "retry_parked",
    "run",
    "sentences",
    "set_private",
    "spent",
    "statistics",
    "summarise_now",
    "telling_words",
    "tools_said",
    "unpin",
    "vitals",
]


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
    title: str = "",
    replaces: Sequence[int] = (),
    now: datetime | None = None,
) -> Output:
    """Record one inference: one short transaction, no model, so an outage loses nothing.

    ``key`` is the caller's own id: the same key in the same chat is recorded once; what was recorded
    without an answer (pending, error, …) is completed by the same key with one. A caller who asks a model
    records the message as pending first and then :func:`complete`s it. ``replaces`` are ids of outputs of the
    chat: they are erased in the transaction that records the answer, and stay if there is none. Raises
    :class:`InvalidInput`, naming the field and the limit.
    """
    now = now or timezone.now()
    said = (chat_key, author, question, created_at or now, answer, messages, status, key, title)
    return revisions.record(bank, NewOutput(*said, replaces=tuple(replaces)), now=now)


def record_many(bank: Bank, many: Sequence[NewOutput], *, now: datetime | None = None) -> list[Output | None]:
    """Record ``many`` in one transaction, all or none: each output, or None where its key was there before."""
    return recording.record_many(bank, many, now=now or timezone.now())


def ask_again(bank: Bank, output_id: int, *, now: datetime | None = None) -> Output:
    """A new attempt at an output that is not ok: pending again. :class:`InvalidInput` if it is answered or erased."""
    return recording.ask_again(bank, output_id, now=now or timezone.now())


def complete(
    bank: Bank,
    output: Output,
    *,
    answer: str = "",
    status: str = Output.Status.OK,
    error: str = "",
    title: str = "",
    messages: Sequence[Any] = (),
    now: datetime | None = None,
) -> Output:
    """What became of an attempt that :func:`record` (as pending) or :func:`ask_again` began.

    Returns the output as it is now: one that becomes ok stands after all the others of its chat, and
    waits to become memory. The first answer wins, whichever attempt it is from; a failure of any but the
    latest attempt changes nothing. ``title`` names an untitled chat; ``messages`` were said between question and
    answer, if that was not known when it was recorded. Raises :class:`InvalidInput` if the
    output has been erased.
    """
    outcome = Outcome(status, answer, error, title, messages)
    return revisions.complete(bank, output, outcome, now=now or timezone.now())


def prompt_memory(
    bank: Bank, *, chat_key: str = "", question: str = "", keep: bool = False, now: datetime | None = None
) -> PromptMemory:
    """What a chat's next message is given: the stored block for the system prompt, and notes beside the message.

    The block takes two indexed reads, whatever the bank holds. Say ``keep`` when a prompt is made of it: the chat
    then has the same block again while it is warm.
    """
    return prompting.prompt_memory(bank, chat_key=chat_key, question=question, keep=keep, now=now or timezone.now())


def keep_prompt(bank: Bank, *, chat_key: str, memory: PromptMemory, now: datetime | None = None) -> None:
    """What :func:`prompt_memory` does by ``keep``, once the prompt is on its way and the chat is there."""
    prompting.keep_prompt(bank, chat_key, memory, now or timezone.now())


def recall(
    bank: Bank, question: str, *, top: int = 10, exclude_chat: str = "", now: datetime | None = None
) -> list[Hit]:
    """The turns and facts that answer a question, best first. Reads what is indexed; see :func:`reindex`."""
    return recalling.recall(bank, question, top=top, exclude_chat=exclude_chat, now=now or timezone.now())


def reindex(bank: Bank) -> int:
    """Index now what waits in a bank, rather than at the next sweep; how many turns that were."""
    from memorybank.indexing import document_writer

    return document_writer.catch_up(bank)


def enable(
    bank: Bank, *, actor: str, disclosure_accepted: bool, history: bool = False, now: datetime | None = None
) -> None:
    """Switch memory on, from now on or with what was said before; see :func:`bank_settings.enable`."""
    given = {"disclosure_accepted": disclosure_accepted, "history": history}
    bank_settings.enable(bank, actor=actor, now=now or timezone.now(), **given)


def disable(bank: Bank, *, actor: str, now: datetime | None = None) -> None:
    """Switch memory off; what is remembered stays."""
    bank_settings.disable(bank, actor=actor, now=now or timezone.now())


def configure(bank: Bank, *, actor: str, now: datetime | None = None, **changes: Any) -> None:
    """Change settings: budgets, idle_minutes, timezone, focus, redact_personal, keep_turns_days, keep_memory_days."""
    bank_settings.configure(bank, actor=actor, now=now or timezone.now(), **changes)


def export(bank: Bank, *, actor: str, now: datetime | None = None) -> Iterator[dict[str, Any]]:
    """Everything a bank holds, row by row; that it was exported goes on the audit trail."""
    audit.log(bank, actor, Event.Action.EXPORT, now or timezone.now())
    return exporting.rows(bank)


def count_tokens(text: str) -> int:
    """Tokens of ``text`` in the encoding budgets are proved in."""
    return tokens.count(text, conf.current().encoding)


def explain_line(text: str, *, assistant: bool = False, now: datetime | None = None) -> list[ExplainedLine]:
    """Why extraction would keep a sentence of ``text``, and why not, as if it were a message of its own."""
    from memorybank.core.extraction import explaining

    encoding = conf.current().encoding
    return list(explaining.explain(text, assistant=assistant, at=now or timezone.now(), encoding=encoding))

"""Replace a chat's earlier turns by a checkpoint: read, take notes, commit. A failure leaves the chat unchanged.

The model is called outside any transaction. The commit is one short write that checks the lease, the epoch and that the
chat still exists. Turns recorded meanwhile follow the checkpoint, because it covers only turns that existed before.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.utils.translation import gettext as _

from memorybank import conf, llm
from memorybank.clock import PRESENT, at_present
from memorybank.compaction import tool_messages
from memorybank.compaction.checkpoint_notes import (
    CheckpointNote,
    by_section,
    drop_replaced,
    extract_notes,
    goal_note,
    truncate_to_budget,
)
from memorybank.compaction.lease import Progress, ProgressReporter, Stage, begin_compaction, hold_lease
from memorybank.compaction.note_taker import NoteTaker, PromptContext
from memorybank.compaction.planning import CompactionBudget, count_kept_turns, elide_tool_results, quote_people
from memorybank.core import transcript
from memorybank.core.transcript import SourceItem
from memorybank.core.turns import Turn
from memorybank.exceptions import LLMError, LLMRejected, NotCompacted, NothingToCompact
from memorybank.language import tokens
from memorybank.llm import MESSAGE_TOKENS
from memorybank.model_calls.session import chat_session
from memorybank.models import EXTRACTIVE, Bank, Chat, Checkpoint, Compaction, OptOut, Output
from memorybank.prompts.templates import render
from memorybank.safety.redaction import Masker

logger = logging.getLogger(__name__)

#: Turns before the previous checkpoint that are searched for quotable messages.
MAX_OLDER_TURNS = 500


@dataclass(frozen=True, slots=True)
class CompactionInput:
    """The input of a compaction: the turns to replace (``old``), the turns to keep, and their sizes in tokens."""

    chat: Chat
    bank: Bank
    previous: Checkpoint | None
    old: list[Output]
    kept: list[Output]
    size: int
    kept_size: int
    for_others: bool

    @property
    def known(self) -> list[CheckpointNote]:
        """The notes of the previous checkpoint."""
        return [CheckpointNote(*note) for note in self.previous.notes] if self.previous else []


@at_present
def compact_chat(
    bank: Bank,
    *,
    chat_key: str,
    window: int,
    focus: str = "",
    harder: bool = False,
    for_others: bool = False,
    progress: Callable[[Progress], None] | None = None,
    now: datetime = PRESENT,
) -> Checkpoint:
    """Replace a chat's earlier turns by a checkpoint, for the prompts of this chat and nothing else.

    ``window`` is the context of the chat's model, in tokens; ``focus`` says what matters most (at most 1,000
    characters); ``harder`` keeps half as much. The chat's own model takes the notes, in parallel parts if one call
    cannot read everything; without a model, the notes are extracted sentences. ``for_others`` leaves out answers that
    quote the author's private memory, because other people will read the notes. ``progress`` is called at each step,
    with a percentage that never decreases. The replaced turns stay stored, and new turns follow the checkpoint.

    Raises :class:`NotCompacted`, with the reason and the chat's tokens, if the compaction fails; the chat is unchanged.
    """
    held = begin_compaction(bank, chat_key=chat_key, focus=focus, awaited=False, now=now)
    return finish_compaction(held, window=window, harder=harder, for_others=for_others, progress=progress, now=now)


@at_present
def finish_compaction(
    held: Compaction,
    *,
    window: int,
    harder: bool = False,
    for_others: bool = False,
    progress: Callable[[Progress], None] | None = None,
    now: datetime = PRESENT,
) -> Checkpoint:
    """Run a compaction that ``begin_compaction`` began, and release its lease; see :func:`compact_chat`."""
    with hold_lease(held, progress, now) as report:
        budget = CompactionBudget.of(window, conf.current().input_tokens, harder=harder)
        chat = Chat.objects.select_related("bank").get(pk=held.chat_id)
        return _compact(_load(chat, budget, for_others), budget, held.focus, report, now)


def _compact(
    work: CompactionInput, budget: CompactionBudget, focus: str, report: ProgressReporter, now: datetime
) -> Checkpoint:
    budget = budget.standing_for(work.size - work.kept_size, _count_tokens(work.previous.text) if work.previous else 0)
    report.reached(Stage.LOAD)
    if not (turns := _masked_turns(work, work.old)):
        why = _("There is nothing to shorten: nothing in this chat may be summarised (%(size)s tokens).")
        raise NothingToCompact(why % {"size": intcomma(work.size)})
    try:
        notes, method = _take_notes(work, turns, budget, focus, report, now)
    except LLMError as error:
        raise NotCompacted(_failure_message(error) % {"size": intcomma(work.size)}) from error
    report.reached(Stage.MERGED)
    text = _render_checkpoint(work, turns, notes, budget)
    after = _count_tokens(text) + MESSAGE_TOKENS + work.kept_size
    if after >= work.size:
        why = _("Nothing gained: %(before)s tokens before, %(after)s after. The chat stays as it was.")
        raise NotCompacted(why % {"before": intcomma(work.size), "after": intcomma(after)})
    checkpoint = Checkpoint(
        chat=work.chat,
        through=work.old[-1].sequence,
        notes=[[note.section, note.text] for note in notes],
        text=text,
        tokens_before=work.size,
        tokens_after=after,
        method=method,
        made_at=now,
    )
    _commit(work, checkpoint, report.compaction)
    report.reached(Stage.WRITTEN)
    return checkpoint


def _failure_message(error: LLMError) -> str:
    """The message for a failed model call. The provider's error text is in the ledger, for operators."""
    if isinstance(error, LLMRejected):
        return _("The model gave no answer that can be used, so the chat stays as it was, %(size)s tokens.")
    return _("The model is not available, so the chat stays as it was, %(size)s tokens.")


# --- reading ------------------------------------------------------------------------------------------


def _load(chat: Chat, budget: CompactionBudget, for_others: bool) -> CompactionInput:
    """Split the turns after the last checkpoint into old and kept; raises :class:`NothingToCompact` if all are kept."""
    previous = Checkpoint.objects.newest(chat.pk)
    outputs = chat.outputs.shown().remembered().with_words().filter(sequence__gt=previous.through if previous else 0)
    turns = list(outputs.order_by("sequence"))
    sizes = [_turn_tokens(output) for output in turns]
    kept = count_kept_turns(sizes, budget)
    start = len(turns) - kept
    size = sum(sizes) + (_count_tokens(previous.text) + MESSAGE_TOKENS if previous else 0)
    if not start:
        if previous:
            why = _(
                "There is nothing new to shorten: this chat has %(size)s tokens since it was shortened last, "
                "and its newest messages are kept."
            )
        else:
            why = _("This chat is already short (%(size)s tokens), so there is nothing to shorten.")
        raise NothingToCompact(why % {"size": intcomma(size)})
    old, newest = turns[:start], turns[start:]
    return CompactionInput(chat, chat.bank, previous, old, newest, size, sum(sizes[start:]), for_others)


def _turn_tokens(output: Output) -> int:
    question = "\n\n".join(
        part for part in (output.question, tool_messages.render_tool_messages(output.messages)) if part
    )
    return sum(_count_tokens(text) + MESSAGE_TOKENS for text in (question, output.answer) if text)


def _count_tokens(text: str) -> int:
    return tokens.count(text, conf.current().encoding)


def _masked_turns(work: CompactionInput, outputs: Sequence[Output]) -> list[Turn]:
    """The turns that notes may use, with secrets masked, so that the checkpoint holds no second copy of a password."""
    allowed = OptOut.objects.usable(work.bank, outputs, in_chat=True)
    readable = [output.for_others() for output in allowed] if work.for_others else allowed
    turns = transcript.read(readable, tz=work.bank.tz, masker=Masker(personal=False))
    return [turn for turn in turns if turn.utterances]


def _older_turns(work: CompactionInput) -> Iterator[Turn]:
    """The turns before the previous checkpoint, newest first, in batches: some messages may still fit as quotations."""
    if work.previous:
        before = work.chat.outputs.shown().remembered().with_words().filter(sequence__lte=work.previous.through)
        outputs = islice(before.order_by("-sequence").iterator(chunk_size=50), MAX_OLDER_TURNS)
        yield from (turn for output in outputs for turn in _masked_turns(work, [output]))


# --- taking notes ---------------------------------------------------------------------------------------


def _take_notes(
    work: CompactionInput,
    turns: Sequence[Turn],
    budget: CompactionBudget,
    focus: str,
    report: ProgressReporter,
    now: datetime,
) -> tuple[list[CheckpointNote], str]:
    """The notes of the new checkpoint, and the method that made them."""
    model, encoding = llm.get("chat"), conf.current().encoding
    if model is None:
        report.reached(Stage.STRATEGY)
        notes = drop_replaced([*(work.known or goal_note(turns)), *extract_notes(turns, budget.notes, encoding)])
        report.part(1, 1)
        return truncate_to_budget(notes, budget.notes, encoding), EXTRACTIVE
    elided = elide_tool_results(turns, budget.read, encoding)
    data = transcript.dated_items(elided, encoding=encoding)
    context = PromptContext(work.known, _kept_items(work, budget))
    report.reached(Stage.STRATEGY)
    with chat_session(work.bank, model, now) as session:
        taker = NoteTaker(session, budget, focus)
        if sum(item.tokens for item in data) <= budget.read:
            notes = taker.take_all(data, context)
            report.part(1, 1)
        else:
            notes = taker.join(taker.take_in_parts(elided, data, report.part), context)
    return notes, session.method()


def _render_checkpoint(
    work: CompactionInput, turns: Sequence[Turn], notes: Sequence[CheckpointNote], budget: CompactionBudget
) -> str:
    """The checkpoint's text in the prompt: the notes, then quotations of people's newest messages."""
    words = quote_people(chain(reversed(turns), _older_turns(work)), budget.words, conf.current().encoding)
    return render("checkpoint", {**by_section(notes), "words": words})


def _kept_items(work: CompactionInput, budget: CompactionBudget) -> list[SourceItem]:
    """The newest kept turns that fit half of their budget; the note taker reads them as context."""
    encoding = conf.current().encoding
    tokens_left = budget.kept // 2
    turns = elide_tool_results(_masked_turns(work, work.kept), tokens_left, encoding)
    items = transcript.dated_items(turns, encoding=encoding)
    shown: list[SourceItem] = []
    for item in reversed(items):
        tokens_left -= item.tokens
        if tokens_left < 0:
            break
        shown.insert(0, item)
    return shown


# --- writing ----------------------------------------------------------------------------------------------


def _commit(work: CompactionInput, checkpoint: Checkpoint, held: Compaction) -> None:
    """Save the checkpoint; raises :class:`NotCompacted` after an erasure or if the lease was lost."""
    with transaction.atomic():
        bank = Bank.objects.select_for_update().filter(pk=work.bank.pk).first()
        if bank is None or bank.epoch != work.bank.epoch or not Chat.objects.filter(pk=work.chat.pk).exists():
            why = _("Something was erased meanwhile. The chat stays as it was, %(size)s tokens.")
            raise NotCompacted(why % {"size": intcomma(work.size)})
        checkpoint.save()
        if not held.give_back(failures=0, retry_at=None, percent=100, stage=Stage.WRITTEN):
            why = _("It took too long. The chat stays as it was, %(size)s tokens.")
            raise NotCompacted(why % {"size": intcomma(work.size)})
    logger.info("chat %s: %s tokens, now %s", work.chat.pk, checkpoint.tokens_before, checkpoint.tokens_after)

"""A chat's earlier turns → a checkpoint: read, take notes, commit. Any failure leaves the chat as it was.

The model is called outside any transaction. The commit is one short write that checks the lease, the epoch and that the
chat is still there. What is said meanwhile follows the checkpoint, because it stands for turns that were there before.
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
from memorybank.compaction.checkpoint_notes import Note, by_section, current, extracted, fitted, goal
from memorybank.compaction.lease import Progress, Reporter, Stage, begin_compaction, kept
from memorybank.compaction.note_taker import NoteTaker, Shown
from memorybank.compaction.planning import Budget, own_words, tail, thinned
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

#: Older turns that are looked through for people's own words.
MOST_OLDER = 500


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be shortened: the turns that a checkpoint is made of, and those that are kept. ``size`` in tokens."""

    chat: Chat
    bank: Bank
    previous: Checkpoint | None
    old: list[Output]
    kept: list[Output]
    size: int
    kept_size: int

    @property
    def known(self) -> list[Note]:
        """The notes of the checkpoint before."""
        return [Note(*note) for note in self.previous.notes] if self.previous else []


@at_present
def compact_chat(
    bank: Bank,
    *,
    chat_key: str,
    window: int,
    focus: str = "",
    harder: bool = False,
    progress: Callable[[Progress], None] | None = None,
    now: datetime = PRESENT,
) -> Checkpoint:
    """Put a checkpoint in the place of a chat's earlier turns, for the prompts of this chat and nothing else.

    ``window`` is what the chat's model reads, in tokens; ``focus`` what matters most (at most 1,000 characters);
    ``harder`` keeps half as much. By the chat's own model, in parts at the same time where one call cannot read it;
    without a model, of sentences that were said. ``progress`` is told each step, with a percentage that never goes
    back. Turns stay stored, and what is said meanwhile follows the checkpoint.

    Raises :class:`NotCompacted`, which says why and how many tokens, for whatever fails: the chat is then as it was.
    """
    held = begin_compaction(bank, chat_key=chat_key, focus=focus, awaited=False, now=now)
    return finish_compaction(held, window=window, harder=harder, progress=progress, now=now)


@at_present
def finish_compaction(
    held: Compaction,
    *,
    window: int,
    harder: bool = False,
    progress: Callable[[Progress], None] | None = None,
    now: datetime = PRESENT,
) -> Checkpoint:
    """Do what was begun, and give it back; see :func:`compact_chat`."""
    with kept(held, progress, now) as report:
        budget = Budget.of(window, conf.current().input_tokens, harder=harder)
        chat = Chat.objects.select_related("bank").get(pk=held.chat_id)
        return _compact(chat, budget, held.focus, report, now)


def _compact(chat: Chat, budget: Budget, focus: str, report: Reporter, now: datetime) -> Checkpoint:
    work = _load(chat, budget)
    budget = budget.standing_for(work.size - work.kept_size, _count(work.previous.text) if work.previous else 0)
    report.reached(Stage.LOAD)
    if not (turns := _turns(work.bank, work.old)):
        why = _("Nothing to shorten: of what was said, nothing may be noted (%(size)s tokens).")
        raise NothingToCompact(why % {"size": intcomma(work.size)})
    try:
        notes, made_with = _notes(work, turns, budget, focus, report, now)
    except LLMError as error:
        raise NotCompacted(_why_not(error) % {"size": intcomma(work.size)}) from error
    report.reached(Stage.MERGED)
    text = _text(work, turns, notes, budget)
    after = _count(text) + MESSAGE_TOKENS + work.kept_size
    if after >= work.size:
        why = _("Nothing gained: %(before)s tokens before, %(after)s after. The chat stays as it was.")
        raise NotCompacted(why % {"before": intcomma(work.size), "after": intcomma(after)})
    made = Checkpoint(
        chat=chat,
        through=work.old[-1].sequence,
        notes=[[note.section, note.text] for note in notes],
        text=text,
        tokens_before=work.size,
        tokens_after=after,
        method=made_with,
        made_at=now,
    )
    _commit(work, made, report.compaction)
    report.reached(Stage.WRITTEN)
    return made


def _why_not(error: LLMError) -> str:
    """Why a model that failed leaves the chat as it was; its provider's words are on the ledger, for who can act."""
    if isinstance(error, LLMRejected):
        return _("The model gave no answer that can be used, so the chat stays as it was, %(size)s tokens.")
    return _("The model is not available, so the chat stays as it was, %(size)s tokens.")


# --- reading ------------------------------------------------------------------------------------------


def _load(chat: Chat, budget: Budget) -> Work:
    """The turns after the last checkpoint, parted; :class:`NothingToCompact` if all of them are kept."""
    previous = Checkpoint.objects.newest(chat.pk)
    outputs = chat.outputs.remembered().with_words().filter(sequence__gt=previous.through if previous else 0)
    every = list(outputs.order_by("sequence"))
    sizes = [_size(output) for output in every]
    kept = tail(sizes, budget)
    start = len(every) - kept
    size = sum(sizes) + (_count(previous.text) + MESSAGE_TOKENS if previous else 0)
    if not start:
        if previous:
            why = _(
                "Nothing to shorten: the chat has %(size)s tokens, and its newest %(kept)s turns since it was "
                "shortened last are kept."
            )
        else:
            why = _("Nothing to shorten: the chat has %(size)s tokens, and its newest %(kept)s turns are kept.")
        raise NothingToCompact(why % {"size": intcomma(size), "kept": kept})
    return Work(chat, chat.bank, previous, every[:start], every[start:], size, sum(sizes[start:]))


def _size(output: Output) -> int:
    """What a turn costs in a prompt."""
    asked = "\n\n".join(part for part in (output.question, tool_messages.tools_said(output.messages)) if part)
    return sum(_count(text) + MESSAGE_TOKENS for text in (asked, output.answer) if text)


def _count(text: str) -> int:
    return tokens.count(text, conf.current().encoding)


def _turns(bank: Bank, outputs: Sequence[Output]) -> list[Turn]:
    """Those that may be told, with secrets masked: a second text of a password is one too many."""
    told = OptOut.objects.tellable(bank, outputs, in_chat=True)
    turns = transcript.read(told, tz=bank.tz, masker=Masker(personal=False))
    return [turn for turn in turns if turn.utterances]


def _older(work: Work) -> Iterator[Turn]:
    """What the checkpoint before stands for, newest first, a piece at a time: people's own words may still fit."""
    if work.previous:
        before = work.chat.outputs.remembered().with_words().filter(sequence__lte=work.previous.through)
        outputs = islice(before.order_by("-sequence").iterator(chunk_size=50), MOST_OLDER)
        yield from (turn for output in outputs for turn in _turns(work.bank, [output]))


# --- taking notes ---------------------------------------------------------------------------------------


def _notes(
    work: Work, turns: Sequence[Turn], budget: Budget, focus: str, report: Reporter, now: datetime
) -> tuple[list[Note], str]:
    """The notes that take the place of those before, and what they were made with."""
    model, encoding = llm.get("chat"), conf.current().encoding
    if model is None:
        report.reached(Stage.STRATEGY)
        found = extracted(turns, budget.notes, encoding)
        report.part(1, 1)
        return fitted(current([*(work.known or goal(turns)), *found]), budget.notes, encoding), EXTRACTIVE
    thin = thinned(turns, budget.read, encoding)
    data = transcript.dated_items(thin, encoding=encoding)
    beside = Shown(work.known, _tail(work, budget))
    report.reached(Stage.STRATEGY)
    with chat_session(work.bank, model, now) as session:
        taker = NoteTaker(session, budget, focus)
        if sum(item.tokens for item in data) <= budget.read:
            notes = taker.whole(data, beside)
            report.part(1, 1)
        else:
            notes = taker.joined(taker.in_parts(thin, data, report.part), beside)
    return notes, session.method()


def _text(work: Work, turns: Sequence[Turn], notes: Sequence[Note], budget: Budget) -> str:
    """The checkpoint as a model is sent it: the notes, and the newest of people's own words."""
    words = own_words(chain(reversed(turns), _older(work)), budget.words, conf.current().encoding)
    return render("checkpoint", {**by_section(notes), "words": words})


def _tail(work: Work, budget: Budget) -> list[SourceItem]:
    """The turns that are kept, as a summariser is shown them: the newest that fit what it may read of them."""
    encoding = conf.current().encoding
    room = budget.kept // 2
    items = transcript.dated_items(thinned(_turns(work.bank, work.kept), room, encoding), encoding=encoding)
    shown: list[SourceItem] = []
    for item in reversed(items):
        room -= item.tokens
        if room < 0:
            break
        shown.insert(0, item)
    return shown


# --- writing ----------------------------------------------------------------------------------------------


def _commit(work: Work, made: Checkpoint, held: Compaction) -> None:
    """One short write, or :class:`NotCompacted` if anything it rests on has moved."""
    with transaction.atomic():
        bank = Bank.objects.select_for_update().filter(pk=work.bank.pk).first()
        if bank is None or bank.epoch != work.bank.epoch or not Chat.objects.filter(pk=work.chat.pk).exists():
            why = _("Something was erased meanwhile. The chat stays as it was, %(size)s tokens.")
            raise NotCompacted(why % {"size": intcomma(work.size)})
        made.save()
        if not held.give_back(failures=0, retry_at=None, percent=100, stage=Stage.WRITTEN):
            why = _("It took too long. The chat stays as it was, %(size)s tokens.")
            raise NotCompacted(why % {"size": intcomma(work.size)})
    logger.info("chat %s: %s tokens, now %s", work.chat.pk, made.tokens_before, made.tokens_after)

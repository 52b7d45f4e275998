"""Render all memory that a chat would get: the standing block, the personal part and recalled notes. Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.utils.functional import lazy
from django.utils.translation import gettext as _

from memorybank import conf, prompts
from memorybank.clock import PRESENT, at_present
from memorybank.core.memory_line import EMPTY_TEXT, MemoryLine, PackedBlock, Source, Text, speakers_of
from memorybank.core.packing.exclusion import exclude
from memorybank.core.packing.notes import NO_PEOPLE, Passage, People, pack_notes
from memorybank.exceptions import InvalidInput
from memorybank.language.terms import terms, words
from memorybank.models import Bank
from memorybank.reading.block_rendering import render_block
from memorybank.reading.personal import ANYBODY, Asker, render_personal
from memorybank.reading.recall.index_cache import IndexCache
from memorybank.reading.recall.notes import SentencePlace, find_passages, given_passages

#: Stands above recalled notes.
NOTES_HEADER = prompts.text("memory.recalled")
#: Approximate memory of a sentence's wording, in bytes.
WORDING_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class Block(Text):
    """The block exactly as a prompt gets it, with the notes recalled for a message."""

    budget: int = 0
    encoding: str = ""
    recalled: Text = EMPTY_TEXT
    personal: Text = EMPTY_TEXT


@at_present
def render(
    bank: Bank,
    *,
    budget: int | None = None,
    recall_budget: int | None = None,
    exclude_chat: str = "",
    question: str = "",
    asker: Asker = ANYBODY,
    now: datetime = PRESENT,
) -> Block:
    """The block as it is now, for ``budget`` tokens (default: the bank's), without one chat's own lines.

    With a ``question``, ``recalled`` holds notes that answer it in ``recall_budget`` tokens (default: the bank's);
    "yesterday" in it is relative to ``now``. Empty if there is nothing to show or the bank is off. The same entries and
    budget give the same bytes, whatever the question and the asker; ``personal`` holds the lines for ``asker`` only.
    Raises :class:`InvalidInput` for a negative budget.
    """
    for name, value in (("budget", budget), ("recall_budget", recall_budget)):
        if value is not None and value < 0:
            raise InvalidInput(f"{name}: must not be negative.")
    limit = bank.max_tokens if budget is None else budget
    encoding = conf.current().encoding
    if not bank.enabled:
        return Block(budget=limit, encoding=encoding)
    shown = exclude(render_block(bank, limit), limit, encoding=encoding, own=exclude_chat)
    max_note_tokens = bank.recall_tokens if recall_budget is None else recall_budget
    personal = render_personal(bank, asker, bank.personal_tokens, shown=shown, exclude_chat=exclude_chat)
    index, given = IndexCache(bank, asker.person), [shown, personal]
    without, people = index.find_chat(exclude_chat), people_of(shown, personal)
    recalled = render_notes(index, question, given, max_note_tokens, people=people, without=without, now=now)
    return Block(shown.text, shown.tokens, shown.lines, limit, encoding, recalled, personal)


def people_of(shown: PackedBlock, personal: Text) -> People:
    """The bank's people, whether or not the block has a line of theirs, and the speakers of the personal part."""
    return People(frozenset((*shown.people, *speakers_of(*personal.lines))), frozenset(shown.trusted))


def render_notes(
    index: IndexCache,
    question: str,
    given: Sequence[Text],
    max_tokens: int,
    *,
    people: People = NO_PEOPLE,
    without: int | None = None,
    now: datetime | None = None,
) -> Text:
    """Notes that answer a message in at most ``max_tokens`` tokens and repeat nothing given; empty if there are none.

    The notes come from turns that memory covers and the index's viewer may read, never from the asking chat (its id is
    ``without``). ``people`` are those of the bank.
    """
    if max_tokens <= 0 or not question.strip():
        return EMPTY_TEXT
    lines = [line.text for text in given for line in text.lines]
    notes = find_passages(index, question, max_tokens=max_tokens, given=lines, without=without, now=now)
    return _notes_text(index, notes.passages, notes.max_tokens, people)


def render_given_notes(
    index: IndexCache,
    places: Sequence[SentencePlace],
    max_tokens: int,
    *,
    people: People = NO_PEOPLE,
    without: int | None = None,
) -> Text:
    """Notes that were given before: the same bytes, except for sentences that were changed or hidden since."""
    passages = given_passages(index, places, without=without)
    return _notes_text(index, passages, max_tokens, people, chosen=True)


def _notes_text(
    index: IndexCache,
    passages: Sequence[Passage],
    max_tokens: int,
    people: People,
    *,
    chosen: bool = False,
) -> Text:
    keep = partial(index.keep, size=lambda wording: WORDING_BYTES)
    encoding = conf.current().encoding
    packed = pack_notes(
        passages, max_tokens, header=NOTES_HEADER, people=people, encoding=encoding, keep=keep, chosen=chosen
    )
    return Text(packed.text, packed.tokens, tuple(map(_recalled_line, packed.passages)))


def _recalled_line(passage: Passage) -> MemoryLine:
    output, place = passage.source
    return MemoryLine(
        facts=(),
        text=passage.text,
        said_at=passage.at,
        speaker=passage.speaker,
        period_start=passage.at.date(),
        label=passage.label,
        sources=(Source((passage.chat_key,), (output,)),),
        place=place,
        private=passage.private,
        is_report=passage.is_report,
        why=_lazy_recall_reason(passage),
    )


def _recall_reason(passage: Passage) -> str:
    if not passage.rank:
        return _("It replaced a part of what was recalled.")
    asked = set(passage.asked)
    matches = dict.fromkeys(word for word in words(passage.text) if not asked.isdisjoint(terms(word)))
    quoted = ", ".join(f"“{word}”" for word in matches)
    reasons = (
        [_("has %(words)s of the question") % {"words": quoted}]
        if quoted
        else [_("stands where the question's subject was talked about")]
    )
    reasons += [_("is said by somebody the question names")] if passage.named else []
    why = _(" and ").join(reasons)
    return _("It %(why)s; its message is number %(rank)d of those found.") % {"why": why, "rank": passage.rank}


#: Lazy, because only pages and the API show the reason, and it takes a look-up of words.
_lazy_recall_reason = lazy(_recall_reason, str)

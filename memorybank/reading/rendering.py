"""A bank → its block within a budget, and the notes beside a message. Reads only."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from memorybank import conf, prompts
from memorybank.clock import PRESENT, at_present
from memorybank.core.packing.assembly import PINNED
from memorybank.core.packing.block import pack
from memorybank.core.packing.notes import listed
from memorybank.core.packing.provenance import Sourced
from memorybank.core.packing.values import Line, Passage
from memorybank.exceptions import InvalidInput
from memorybank.language.terms import terms, words
from memorybank.models import Bank, Granularity
from memorybank.reading import recall
from memorybank.reading.candidates import TIERS, load

#: What stands above recalled notes.
RECALLED = prompts.text("memory.recalled")


@dataclass(frozen=True, slots=True)
class ShownLine:
    """One fact of a block. ``citations`` are output ids; ``facts`` the facts it stands for (none: a turn).

    ``label`` is the date that its paragraph opens with, ``tokens`` are its own, without date and speaker; ``pinned``
    if that is why it is shown. ``why`` a note was recalled is said in words; ``place`` is where in its turn it stands.
    """

    text: str
    granularity: str
    period: str
    citations: tuple[int, ...]
    facts: tuple[int, ...]
    label: str = ""
    speaker: str = ""
    tokens: int = 0
    pinned: bool = False
    why: str = ""
    place: int = 0


@dataclass(frozen=True, slots=True)
class Text:
    """A text for a prompt, its exact tokens, and every line of it with its origin. ``chats`` are the keys shown."""

    text: str = ""
    tokens: int = 0
    lines: tuple[ShownLine, ...] = ()
    chats: tuple[str, ...] = ()


NOTHING = Text()


@dataclass(frozen=True, slots=True)
class Block(Text):
    """The block exactly as a prompt gets it, and beside it what is recalled for a message."""

    budget: int = 0
    encoding: str = ""
    recalled: Text = NOTHING


@at_present
def render(
    bank: Bank,
    *,
    budget: int | None = None,
    recall_budget: int | None = None,
    exclude_chat: str = "",
    question: str = "",
    now: datetime = PRESENT,
) -> Block:
    """The block as it is now, for ``budget`` tokens (default: the bank's), without one chat's own lines.

    With a ``question``, ``recalled`` has what answers it in ``recall_budget`` tokens (default: the bank's); "yesterday"
    in it is read against ``now``. "" when there is nothing to show or the bank is off. Same entries, same budget → same
    bytes, whatever is asked. Raises :class:`InvalidInput` for a negative budget.
    """
    for name, value in (("budget", budget), ("recall_budget", recall_budget)):
        if value is not None and value < 0:
            raise InvalidInput(f"{name}: must not be negative.")
    limit = bank.max_tokens if budget is None else budget
    encoding = conf.current().encoding
    if not bank.enabled:
        return Block(budget=limit, encoding=encoding)
    shown = sourced(bank, limit).without(limit, encoding=encoding, chats=[exclude_chat] if exclude_chat else [])
    room = bank.recall_tokens if recall_budget is None else recall_budget
    recalled = notes(bank, question, shown, room, exclude_chat=exclude_chat, now=now)
    block = as_text(shown)
    return Block(block.text, block.tokens, block.lines, block.chats, limit, encoding, recalled)


def sourced(bank: Bank, budget: int) -> Sourced:
    """The block of everything that may be shown, with its reserve and sources."""
    memory = load(bank, budget=budget)
    block = pack(memory.pool, budget)
    facts = {fact for line in (*block.lines, *block.reserve) for fact in line.ids}
    return Sourced(block, {fact: memory.explain(fact) for fact in facts})


def as_text(shown: Sourced) -> Text:
    """What a prompt gets, with the origin of every line."""
    lines = tuple(_shown_fact(line, shown.outputs(line)) for line in shown.block.lines)
    return Text(shown.block.text, shown.block.tokens, lines, tuple(shown.chats()))


def notes(
    bank: Bank, question: str, beside: Sourced, room: int, *, exclude_chat: str = "", now: datetime | None = None
) -> Text:
    """What answers a message in ``room`` tokens, without repeating the block it stands beside; nothing if nothing does.

    From turns that memory covers, never from the chat that asks.
    """
    if room <= 0 or not question.strip():
        return NOTHING
    said, speakers = [line.text for line in beside.block.lines], [line.speaker for line in beside.block.lines]
    found = recall.answering(bank, question, room=room, said=said, exclude_chat=exclude_chat, now=now)
    packed = listed(found, room, header=RECALLED, speakers=speakers, encoding=conf.current().encoding)
    chats = {passage.chat_key for passage in packed.passages}
    return Text(packed.text, packed.tokens, tuple(map(_shown_passage, packed.passages)), tuple(sorted(chats)))


def _shown_fact(line: Line, outputs: tuple[int, ...]) -> ShownLine:
    rung, pinned = TIERS[line.tier].value, line.section == PINNED
    return ShownLine(line.text, rung, line.period, outputs, line.ids, line.label, line.speaker, line.cost, pinned)


def _shown_passage(passage: Passage) -> ShownLine:
    rung, day, turn = Granularity.CONVERSATION.value, passage.day, (passage.output,)
    what = {"label": passage.label, "speaker": passage.speaker, "why": _why(passage), "place": passage.place}
    return ShownLine(passage.text, rung, day, turn, (), **what)  # type: ignore[arg-type]


def _why(passage: Passage) -> str:
    """Why a sentence was recalled."""
    if not passage.rank:
        return _("It replaced a part of what was recalled.")
    asked = set(passage.asked)
    found = dict.fromkeys(word for word in words(passage.text) if not asked.isdisjoint(terms(word)))
    has = ", ".join(f"“{word}”" for word in found)
    reasons = (
        [_("has %(words)s of the question") % {"words": has}]
        if has
        else [_("stands where the question's subject was talked about")]
    )
    reasons += [_("is said by somebody the question names")] if passage.named else []
    why = _(" and ").join(reasons)
    return _("It %(why)s; its turn is number %(rank)d of those found.") % {"why": why, "rank": passage.rank}

"""What the memory page shows of lines, facts and events: plain rows for its templates."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from operator import attrgetter
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.text import Truncator
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.services import (
    BY_HAND,
    Bank,
    BlockLineVersion,
    Entry,
    Event,
    Fact,
    Granularity,
    MemoryLine,
    Origin,
    PublicId,
    Text,
)
from projects.models import Conversation

#: The parts of the token meter, in the order of a block: what each is called.
PARTS = {
    "pinned": _("pinned"),
    **{granularity.value: _(granularity.rung.plural) for granularity in Granularity.coarsest_first()},
    "frame": _("heading, dates and names"),
    "free": _("free"),
}
#: What stands above lines that are always told, in the place of a day.
PINNED = _("Pinned")
#: What somebody did, as the page of activity says it.
WORDS = {
    "enable": pgettext_lazy("somebody", "switched memory on"),
    "disable": pgettext_lazy("somebody", "switched memory off"),
    "configure": pgettext_lazy("somebody", "changed settings"),
    "pin": pgettext_lazy("somebody", "pinned"),
    "unpin": pgettext_lazy("somebody", "unpinned"),
    "add": pgettext_lazy("somebody", "wrote by hand"),
    "edit": pgettext_lazy("somebody", "put right"),
    "hide": pgettext_lazy("somebody", "hid"),
    "show": pgettext_lazy("somebody", "restored"),
    "release": pgettext_lazy("somebody", "released what was held back"),
    "keep": pgettext_lazy("somebody", "kept back for good"),
    "erase": pgettext_lazy("somebody", "deleted what had grown too old"),
    "export": pgettext_lazy("somebody", "exported everything"),
    "read": pgettext_lazy("somebody", "read what a line rests on"),
    "retry": pgettext_lazy("somebody", "had parked chats tried again"),
    "private": pgettext_lazy("somebody", "made a chat private"),
    "public": pgettext_lazy("somebody", "shared a chat again"),
    "summarise": pgettext_lazy("somebody", "had chats summarised at once"),
    "compress": pgettext_lazy("somebody", "had memory rolled up"),
    "rebuild": pgettext_lazy("somebody", "had memory made anew"),
    "ask": pgettext_lazy("somebody", "asked to have something forgotten"),
    "restore": pgettext_lazy("somebody", "restored what was to be forgotten"),
    "opt_out": pgettext_lazy("somebody", "left somebody out of memory"),
    "opt_in": pgettext_lazy("somebody", "let somebody in again"),
}
#: And what was erased, by the kind of the receipt.
ERASED = {
    "chat": pgettext_lazy("somebody", "erased a chat"),
    "author": pgettext_lazy("somebody", "erased what somebody had said"),
    "output": pgettext_lazy("somebody", "erased a turn"),
    "line": pgettext_lazy("somebody", "erased a line, with its turns"),
    "everything": pgettext_lazy("somebody", "erased everything"),
}


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the meter; ``start`` and ``width`` in thousandths of the budget."""

    name: str
    label: str
    tokens: int
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn that a line rests on; ``page`` is where the reader may open it, if it is her own."""

    origin: Origin
    page: str = ""


@dataclass(slots=True)
class Row:
    """A line of the block, or a fact, with what became of it. ``numbers`` are the public ids of its facts."""

    line: MemoryLine | Fact
    day: str
    fact: Fact | None
    numbers: list[str]
    badges: list[tuple[str, str]] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    pieces: list[tuple[str, bool]] = field(default_factory=list)


def meter(block: Text, budget: int) -> list[Segment]:
    """What the budget is used for, to the token."""
    used = dict.fromkeys(PARTS, 0)
    for line in block.lines:
        used["pinned" if line.pinned else line.granularity] += line.tokens
    used["frame"] = max(0, block.tokens - sum(used.values()))
    used["free"] = max(0, budget - block.tokens)
    segments, at = [], 0.0
    for name, tokens in used.items():
        width = 1000 * tokens / (budget or 1)
        segments.append(Segment(name, str(PARTS[name]), tokens, round(at, 2), round(width, 2)))
        at += width
    return segments


def block_rows(bank: Bank, lines: Sequence[MemoryLine], reader: User) -> list[Row]:
    """The block's lines, each with the turns it rests on."""
    ids = {fact for line in lines for fact in line.facts}
    facts = {fact.pk: fact for fact in services.facts_of(bank).filter(pk__in=ids).select_related("entry__chat")}
    rest_on = services.origins(bank, list(facts.values()))
    chats = {origin.chat for origins in rest_on.values() for origin in origins}
    own = set(Conversation.objects.filter(owner=reader, chat__in=chats).values_list("chat_id", flat=True))
    rows = []
    for line in lines:
        known = [facts[pk] for pk in line.facts if pk in facts]
        turns = {origin.output: origin for fact in known for origin in rest_on[fact.pk]}
        day = str(PINNED) if line.pinned else when(line)
        current = line._replace(pinned=any(fact.pinned for fact in known))  # the block may be older than a decision
        row = Row(current, day, known[0] if known else None, [_number(fact) for fact in known])
        row.badges = _by_hand(known[0]) if known else []
        told = sorted(turns.values(), key=attrgetter("sequence"))
        row.turns = [
            Turn(each, page_of(bank, each.chat_key, each.output, each.sequence) if each.chat in own else "")
            for each in told
        ]
        rows.append(row)
    return rows


def fact_rows(facts: Iterable[Fact], told: Collection[int], said: Collection[int]) -> list[Row]:
    """Facts with what became of them; ``told`` are in the block, ``said`` in a line of it that rests on them."""
    return [_fact_row(fact, told, said) for fact in facts]


def held_rows(facts: Iterable[Fact]) -> list[Row]:
    """Lines that are held back, in pieces."""
    rows = []
    for fact in facts:
        row = _fact_row(fact, (), ())
        row.pieces = services.telling_words(fact.text)
        rows.append(row)
    return rows


def told(event: Event) -> dict[str, Any]:
    """An event in words, the settings that it changed (old, new), and the numbers of its facts."""
    detail = event.detail
    named = detail.get("facts", [detail["fact"]] if "fact" in detail else [])
    ids = named if isinstance(named, list) else []  # an erasure says how many went
    before, after = detail.get("before", {}), detail.get("after", {})
    changes = [
        (gettext(name.replace("_", " ")), before.get(name), after.get(name)) for name in detail.get("changed", [])
    ]
    words = WORDS.get(event.action, event.get_action_display().lower())
    if event.action == Event.Action.RELEASE and "reason" in detail:
        words = gettext("%(words)s (it %(reason)s)") % {"words": words, "reason": gettext(detail["reason"])}
    if detail.get("taken_in"):
        words = gettext("%(words)s, with what was said before") % {"words": words}
    if detail.get("kind") in ERASED:
        words = ERASED[detail["kind"]]
    return {"event": event, "words": words, "facts": ids, "changes": changes, "receipt": detail.get("receipt")}


def _fact_row(fact: Fact, told: Collection[int], said: Collection[int]) -> Row:
    row = Row(fact, _spelt(fact.said_on), fact, [_number(fact)])
    row.badges = list(_states(fact, told, said)) + _by_hand(fact)
    return row


def _states(fact: Fact, told: Collection[int], said: Collection[int]) -> Iterable[tuple[str, str]]:
    if fact.hidden:
        yield "off", gettext("hidden with a line that rests on it") if fact.hidden_with_id else gettext("hidden")
    if fact.quarantine:
        yield "off", gettext("held back: %(reason)s") % {"reason": gettext(fact.quarantine)}
    if fact.pk in told:
        yield "on", gettext("in the block")
    elif fact.pk in said:
        yield "on", gettext("said in the block by a digest")
    if fact.entry.parent:
        *_below, live = fact.entry.upwards()
        yield "", gettext("rolled up into %(period)s") % {"period": label_of(live)}
    if newer := replaced_by(fact):
        yield "off", gettext("replaced by “%(text)s”") % {"text": Truncator(newer.text).chars(80)}


def replaced_by(fact: Fact) -> Fact | None:
    """What says that it is over, if that may be shown."""
    newer = fact.superseded_by
    withheld = newer and (newer.hidden or newer.quarantine or (newer.entry.chat and newer.entry.chat.private))
    return None if withheld else newer


def _by_hand(fact: Fact) -> list[tuple[str, str]]:
    if not fact.edited_by:
        return [("", gettext("released by %(name)s") % {"name": fact.released_by})] if fact.released_by else []
    if fact.entry.method == BY_HAND and not fact.original:
        return [("", gettext("written by hand by %(name)s") % {"name": fact.edited_by})]
    return [("", gettext("put right by %(name)s") % {"name": fact.edited_by})]


def label_of(entry: Entry) -> str:
    """What people call the period of an entry within a sentence; of a leaf, its day."""
    return _period(Granularity(entry.granularity).rung.label_in_sentence, entry.period_start)


def _period(label: str, start: date) -> str:
    return gettext(label) % {"day": _spelt(start), "month": date_format(start, "YEAR_MONTH_FORMAT")}


def when(line: MemoryLine | BlockLineVersion) -> str:
    """What people call the period of a line, as the block does, but in their own language."""
    return _period(Granularity.of_tier(line.tier).rung.label, line.period_start)


def _spelt(day: date) -> str:
    return date_format(day, gettext("j F Y"))


def _number(fact: Fact) -> str:
    return PublicId().to_url(fact.pk)


def page_of(bank: Bank, chat_key: str, output: int, sequence: int) -> str:
    """The page of a chat that ends with this turn."""
    project, turn = bank.project, PublicId()
    chat = reverse("chat", args=[project.tenant.slug, project.slug, chat_key])
    return f"{chat}?before={turn.to_url(sequence + 1)}#turn-{turn.to_url(output)}"

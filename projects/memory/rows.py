"""Rows of the memory pages: lines, facts and events as plain values for the templates."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from operator import attrgetter
from typing import Any

from django.contrib.auth.models import User
from django.utils.formats import date_format
from django.utils.text import Truncator, capfirst
from django.utils.timezone import localdate
from django.utils.translation import gettext
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
    Text,
    public_id,
)
from projects.tenancy.budget import currency

from .line_sources import LineSources, own_messages, own_turns, sources_of

#: The parts of the token meter and their labels, in the order of a block.
METER_LABELS = {
    "pinned": _("pinned"),
    **{granularity.value: _(granularity.period.plural) for granularity in Granularity.coarsest_first()},
    "frame": _("heading, dates and names"),
    "free": _("free"),
}
#: The heading of pinned lines, in place of a day.
PINNED = _("Pinned")
#: The headings of the background in their order, by kind of line; the last is for notes and sentences beside it.
BACKGROUND_HEADINGS = {
    "fact": _("What is known"),
    "preference": _("How people like things"),
    "decision": _("What was decided"),
    "plan": _("What is planned"),
    "question": _("What is open"),
    "": _("Further detail"),
}


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the meter; ``start`` and ``width`` in thousandths of the budget."""

    name: str
    label: str
    tokens: int
    start: float
    width: float


@dataclass(slots=True)
class Row:
    """A line of the block, or a fact. ``badges`` are pairs of a CSS class and a label.

    ``heading`` is that within its day or period, if any. ``fact_ids`` are public ids. ``pieces`` are parts of the text,
    and whether each is a reason for quarantine; with ``is_of_message`` another part of its message is the reason.
    ``own`` are the facts of it that its reader may correct, ``own_turns`` the addresses of its turns in the reader's
    own chats. ``by_hand`` says of a digest's line who wrote it by hand.
    """

    line: MemoryLine | Fact
    day: str
    fact: Fact | None
    fact_ids: list[str]
    heading: str = ""
    badges: list[tuple[str, str]] = field(default_factory=list)
    sources: LineSources = field(default_factory=LineSources)
    pieces: list[tuple[str, bool]] = field(default_factory=list)
    is_of_message: bool = False
    own: list[Fact] = field(default_factory=list)
    by_hand: str = ""
    own_turns: list[str] = field(default_factory=list)

    @property
    def is_shortened(self) -> bool:
        """Whether the line has not all letters and digits of its fact: a block shortens dates near their heading.

        Punctuation does not count, because a report has other quotation marks.
        """
        return self.fact is not None and not _letters(self.line.text).startswith(_letters(self.fact.text))

    @property
    def is_by_hand(self) -> bool:
        """Whether somebody added it by hand, in no chat that anybody can open."""
        return self.fact is not None and self.fact.entry.method == BY_HAND


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text)


def meter(block: Text, budget: int) -> list[Segment]:
    """The tokens of the budget that each part of the block uses, and the free ones."""
    used = dict.fromkeys(METER_LABELS, 0)
    for line in block.lines:
        used["pinned" if line.pinned else line.granularity] += line.tokens
    used["frame"] = max(0, block.tokens - sum(used.values()))
    used["free"] = max(0, budget - block.tokens)
    segments, start = [], 0.0
    for name, tokens in used.items():
        width = 1000 * tokens / (budget or 1)
        segments.append(Segment(name, str(METER_LABELS[name]), tokens, round(start, 2), round(width, 2)))
        start += width
    return segments


def block_rows(bank: Bank, lines: Sequence[MemoryLine], reader: User) -> list[Row]:
    """The block's lines, each with the turns it rests on."""
    ids = {fact for line in lines for fact in line.facts}
    facts = {fact.pk: fact for fact in services.facts_of(bank).filter(pk__in=ids).select_related("entry__chat")}
    origins = services.origins(bank, list(facts.values()))
    own = own_messages(bank, [origin for turns in origins.values() for origin in turns], reader)
    rows = []
    for line in lines:
        known = [facts[pk] for pk in line.facts if pk in facts]
        turns = {origin.output: origin for fact in known for origin in origins[fact.pk]}
        day = str(PINNED) if line.pinned else when(line)
        current = line._replace(pinned=any(fact.pinned for fact in known))  # a pin may be newer than the block
        row = Row(current, day, known[0] if known else None, [public_id(fact.pk) for fact in known])
        row.badges = _edit_badges(known[0]) if known else []
        row.sources = sources_of(bank, line.text, sorted(turns.values(), key=attrgetter("sequence")), own)
        if known and line.granularity is Granularity.BACKGROUND and not line.pinned:
            kind = known[0].kind if line.restates else ""
            row.heading = str(BACKGROUND_HEADINGS[kind])
        rows.append(row)
    by_day: dict[str, list[Row]] = {}  # a block returns to a day or period where there is room for further detail
    for row in rows:
        by_day.setdefault(row.day, []).append(row)
    return [row for of_day in by_day.values() for row in _by_heading(of_day)]


def _by_heading(rows: Iterable[Row]) -> list[Row]:
    headings = ["", *map(str, BACKGROUND_HEADINGS.values())]
    return sorted(rows, key=lambda row: headings.index(row.heading))


def fact_row(
    fact: Fact, in_block: Collection[int] = (), restated: Collection[int] = (), *, is_own_rule: bool = False
) -> Row:
    """A fact with its badges. ``in_block`` and ``restated`` are ids: facts in the block or restated by it.

    ``is_own_rule``: the chats of its reader, who said it, are told it, though others are not.
    """
    row = Row(fact, day_text(fact.said_on), fact, [public_id(fact.pk)])
    told = _told_badges(fact, is_own_rule=is_own_rule)
    row.badges = [*told, *_place_badges(fact, in_block, restated), *_edit_badges(fact)]
    return row


def link_turns(rows: Iterable[Row], reader: User) -> None:
    """Set the turns of each row in the reader's own chats. Three queries."""
    by_fact = {row.fact.pk: row for row in rows if row.fact}
    for fact, addresses in own_turns(by_fact, reader).items():
        by_fact[fact].own_turns = addresses


def quarantined_row(fact: Fact) -> Row:
    row = fact_row(fact)
    row.pieces = _as_one_stretch(services.telling_words(fact.text))
    texts = (fact.text, fact.original_text)  # an edit to harmless words does not release it
    row.is_of_message = all(services.is_of_message(text, fact.quarantine) for text in texts)
    return row


def _as_one_stretch(pieces: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """The text before, from the first to the last telling word, and after: single words say too little."""
    telling = [place for place, (_, tells) in enumerate(pieces) if tells]
    first, last = (telling[0], telling[-1] + 1) if telling else (0, 0)
    texts = ["".join(piece for piece, _ in part) for part in (pieces[:first], pieces[first:last], pieces[last:])]
    return [(text, place == 1) for place, text in enumerate(texts) if text]


def event_row(event: Event) -> dict[str, Any]:
    """An event in words, with the settings that it changed (name, old, new) and the ids of its facts."""
    detail = event.detail
    facts = detail.get("facts", [detail["fact"]] if "fact" in detail else [])
    before, after = detail.get("before", {}), detail.get("after", {})
    changes = [
        (
            _setting_label(name),
            *(_setting(name, values.get(name), is_known=name in before) for values in (before, after)),
        )
        for name in detail.get("changed", [])
    ]
    return {
        "event": event,
        "words": event.words(),
        "facts": facts if isinstance(facts, list) else [],  # the event of an erasure has a number here
        "changes": changes,
        "receipt": detail.get("receipt"),
    }


def _setting(name: str, value: Any, *, is_known: bool) -> Any:
    """The value of a setting as people read it; None if the event does not say what it was."""
    if value is None:
        return gettext("none") if is_known else None
    return f"{value} {currency()}" if name == "monthly_cap" else value


def _setting_label(name: str) -> str:
    """The setting as its field is labelled; other names, such as those of earlier versions, without underscores."""
    names: dict[str, Any] = {field.name: field.verbose_name for field in Bank._meta.get_fields() if field.concrete}
    return capfirst(str(names.get(name, name.replace("_", " "))))


def _told_badges(fact: Fact, *, is_own_rule: bool) -> Iterator[tuple[str, str]]:
    if fact.hidden:
        yield "off", gettext("hidden with a line that rests on it") if fact.hidden_with_id else gettext("hidden")
    if fact.is_waiting:
        yield "off", gettext("waits for an owner")
    elif is_own_rule:
        yield "on", gettext("in your chats only")
    elif fact.quarantine:
        yield "off", gettext("kept out of chats: %(reason)s") % {"reason": gettext(fact.quarantine)}


def _place_badges(fact: Fact, in_block: Collection[int], restated: Collection[int]) -> Iterator[tuple[str, str]]:
    if fact.pk in in_block:
        yield "on", gettext("in every chat")
    elif fact.pk in restated:
        yield "on", gettext("in every chat, as part of a summary")
    if fact.entry.parent:
        *_below, live = fact.entry.upwards()
        yield "", gettext("summarised in %(period)s") % {"period": label_of(live)}
    if newer := replaced_by(fact):
        yield "off", gettext("replaced by “%(text)s”") % {"text": Truncator(newer.text).chars(80)}


def replaced_by(fact: Fact) -> Fact | None:
    """The fact that replaced this one, unless it is hidden or quarantined."""
    newer = fact.replaced_for_all
    return None if newer and (newer.hidden or newer.quarantine) else newer


def _edit_badges(fact: Fact) -> list[tuple[str, str]]:
    if not fact.edited_by:
        return [("", gettext("released by %(name)s") % {"name": fact.released_by})] if fact.released_by else []
    if fact.entry.method == BY_HAND and not fact.original:
        return [("", gettext("written by hand by %(name)s") % {"name": fact.edited_by})]
    return [("", gettext("edited by %(name)s") % {"name": fact.edited_by})]


def label_of(entry: Entry) -> str:
    """The period of an entry within a sentence; for a leaf, its day."""
    return _period(Granularity(entry.granularity).period.label_in_sentence, entry.period_start)


def _period(label: str, start: date) -> str:
    return gettext(label) % {"day": day_text(start), "month": date_format(start, "YEAR_MONTH_FORMAT")}


def when(line: MemoryLine | BlockLineVersion) -> str:
    """The period of a line, as in the block, but in the reader's language."""
    return _period(Granularity.of_tier(line.tier).period.label, line.period_start)


def day_or_period(fact: Fact) -> str:
    """The day of a leaf's fact, or the period that a digest's line sums up."""
    if fact.entry.is_leaf:
        return day_text(fact.said_on)
    return _period(Granularity(fact.entry.granularity).period.label, fact.entry.period_start)


def written_by_hand(origins: Collection[Origin]) -> str:
    """Who wrote by hand all that a line rests on, and when; "" if some of it was said in a chat, or nothing is left."""
    if not origins or not all(origin.is_by_hand for origin in origins):
        return ""
    names = ", ".join(dict.fromkeys(origin.author for origin in origins))
    newest = max(origin.at for origin in origins)
    return gettext("Written by hand by %(names)s, %(day)s") % {"names": names, "day": day_text(localdate(newest))}


def day_text(day: date) -> str:
    return date_format(day, gettext("j F Y"))

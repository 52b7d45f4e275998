"""The timeline of a memory: each entry spans what lies under it, as wide as that has tokens, a lane for each rung."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Q, QuerySet
from django.utils.text import get_text_list
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.services import Bank, Entry, Fact, FactQuerySet, Granularity

from .rows import label_of, replaced_by

#: Leaves of one page.
MAX_LEAVES = 150
#: Lanes from top to bottom, one for each granularity, and how high each is; the picture is this wide.
LANES = Granularity.coarsest_first()
HEIGHT, WIDTH, GAP = 44, 1000, 8
#: A span is at least this wide, so that it can be met. A letter of its name takes so much, and its margins.
LEAST, LETTER, MARGINS = 3.0, 7.6, 14.0
#: Decisions and replaced values that are listed beneath it.
LISTED = 15
#: States that are drawn, too.
SHOWN: Any
HIDDEN: Any
SHOWN, HIDDEN = _("shown in the block"), _("has hidden lines")


@dataclass(frozen=True, slots=True)
class Span:
    """An entry in the picture. ``states`` say what became of it."""

    entry: Entry
    label: str
    x: float
    y: int
    width: float
    states: tuple[str, ...]
    is_readable: bool
    decisions: int = 0
    replaced: int = 0

    @property
    def middle(self) -> float:
        """Where its marks stand."""
        return round(self.x + self.width / 2, 2)

    @property
    def is_told(self) -> bool:
        """Whether a line of it is in the block."""
        return SHOWN in self.states

    @property
    def has_hidden(self) -> bool:
        """Whether it has lines that somebody hid."""
        return HIDDEN in self.states

    @property
    def words(self) -> str:
        """What a reader of the screen is told."""
        size = gettext("%(number)s tokens") % {"number": intcomma(self.entry.tokens)}
        return ", ".join([self.label, size, *map(str, self.states)])


@dataclass(frozen=True, slots=True)
class Turn:
    """A decision, or (with ``new``) a value that something newer replaced; ``entry`` is the leaf that has it."""

    old: Fact
    new: Fact | None

    @property
    def label(self) -> str:
        return label_of(self.old.entry)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The spans, and the newest ``turns`` among them."""

    spans: list[Span]
    turns: list[Turn]
    height: int = len(LANES) * (HEIGHT + GAP)

    @property
    def rungs(self) -> str:
        """What its lanes are, from top to bottom."""
        return get_text_list([gettext(granularity.rung.plural) for granularity in LANES], gettext("and"))


def newest_leaves(bank: Bank) -> QuerySet[Entry]:
    """All leaves that a timeline may show, newest first."""
    # A chat from before memory was on, or of somebody who is left out, is covered without a word.
    shared = services.entries_of(bank).leaves().with_digests().filter(tokens__gt=0)
    return shared.select_related("chat").order_by("-period_start", "-first_at", "-pk")


def build_timeline(
    bank: Bank, newest: Iterable[Entry], facts: FactQuerySet, told: Collection[int], *, hidden_too: bool
) -> Timeline:
    """One page of leaves, and all digests above them.

    ``facts`` are those that may be read, ``told`` those in the block. Three queries.
    """
    leaves = sorted(newest, key=_place)
    shown = set(services.facts_of(bank).filter(pk__in=told).values_list("entry", flat=True))
    hidden = set(services.facts_of(bank).filter(hidden=True).values_list("entry", flat=True)) if hidden_too else set()
    turns = list(_turns(facts, leaves))
    spans = list(_spans(leaves, _States(shown, hidden, turns)))
    return Timeline(spans, turns[:LISTED])


def _turns(facts: FactQuerySet, leaves: Sequence[Entry]) -> Iterator[Turn]:
    """Decisions and replaced values of these leaves, the newest first."""
    turning = facts.filter(Q(kind=Fact.Kind.DECISION) | Q(superseded_by__isnull=False), entry__in=leaves)
    for fact in turning.with_places().order_by("-said_on", "-pk"):
        newer = replaced_by(fact)
        if newer or fact.kind == Fact.Kind.DECISION:
            yield Turn(fact, newer)


def _place(leaf: Entry) -> tuple[tuple[date, int], ...]:
    """Where a leaf stands: beside what has the same digests above, in the order of their periods."""
    above = {entry.granularity: entry for entry in leaf.upwards()}
    found = [above.get(granularity) for granularity in LANES[:-1]]
    return (*((each.period_start, each.pk) if each else (leaf.period_start, 0) for each in found), _end(leaf))


def _end(leaf: Entry) -> tuple[date, int]:
    return leaf.last_at.date(), leaf.pk


class _States:
    """What became of entries: told in the block, hidden, decided in, replaced in."""

    def __init__(self, shown: Collection[int], hidden: Collection[int], turns: Sequence[Turn]) -> None:
        self.shown, self.hidden = shown, hidden
        self.decisions = Counter(turn.old.entry_id for turn in turns if turn.old.kind == Fact.Kind.DECISION)
        self.replaced = Counter(turn.old.entry_id for turn in turns if turn.new)

    def of(self, entry: Entry) -> Iterator[str]:
        """In words."""
        yield gettext("rolled up") if entry.parent_id else gettext("live")
        if entry.pk in self.shown:
            yield SHOWN
        if entry.pk in self.hidden:
            yield HIDDEN
        if count := self.decisions[entry.pk]:
            decided = ngettext("%(number)d decision", "%(number)d decisions", count)
            yield decided % {"number": count}
        if count := self.replaced[entry.pk]:
            yield ngettext("%(number)d value replaced since", "%(number)d values replaced since", count) % {
                "number": count
            }


def _spans(leaves: Sequence[Entry], states: _States) -> Iterator[Span]:
    total = sum(max(leaf.tokens, 1) for leaf in leaves) or 1
    least = min(LEAST, WIDTH / max(1, len(leaves)))
    free = WIDTH - least * len(leaves)
    reach: dict[int, tuple[Entry, float, float]] = {}
    at = 0.0
    for leaf in leaves:
        width = least + free * max(leaf.tokens, 1) / total
        for entry in leaf.upwards():
            _entry, start, _end = reach.get(entry.pk, (entry, at, at))
            reach[entry.pk] = (entry, start, at + width)
        at += width
    for entry, start, end in reach.values():
        yield _span(entry, start, end - start, states)


def _span(entry: Entry, x: float, width: float, states: _States) -> Span:
    lane, label = LANES.index(Granularity(entry.granularity)), label_of(entry)
    return Span(
        entry,
        label,
        round(x, 2),
        lane * (HEIGHT + GAP),
        round(max(width - 1, 1), 2),
        tuple(states.of(entry)),
        width >= LETTER * len(label) + MARGINS,
        states.decisions[entry.pk],
        states.replaced[entry.pk],
    )

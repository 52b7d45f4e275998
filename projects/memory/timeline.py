"""The timeline of a memory: a lane for each granularity, on which an entry's width shows the tokens of its leaves."""

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
#: Lanes from top to bottom; height of a lane, width of the picture and gap between lanes, all in SVG units.
LANES = Granularity.coarsest_first()
HEIGHT, WIDTH, GAP = 44, 1000, 8
#: Minimum width of a span, so that it can be clicked; assumed width of a letter of its label; width of its margins.
MIN_SPAN_WIDTH, LETTER_WIDTH, LABEL_MARGINS = 3.0, 7.6, 14.0
#: Decisions and replaced values that are listed below the picture.
MAX_TURNING_POINTS = 15
IN_BLOCK: Any = _("in every chat")
HAS_HIDDEN: Any = _("has hidden lines")


@dataclass(frozen=True, slots=True)
class Span:
    """An entry in the picture. ``is_readable``: its label fits."""

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
        return round(self.x + self.width / 2, 2)

    @property
    def is_in_block(self) -> bool:
        return IN_BLOCK in self.states

    @property
    def has_hidden(self) -> bool:
        return HAS_HIDDEN in self.states

    @property
    def words(self) -> str:
        """The text for screen readers."""
        size = gettext("%(number)s tokens") % {"number": intcomma(self.entry.tokens)}
        return ", ".join([self.label, size, *map(str, self.states)])


@dataclass(frozen=True, slots=True)
class TurningPoint:
    """A decision, or a value that ``new`` replaced."""

    old: Fact
    new: Fact | None

    @property
    def label(self) -> str:
        return label_of(self.old.entry)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The spans, and the newest decisions and replaced values among them."""

    spans: list[Span]
    turning_points: list[TurningPoint]
    height: int = len(LANES) * (HEIGHT + GAP)

    @property
    def granularities(self) -> str:
        return get_text_list([gettext(granularity.period.plural) for granularity in LANES], gettext("and"))


def newest_leaves(bank: Bank) -> QuerySet[Entry]:
    # A chat that was recorded before memory was on, or by an excluded person, has an empty leaf.
    shared = services.entries_of(bank).leaves().with_digests().filter(tokens__gt=0)
    return shared.select_related("chat").order_by("-period_start", "-first_at", "-pk")


def build_timeline(
    bank: Bank, newest: Iterable[Entry], facts: FactQuerySet, in_block: Collection[int], *, include_hidden: bool
) -> Timeline:
    """One page of leaves, and all digests above them.

    ``facts`` are those that may be read, ``in_block`` the ids of those in the block. Three queries.
    """
    leaves = sorted(newest, key=_place)
    shown = set(services.facts_of(bank).filter(pk__in=in_block).values_list("entry", flat=True))
    hidden = (
        set(services.facts_of(bank).filter(hidden=True).values_list("entry", flat=True)) if include_hidden else set()
    )
    turning_points = list(_turning_points(facts, leaves))
    spans = list(_spans(leaves, _States(shown, hidden, turning_points)))
    return Timeline(spans, turning_points[:MAX_TURNING_POINTS])


def _turning_points(facts: FactQuerySet, leaves: Sequence[Entry]) -> Iterator[TurningPoint]:
    """Decisions and replaced values of these leaves, the newest first."""
    candidates = facts.filter(Q(kind=Fact.Kind.DECISION) | Q(superseded_by__isnull=False), entry__in=leaves)
    for fact in candidates.with_places().order_by("-said_on", "-pk"):
        newer = replaced_by(fact)
        if newer or fact.kind == Fact.Kind.DECISION:
            yield TurningPoint(fact, newer)


def _place(leaf: Entry) -> tuple[tuple[date, int], ...]:
    """The sort key of a leaf: leaves of the same digests are adjacent, in the order of their periods."""
    above = {entry.granularity: entry for entry in leaf.upwards()}
    digests = [above.get(granularity) for granularity in LANES[:-1]]
    places = [(digest.period_start, digest.pk) if digest else (leaf.period_start, 0) for digest in digests]
    return (*places, (leaf.last_at.date(), leaf.pk))


class _States:
    def __init__(self, shown: Collection[int], hidden: Collection[int], turning_points: Sequence[TurningPoint]) -> None:
        self.shown, self.hidden = shown, hidden
        self.decisions = Counter(point.old.entry_id for point in turning_points if point.old.kind == Fact.Kind.DECISION)
        self.replaced = Counter(point.old.entry_id for point in turning_points if point.new)

    def of(self, entry: Entry) -> Iterator[str]:
        yield gettext("in a summary") if entry.parent_id else gettext("live")
        if entry.pk in self.shown:
            yield IN_BLOCK
        if entry.pk in self.hidden:
            yield HAS_HIDDEN
        if count := self.decisions[entry.pk]:
            yield ngettext("%(number)d decision", "%(number)d decisions", count) % {"number": count}
        if count := self.replaced[entry.pk]:
            replaced = ngettext("%(number)d value replaced since", "%(number)d values replaced since", count)
            yield replaced % {"number": count}


def _spans(leaves: Sequence[Entry], states: _States) -> Iterator[Span]:
    total = sum(max(leaf.tokens, 1) for leaf in leaves) or 1
    min_width = min(MIN_SPAN_WIDTH, WIDTH / max(1, len(leaves)))
    spare = WIDTH - min_width * len(leaves)
    extents: dict[int, tuple[Entry, float, float]] = {}
    x = 0.0
    for leaf in leaves:
        width = min_width + spare * max(leaf.tokens, 1) / total
        for entry in leaf.upwards():
            _entry, start, _end = extents.get(entry.pk, (entry, x, x))
            extents[entry.pk] = (entry, start, x + width)
        x += width
    for entry, start, end in extents.values():
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
        width >= LETTER_WIDTH * len(label) + LABEL_MARGINS,
        states.decisions[entry.pk],
        states.replaced[entry.pk],
    )

"""The timeline of a memory: each entry spans what lies under it, as wide as that has tokens, a lane for each rung."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from memorybank.models import Bank, Entry, Granularity

from .memory_rows import label_of

#: Leaves on one picture.
MOST = 150
#: Lanes from top to bottom, and how high each is; the picture is this wide.
LANES = tuple(reversed(Granularity))
HEIGHT, WIDTH, GAP = 44, 1000, 8
#: A span is at least this wide, so that it can be met. A letter of its name takes so much, and its margins.
LEAST, LETTER, MARGINS = 3.0, 7.6, 14.0


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

    @property
    def words(self) -> str:
        """What a reader of the screen is told."""
        return f"{self.label}, {self.entry.tokens:,} tokens, {', '.join(self.states)}"


@dataclass(frozen=True, slots=True)
class Timeline:
    """The spans, and the place of the first leaf before these (None: there is none)."""

    spans: list[Span]
    earlier: int | None
    height: int = len(LANES) * (HEIGHT + GAP)


def drawn(bank: Bank, told: Collection[int], *, skip: int, hidden_too: bool) -> Timeline:
    """The newest leaves but for ``skip``, and all digests above. ``told`` are the facts in the block. Three queries."""
    shared = bank.entries.leaves().exclude(chat__private=True).select_related("chat", "parent__parent__parent")
    newest = list(shared.order_by("-period_start", "-first_at", "-pk")[skip : skip + MOST + 1])
    leaves = sorted(newest[:MOST], key=_place)
    shown = set(bank.facts.filter(pk__in=told).values_list("entry", flat=True))
    hidden = set(bank.facts.filter(hidden=True).values_list("entry", flat=True)) if hidden_too else set()
    return Timeline(list(_spans(leaves, shown, hidden)), skip + MOST if len(newest) > MOST else None)


def _place(leaf: Entry) -> tuple[tuple[date, int], ...]:
    """Where a leaf stands: beside what has the same digests above, in the order of their periods."""
    above = {entry.granularity: entry for entry in leaf.upwards()}
    found = [above.get(rung) for rung in LANES[:-1]]
    return (*((each.period_start, each.pk) if each else (leaf.period_start, 0) for each in found), _end(leaf))


def _end(leaf: Entry) -> tuple[date, int]:
    return leaf.last_at.date(), leaf.pk


def _spans(leaves: Sequence[Entry], shown: Collection[int], hidden: Collection[int]) -> Iterator[Span]:
    total = sum(max(leaf.tokens, 1) for leaf in leaves) or 1
    least = min(LEAST, WIDTH / max(1, len(leaves)))
    free = WIDTH - least * len(leaves)
    reach: dict[int, tuple[Entry, float, float]] = {}
    at = 0.0
    for leaf in leaves:
        width = least + free * max(leaf.tokens, 1) / total
        for entry in leaf.upwards():
            _, start, _ = reach.get(entry.pk, (entry, at, at))
            reach[entry.pk] = (entry, start, at + width)
        at += width
    for entry, start, end in reach.values():
        yield _span(entry, start, end - start, shown, hidden)


def _span(entry: Entry, x: float, width: float, shown: Collection[int], hidden: Collection[int]) -> Span:
    states = ["rolled up" if entry.parent_id else "live"]
    states += ["shown in the block"] if entry.pk in shown else []
    states += ["has hidden lines"] if entry.pk in hidden else []
    lane, label = LANES.index(Granularity(entry.granularity)), label_of(entry)
    return Span(
        entry,
        label,
        round(x, 2),
        lane * (HEIGHT + GAP),
        round(max(width - 1, 1), 2),
        tuple(states),
        width >= LETTER * len(label) + MARGINS,
    )

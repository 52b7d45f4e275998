"""The geometry of charts by day: bars or a line, with an axis of values and dates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil, floor, log10

#: The plot's size in SVG units (``WIDE`` is the width of bar charts), and the margins for the labels of the axes.
WIDTH, WIDE, HEIGHT, LEFT, TOP, BOTTOM = 460.0, 1000.0, 120.0, 52.0, 8.0, 20.0
#: Maximum number of dates below the plot.
MAX_DATES = 5


@dataclass(frozen=True, slots=True)
class Tick:
    """A value on the axis, and its vertical position."""

    y: float
    value: float

    @property
    def decimals(self) -> int:
        """The number of decimal places that the value needs, at most 6."""
        return len(f"{self.value:.6f}".rstrip("0").partition(".")[2])


@dataclass(frozen=True, slots=True)
class Day:
    """A day's column of the plot; ``pieces`` are the parts of its bar from the bottom up, as (name, y, height)."""

    day: date
    x: float
    width: float
    value: float | None
    pieces: tuple[tuple[str, float, float], ...] = ()

    @property
    def bar(self) -> float:
        return max(self.width * 0.75, 1)

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: its days, its ticks, the days with a date below, the lines through its values, and a limit if any."""

    days: tuple[Day, ...]
    ticks: tuple[Tick, ...]
    dates: tuple[Day, ...]
    lines: tuple[str, ...] = ()
    limit: Tick | None = None

    left, top, bottom, height = LEFT, TOP, TOP + HEIGHT, TOP + HEIGHT + BOTTOM

    @property
    def width(self) -> float:
        return round(self.days[-1].x + self.days[-1].width, 1)


def bars(days: Sequence[date], parts: Sequence[Mapping[str, float]], order: Sequence[str], limit: float = 0) -> Chart:
    """A stacked bar for each day, with its parts in ``order`` from the bottom up."""
    totals = [float(sum(part.values())) for part in parts]
    top = round_up(max([*totals, limit], default=0))
    strips = []
    for number, (day, part, total) in enumerate(zip(days, parts, totals, strict=True)):
        y, pieces = TOP + HEIGHT, []
        for name in order:
            if height := HEIGHT * float(part.get(name, 0)) / top:
                y -= height
                pieces.append((name, y, height))
        strips.append(Day(day, *_strip(number, len(days), WIDE), total, tuple(pieces)))
    shown = Tick(_y(limit, top), limit) if limit else None
    return Chart(tuple(strips), _ticks(top), _dates(strips), limit=shown)


def line(days: Sequence[date], values: Sequence[float | None], top: float = 0) -> Chart:
    """A line through the values, interrupted at days without one. The axis ends at ``top`` (0: fits the maximum)."""
    top = top or round_up(max((value for value in values if value is not None), default=0))
    strips = [
        Day(day, *_strip(number, len(days)), value)
        for number, (day, value) in enumerate(zip(days, values, strict=True))
    ]
    runs: list[list[str]] = [[]]
    for strip in strips:
        if strip.value is None:
            runs.append([])
        else:
            runs[-1].append(f"{strip.middle:.1f},{_y(strip.value, top):.1f}")
    # a single point becomes a line to itself, which is drawn as a dot
    lines = tuple(" ".join(run if len(run) > 1 else run * 2) for run in runs if run)
    return Chart(tuple(strips), _ticks(top), _dates(strips), lines)


def round_up(value: float) -> float:
    """Round up to 1, 2 or 5 × a power of ten; 1 if the value is not positive."""
    if value <= 0:
        return 1
    power = 10.0 ** floor(log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * 0.9999)


def _strip(number: int, of: int, width: float = WIDTH) -> tuple[float, float]:
    return LEFT + number * width / of, width / of


def _y(value: float, top: float) -> float:
    return TOP + HEIGHT * (1 - min(float(value), top) / top)


def _ticks(top: float) -> tuple[Tick, ...]:
    return tuple(Tick(_y(value, top), value) for value in (0, top / 2, top))


def _dates(days: Sequence[Day]) -> tuple[Day, ...]:
    """Every so many days, at most MAX_DATES, with the last one."""
    step = max(1, ceil(len(days) / MAX_DATES))
    return tuple(day for number, day in enumerate(days, start=1) if (len(days) - number) % step == 0)

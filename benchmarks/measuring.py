"""A measurement beside its target; helpers that count time and queries for all benchmarks."""

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.db import connection
from django.test.utils import CaptureQueriesContext


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured, as text with its unit, and what it should be ("" = for information)."""

    what: str
    value: str
    target: str = ""


def seconds(action: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Wall-clock seconds of one run, or those of another ``clock``."""
    started = clock()
    action()
    return clock() - started


def interleaved_ms(
    actions: Sequence[Callable[[], object]], times: int, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Median milliseconds of each action, taken in turns, so that a busy moment hits them all alike."""
    runs = [[seconds(action, clock) for action in actions] for _ in range(times)]
    return [statistics.median(column) * 1000 for column in zip(*runs, strict=True)]


def queries(action: Callable[[], object]) -> int:
    """Database queries of one run."""
    with CaptureQueriesContext(connection) as captured:
        action()
    return len(captured)


def show(title: str, measurements: Iterable[Measurement]) -> None:
    """Print a table: what, value, target."""
    rows = list(measurements)
    width = max((len(row.what) for row in rows), default=0)
    print(f"\n{title}")
    for row in rows:
        target = f"   target {row.target}" if row.target else ""
        print(f"  {row.what:<{width}}  {row.value:>14}{target}", flush=True)

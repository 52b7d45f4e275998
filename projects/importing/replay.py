"""Replay outputs on a simulated clock, with a sweep at each step."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.utils.timezone import now as real_now

from memorybank import services
from memorybank.services import Bank, RunReport

from .jsonl import ImportLine
from .service import ProjectCache, record_lines

#: The simulated clock continues for this long after the last output, so that the last chats become idle.
TIME_AFTER_LAST_OUTPUT = timedelta(hours=1)


def replay(
    lines: Sequence[ImportLine],
    *,
    step: timedelta,
    prepare: Callable[[Bank, datetime], None],
    progress: Callable[[datetime, int], None] = lambda clock, recorded: None,
) -> RunReport:
    """Record ``lines`` in chronological order; after each ``step``, do the work of beat and worker.

    ``prepare`` is called once for each bank, with the time of its first output. The times given to it, and the
    times of recording, are never in the future.
    """
    waiting = sorted(lines, key=lambda line: (line.output.created_at, line.number))
    projects, report, recorded = ProjectCache(), RunReport(), 0
    if not waiting:
        return report
    clock, last = waiting[0].output.created_at, waiting[-1].output.created_at + max(step, TIME_AFTER_LAST_OUTPUT)
    prepared: set[int] = set()
    while clock < last:
        clock = min(clock + step, last)
        until = bisect_right(waiting, clock, lo=recorded, key=lambda line: line.output.created_at)
        _record(projects, waiting[recorded:until], prepared, prepare, clock)
        recorded = until
        report = report + services.run_due(now=clock)
        progress(clock, recorded)
    return report


def _record(
    projects: ProjectCache,
    lines: Sequence[ImportLine],
    prepared: set[int],
    prepare: Callable[[Bank, datetime], None],
    clock: datetime,
) -> None:
    for line in lines:
        bank = projects.at(line).bank
        if bank.pk not in prepared:
            prepare(bank, min(line.output.created_at, real_now()))
            prepared.add(bank.pk)
    record_lines(projects, lines, now=min(clock, real_now()))

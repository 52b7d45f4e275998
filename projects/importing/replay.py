"""Outputs fed as time passing: a simulated clock, a sweep and compression at each step."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.utils.timezone import now as real_now

from memorybank import services
from memorybank.services import Bank, RunReport

from .jsonl import ImportLine
from .service import Projects, record

#: After the last output the clock runs on this long, so that the last chats fall idle.
AFTERWARDS = timedelta(hours=1)


def replay(
    lines: Sequence[ImportLine],
    *,
    step: timedelta,
    prepare: Callable[[Bank], None],
    progress: Callable[[datetime, int], None] = lambda clock, fed: None,
) -> RunReport:
    """Record ``lines`` in the order of their times; at each ``step`` run what beat and worker would.

    ``prepare`` is called once for each bank, before its first output. Times stop at the present.
    """
    waiting = sorted(lines, key=lambda line: (line.output.created_at, line.number))
    projects, report, fed = Projects(), RunReport(), 0
    if not waiting:
        return report
    clock, last = waiting[0].output.created_at, waiting[-1].output.created_at + max(step, AFTERWARDS)
    prepared: set[int] = set()
    while clock < last:
        clock = min(clock + step, last)
        until = bisect_right(waiting, clock, lo=fed, key=lambda line: line.output.created_at)
        _feed(projects, waiting[fed:until], prepared, prepare, clock)
        fed = until
        report = report + services.run_due(now=clock)
        progress(clock, fed)
    return report


def _feed(
    projects: Projects,
    lines: Sequence[ImportLine],
    prepared: set[int],
    prepare: Callable[[Bank], None],
    clock: datetime,
) -> None:
    for line in lines:
        bank = projects.at(line).bank
        if bank.pk not in prepared:
            prepare(bank)
            prepared.add(bank.pk)
    record(projects, lines, now=min(clock, real_now()))

"""What each action of the site reads of a population's database, beside what it reads at a hundredth of the size.

Command: DATABASE_URL=postgres://postgres@127.0.0.1:5432/postgres python -m benchmarks.growth --scale 0.1

The actions are those of ``benchmarks.plans``, each undone before the next. Counted are the pages (8 kB) that PostgreSQL
reads, from memory or disk: another load of the machine changes a time, but not these. A tenth has a million turns: it
takes ten minutes and 3 GB; the whole an hour and a half, and 40 GB. Target: at most 3 × as much.
"""

import argparse
from collections.abc import Callable

from django.db import connection, transaction

from . import plans, population, recall, scratch
from .measuring import Measurement, seconds, show

REPETITIONS = 3
RATIO = 100
#: A query of few pages reads some more of an index that is one level deeper.
FEW_PAGES = 300


def measure(scale: float = 0.1) -> list[Measurement]:
    """The pages and milliseconds of each action at both sizes; the least of several runs."""
    if connection.vendor != "postgresql":
        return [Measurement("growth", "PostgreSQL only")]
    small, large = _read_at(scale / RATIO), _read_at(scale)
    return list(rows(small, large))


def rows(small: dict[str, tuple[int, float]], large: dict[str, tuple[int, float]]) -> list[Measurement]:
    """A row for each action."""
    return [
        Measurement(
            action,
            f"{small[action][0]:,} → {pages:,} pages, {pages / small[action][0]:.1f} ×; {spent:.0f} ms",
            f"≤ 3 × or {FEW_PAGES} pages",
        )
        for action, (pages, spent) in large.items()
    ]


def _read_at(scale: float) -> dict[str, tuple[int, float]]:
    with scratch.database(EMBEDDINGS={}):
        population.fill(scale)
        recall.settle()
        return read_by_actions()


def read_by_actions() -> dict[str, tuple[int, float]]:
    """Pages and milliseconds of each action, in the current database."""
    read = {name: [_undone(action) for _ in range(REPETITIONS)] for name, action in plans.actions().items()}
    return {name: (min(pages for pages, _ in runs), min(ms for _, ms in runs)) for name, runs in read.items()}


def _undone(action: Callable[[], object]) -> tuple[int, float]:
    before = _pages()
    with transaction.atomic():
        spent = seconds(action)
        transaction.set_rollback(True)
    return max(1, _pages() - before), spent * 1000


def _pages() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()")
        pages: int = cursor.fetchone()[0]
    return pages


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.1, help="of the larger; 1 is the whole")
    show(__doc__.splitlines()[0], measure(parser.parse_args().scale))

"""One sweep over settled history: 10,000 settled chats beside 100.

Command: python -m benchmarks sweep

Targets: at most 5 queries, and the same number and time at both sizes. Chats that wait in banks that are switched off are
no work either.
"""

from datetime import timedelta

from django.db import connection

from memorybank import services, tasks
from memorybank.models import Bank, Chat

from . import scratch, seeding
from .measuring import Measurement, least_ms, queries, show

FEW_CHATS, MANY_CHATS = 100, 10_000
REPETITIONS = 100
#: Configured but never called: with a model, a sweep also asks whether its endpoint backs off.
ENDPOINT = "http://127.0.0.1:9/v1"


def measure() -> list[Measurement]:
    """The beat's sweep at three sizes of history, and the command that does it in the foreground."""
    results = {}
    with scratch.database(LLMS=scratch.model(ENDPOINT)):
        seeding.fill(seeding.bank(), chats=FEW_CHATS, facts=1)
        results["100 settled chats"] = _sweep()
        seeding.fill(seeding.bank(), chats=MANY_CHATS - FEW_CHATS, facts=1)
        results["10,000 settled chats"] = _sweep()
        foreground = queries(lambda: services.run(now=seeding.NOW))
        _wait_in_disabled_banks()
        results["and 10,000 waiting in disabled banks"] = _sweep()
    base = results["100 settled chats"][1]
    rows = [
        row
        for name, (count, ms) in results.items()
        for row in (
            Measurement(f"{name}: queries", str(count), "≤ 5"),
            Measurement(f"{name}: ms", f"{ms:.2f}"),
            Measurement(f"{name}: time", f"{ms / base:.2f} ×", "≈ 1 ×"),
        )
    ]
    return [*rows, Measurement("run_memory, nothing due: queries", str(foreground), "independent of history")]


def _sweep() -> tuple[int, float]:
    """Queries and least milliseconds, with statistics as fresh as a live database's."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    tasks.sweep()  # makes connections and caches, like any sweep but the first
    return queries(tasks.sweep), least_ms(tasks.sweep, REPETITIONS)


def _wait_in_disabled_banks() -> None:
    for number in range(10):
        bank = seeding.bank()
        at = seeding.NOW - timedelta(days=1)
        Chat.objects.bulk_create(
            Chat(bank=bank, key=f"waiting-{i}", last_output_at=at, due_at=at, pending_outputs=1)
            for i in range(MANY_CHATS // 10)
        )
        services.disable(bank, actor=f"benchmark {number}", now=seeding.NOW)
    Bank.objects.filter(enabled=True).update(compress_at=None)


if __name__ == "__main__":
    show(__doc__.splitlines()[0], measure())

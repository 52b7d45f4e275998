"""Row-level security: the time of each path with the policies beside the same path without, on PostgreSQL.

Command: python -m benchmarks.row_security

The server is that of DATABASE_URL if it is PostgreSQL, otherwise that of the tests: TEST_DATABASE_URL, or
postgres://postgres@127.0.0.1:5432/postgres. Its user has to be a superuser; the database is a new one and is dropped.

Target: at most 1.1 ×. Both are measured in turns, on the same rows and connection: as the superuser, whom no policy binds
and who sends no banks, and as the role that the policies bind.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from functools import partial
from itertools import count
from unittest.mock import patch

from django.conf import settings
from django.core.management.color import no_style
from django.db import connection
from django.test.utils import override_settings

from memorybank import bank_scope, services
from memorybank.indexing import block_writer
from memorybank.models import Bank, Chat, Output
from memorybank.postgresql import row_security
from memorybank.reading import rendering
from projects.models import Project, Tenant
from projects.tenancy import audit
from tests.support.requirements import needs_postgres

from . import recall, scratch, seeding
from .measuring import Measurement, seconds, show

ROLE = f"memory_bank_bench_{os.getpid()}"
TURNS, BANKS = 5_000, 2
REPETITIONS = 60
QUESTION = "Which database did we choose for billing last week?"


def measure() -> list[Measurement]:
    """Medians, in turns."""
    with scratch.database(EMBEDDINGS={}, ROW_SECURITY_ROLE=""), _role():
        bank = _filled()
        return [row for name, action in _paths(bank).items() for row in _in_turns(bank, name, action)]


def _filled() -> Bank:
    """A bank of 5,000 turns with documents and facts, among others like it."""
    banks = [seeding.bank() for _ in range(BANKS)]
    recall.fill(banks, TURNS)
    Bank.objects.update(last_sequence=TURNS * BANKS)
    with connection.cursor() as cursor:  # the rows were given their ids
        for statement in connection.ops.sequence_reset_sql(no_style(), [Chat, Output]):
            cursor.execute(statement)
    recall.settle()
    block_writer.refresh(banks[0].pk, now=seeding.NOW)
    banks[0].refresh_from_db()
    return banks[0]


def _paths(bank: Bank) -> dict[str, Callable[[], object]]:
    numbers, draw = count(), random.Random(1)

    def record() -> None:
        services.record(bank, chat_key="recorded", author="priya", question=f"Turn {next(numbers)}.", answer="Noted.")

    def summarise() -> None:
        number = next(numbers)
        for turn in range(5):
            question = f"{turn}. {seeding.sentence(draw)}"
            services.record(bank, chat_key=f"s{number}", author="priya", question=question, answer="Noted.")
        services.summarise_now(bank, chat_key=f"s{number}", now=seeding.NOW + timedelta(days=900))

    project = Project.objects.create(tenant=Tenant.objects.create(slug="t", name="T"), slug="p", name="P", bank=bank)
    tenant = project.tenant
    return {
        "memory for a prompt": partial(services.prompt_memory, bank, chat_key="new"),
        "… with recalled notes": partial(services.prompt_memory, bank, chat_key="new", question=QUESTION),
        "recall": partial(services.recall, bank, QUESTION),
        "rendering a block": partial(rendering.render, bank, budget=2_000),
        "listing 50 turns": lambda: list(services.outputs_of(bank).order_by("-pk")[:50]),
        "recording a turn": record,
        "a chat of 5 turns into memory": summarise,
        "an event of a tenant's audit log": lambda: audit.log(tenant, "ann", audit.TenantAction.CHANGE, seeding.NOW),
        "listing a tenant's events and invitations": lambda: [*tenant.events.all()[:50], *tenant.invitations.all()],
    }


def _in_turns(bank: Bank, name: str, action: Callable[[], object]) -> Iterator[Measurement]:
    times: dict[bool, list[float]] = {False: [], True: []}
    for number in range(2 * REPETITIONS):
        is_bound = number % 4 in (1, 2)
        with _bound(bank) if is_bound else nullcontext():
            times[is_bound].append(seconds(action) * 1000)
    before, after = statistics.median(times[False]), statistics.median(times[True])
    yield Measurement(f"{name}, ms", f"{before:.2f} → {after:.2f}")
    yield Measurement(f"{name}, with / without", f"{after / before:.2f} ×", "≤ 1.1 ×")


@contextmanager
def _role() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {ROLE}")
        try:
            with override_settings(MEMORYBANK={**settings.MEMORYBANK, "ROW_SECURITY_ROLE": ROLE}):
                row_security.install("default")
            yield
        finally:
            cursor.execute(f"DROP OWNED BY {ROLE}")
            cursor.execute(f"DROP ROLE {ROLE}")


@contextmanager
def _bound(bank: Bank) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute(f"SET ROLE {ROLE}")
        connection.execute_wrappers.append(bank_scope.send_with)
        try:
            bank_scope.enter(bank.pk, owners=[bank.project.tenant_id])
            with patch.dict(connection.settings_dict, DISABLE_SERVER_SIDE_CURSORS=True):
                yield
        finally:
            bank_scope.leave()
            connection.execute_wrappers.remove(bank_scope.send_with)
            cursor.execute("RESET ROLE")


def main() -> None:
    """Print a table. On SQLite, which is set up without DATABASE_URL, do it in a process with PostgreSQL."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    if connection.vendor == "postgresql":
        show(str(__doc__).splitlines()[0], measure())
    else:
        command = [sys.executable, "-m", "benchmarks.row_security"]
        subprocess.run(command, env={**os.environ, "DATABASE_URL": needs_postgres()}, check=True)


if __name__ == "__main__":
    main()

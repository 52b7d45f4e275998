"""Settings of all tests: hypothesis profiles, the order of tests, and the database of a run.

``quick`` is the profile of everyday runs, ``ci`` tries more examples. Both always try the same ones, so a failure is
caused by the change. ``--hypothesis-profile=search`` looks for new ones. PostgreSQL is given the quick ones in CI, too:
what more examples vary is text and the order of events, which SQLite is given in the same run.
"""

import gc
import os
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import count

import pytest
import pytest_django
from django.conf import settings as site
from django.core.signals import request_finished
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from django.test import SimpleTestCase
from django.utils import timezone, translation
from hypothesis import HealthCheck, settings

from memorybank import services
from tests.support import own_site, prepared

from .support.gateway_fixtures import served, site_of_module, site_of_run  # noqa: F401 - fixtures of all tests
from .support.requirements import IS_CI
from .support.scripted_model import model, no_model, tuned  # noqa: F401 - fixtures of all tests

# No deadlines: the time of an example depends on the load of the machine.
UNHURRIED = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", UNHURRIED, max_examples=24 if IS_CI else 12, derandomize=True, database=None)
settings.register_profile("ci", UNHURRIED, max_examples=100, derandomize=True, database=None)
settings.register_profile("search", UNHURRIED, max_examples=5000)
_on_sqlite = not os.environ.get("DATABASE_URL", "").startswith("postgres")
settings.load_profile("ci" if IS_CI and _on_sqlite else "quick")

#: How often PostgreSQL's tables are looked at, and how large those are that are emptied, except what migrations fill.
TESTS_PER_SWEEP, SWEPT_FROM_BYTES, _tests = 40, 1_000_000, count(1)
MIGRATED_TABLES = ["auth_permission", "django_content_type", "memorybank_publicidkey"]


def pytest_configure() -> None:
    """Hash the passwords of tests fast: they protect nobody. And keep compiled modules, whatever the environment says:
    a run starts a hundred processes, each of which would spend a second on compiling them. Look for garbage seldom:
    among the objects of 5,000 collected tests that took a sixth of the processor's time.
    """
    gc.set_threshold(10_000, 20, 50)
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    site.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@receiver(connection_created)
def _reverse_unordered_rows(connection: BaseDatabaseWrapper, **signal: object) -> None:
    """Reverse the rows of queries without ORDER BY on SQLite, so that no test relies on their order."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA reverse_unordered_selects = ON")


@pytest.fixture(scope="session", autouse=True)
def _shared(
    tmp_path_factory: pytest.TempPathFactory, django_db_blocker: pytest_django.DjangoDbBlocker
) -> Iterator[None]:
    """Set the directory in which all processes of this run share what is made once."""
    own_site.unblocked = django_db_blocker.unblock
    mine = tmp_path_factory.getbasetemp()
    prepared.folder = mine.parent if "PYTEST_XDIST_WORKER" in os.environ else mine
    yield
    own_site.templates.close()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, _shared: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Copy the tables of SQLite's test database from the one that all processes share: to migrate takes each four
    seconds. A process that runs alone migrates its own.
    """
    if connection.vendor != "sqlite" or "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    site_folder = tmp_path_factory.mktemp("migrated")
    prepared.migrated(site_folder)
    connection.settings_dict["TEST"]["NAME"] = "file:migrated?mode=memory&cache=shared"
    with (
        closing(sqlite3.connect(site_folder / "memorybank.sqlite3")) as migrated,
        closing(sqlite3.connect(connection.settings_dict["TEST"]["NAME"], uri=True)) as in_memory,
    ):
        migrated.backup(in_memory)
        yield  # in_memory stays open, because the database is gone with its last connection


@pytest.fixture(autouse=True)
def _sweep(request: pytest.FixtureRequest) -> None:
    """Empty PostgreSQL's large tables now and then: the rows that tests have rolled back stay in them and slow queries
    down. Only the large ones and what refers to them, because emptying all takes two seconds, whatever is in them.

    Not by VACUUM: it notes that a table has no rows, and queries planned on that take minutes once a test adds some.
    """
    is_due = connection.vendor == "postgresql" and request.node.get_closest_marker("database")
    if not is_due or next(_tests) % TESTS_PER_SWEEP:
        return
    request.getfixturevalue("django_db_setup")
    with request.getfixturevalue("django_db_blocker").unblock():
        other = connection.copy()  # the test's own connection is in a transaction
        # A transaction that spans the tests of a class may hold a lock; then the next sweep will do.
        with closing(other), suppress(OperationalError), other.cursor() as cursor:
            cursor.execute("SET lock_timeout = '10ms'")
            cursor.execute(
                "SELECT relname FROM pg_stat_user_tables WHERE pg_relation_size(relid) > %s AND relname <> ALL(%s)",
                [SWEPT_FROM_BYTES, MIGRATED_TABLES],
            )
            if large := [name for (name,) in cursor.fetchall()]:
                cursor.execute(f"TRUNCATE {', '.join(large)} CASCADE")


@receiver(request_finished)
def _sees_every_bank(**signal: object) -> None:
    """With row-level security a test itself looks into every bank; requests, commands and tasks enter theirs."""
    services.enter_all_banks()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """What the test before has entered is left."""
    services.enter_all_banks()


@pytest.fixture(autouse=True)
def _default_language() -> None:
    """Reset the language and the time zone of the thread, which the requests of an earlier test have set."""
    translation.deactivate()
    timezone.deactivate()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that use a database."""
    if item.get_closest_marker("django_db") or issubclass(getattr(item, "cls", None) or object, SimpleTestCase):
        item.add_marker("database")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the longest tests, so that all processes are busy to the end."""
    items.sort(key=lambda item: not any(item.get_closest_marker(name) for name in ("own_servers", "long")))


def pytest_collection_finish() -> None:
    """Look for no garbage among the collected tests: they stay to the end, and looking took a thirtieth of a run."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line for each reason to skip."""
    reasons = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", []))
    for reason, tests in sorted(reasons.items()):
        terminalreporter.write_line(f"{reason.removeprefix('Skipped: ')} ({tests} skipped)")

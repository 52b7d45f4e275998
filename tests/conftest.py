"""How the suite runs: how far its searches go, and that what takes long begins first.

``quick`` is everybody's, ``ci`` goes further; both try the same examples every time, so that who turns red has broken
something. ``--hypothesis-profile=search`` goes hunting for new ones.
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import count

import pytest
import pytest_django
from django.conf import settings as site
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from django.test import SimpleTestCase
from django.utils import translation
from hypothesis import HealthCheck, settings

from tests.support import own_site, prepared

from .support.scripted_model import model, no_model, tuned  # noqa: F401 - fixtures of all tests

# How long an example takes, or is sought, says how busy the machine is.
UNHURRIED = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", UNHURRIED, max_examples=24, derandomize=True, database=None)
settings.register_profile("ci", UNHURRIED, max_examples=200, derandomize=True, database=None)
settings.register_profile("search", UNHURRIED, max_examples=5000)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "quick")

#: After so many tests the database is swept.
SWEPT, _tests = 20, count(1)


def pytest_configure() -> None:
    """Passwords of tests are nobody's: a hash that takes long keeps only the suite waiting."""
    site.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@receiver(connection_created)
def _in_no_order(connection: BaseDatabaseWrapper, **signal: object) -> None:
    """Where nobody asks for an order, SQLite gives none that a test could rely upon by chance."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA reverse_unordered_selects = ON")


@pytest.fixture(scope="session", autouse=True)
def _shared(
    tmp_path_factory: pytest.TempPathFactory, django_db_blocker: pytest_django.DjangoDbBlocker
) -> Iterator[None]:
    """Where all processes of this run find what is made once."""
    own_site.unblocked = django_db_blocker.unblock
    mine = tmp_path_factory.getbasetemp()
    prepared.folder = mine.parent if "PYTEST_XDIST_WORKER" in os.environ else mine
    yield
    own_site.templates.close()


@pytest.fixture(autouse=True)
def _swept(request: pytest.FixtureRequest) -> None:
    """PostgreSQL keeps the rows that tests have rolled back, and reads past them, until somebody vacuums: we do."""
    if connection.vendor != "postgresql" or not request.node.get_closest_marker("database") or next(_tests) % SWEPT:
        return
    request.getfixturevalue("django_db_setup")
    with request.getfixturevalue("django_db_blocker").unblock():
        beside = connection.copy()  # the test's own is in a transaction
        with closing(beside), beside.cursor() as cursor:
            cursor.execute("VACUUM (SKIP_LOCKED, TRUNCATE FALSE)")  # waits for nobody


@pytest.fixture(autouse=True)
def _in_the_language_of_the_site() -> None:
    """A request leaves its language behind in the thread, where the next test would find it."""
    translation.deactivate()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what asks a database."""
    if item.get_closest_marker("django_db") or issubclass(getattr(item, "cls", None) or object, SimpleTestCase):
        item.add_marker("database")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Both cores are busy to the end if the last tests are short ones."""
    items.sort(key=lambda item: not any(item.get_closest_marker(name) for name in ("own_servers", "long")))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each reason to skip: whatever is missing is said once, and not overlooked."""
    reasons = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", []))
    for reason, tests in sorted(reasons.items()):
        terminalreporter.write_line(f"{reason.removeprefix('Skipped: ')} ({tests} skipped)")

"""A thread keeps its database connection, and opens another if the server ended it."""

import psycopg
import pytest
from django.db import connection

from memorybank.models import Bank
from projects.web.db_connections import kept_connection
from tests.support.requirements import needs_postgres

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no server")
def test_only_a_server_that_has_said_something_is_asked() -> None:
    """Asking costs a message, which is most of what reading a row costs."""
    connection.close()
    with kept_connection():
        assert not Bank.objects.exists()
    first, ended = connection.connection, connection.connection.info.backend_pid
    with kept_connection():
        assert connection.health_check_done
        assert not Bank.objects.exists() and connection.connection is first
    with psycopg.connect(needs_postgres(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [ended])
    with kept_connection():
        assert not Bank.objects.exists() and connection.connection is not first

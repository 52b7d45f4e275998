"""Release this thread's database connection while it is idle, or keep it for the next request."""

import select
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import close_old_connections, connection

#: How long a gateway thread keeps its connection.
CONNECTION_SECONDS = 60


def release_connection() -> None:
    """Close the connection if it is too old, or return it to the pool; not inside a transaction."""
    if not connection.in_atomic_block:
        close_old_connections()


@contextmanager
def kept_connection() -> Iterator[None]:
    """Reuse the thread's connection from earlier work, unless it is broken, old or pooled."""
    connection.close_if_unusable_or_obsolete()
    if _is_silent():
        connection.health_check_done = True  # type: ignore[attr-defined]  # Django need not ask the server
    fresh = connection.connection is None
    try:
        yield
    finally:
        if "pool" in connection.settings_dict["OPTIONS"]:
            release_connection()
        elif fresh and connection.connection is not None:
            connection.close_at = time.monotonic() + CONNECTION_SECONDS


def _is_silent() -> bool:
    """Whether this thread's connection to PostgreSQL has nothing to read: a server that ends a connection says so."""
    if connection.vendor != "postgresql" or connection.connection is None or connection.connection.closed:
        return False
    poll = select.poll()
    poll.register(connection.connection.fileno(), select.POLLIN)
    return not poll.poll(0)

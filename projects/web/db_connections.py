"""Giving this thread's database connection back while nobody needs it, or keeping it for what comes next."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import close_old_connections, connection

#: Seconds for which a thread of ours that works for many requests keeps its connection.
KEPT_SECONDS = 60


def give_back() -> None:
    """Close it if its time is over, or hand it to the pool; a transaction that is under way keeps it."""
    if not connection.in_atomic_block:
        close_old_connections()


@contextmanager
def kept() -> Iterator[None]:
    """Work in a thread of ours with the connection of what it did before, unless that is broken, old or a pool's."""
    connection.close_if_unusable_or_obsolete()
    fresh = connection.connection is None
    try:
        yield
    finally:
        if "pool" in connection.settings_dict["OPTIONS"]:
            give_back()
        elif fresh and connection.connection is not None:
            connection.close_at = time.monotonic() + KEPT_SECONDS

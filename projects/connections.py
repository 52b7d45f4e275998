"""Giving this thread's database connection back while nobody needs it."""

from django.db import close_old_connections, connection


def give_back() -> None:
    """Close it if its time is over, or hand it to the pool; a transaction that is under way keeps it."""
    if not connection.in_atomic_block:
        close_old_connections()

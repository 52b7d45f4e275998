"""The requests a minute of API keys, counted here and, for several processes together, in the database."""

from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from projects.models import APIKey

#: More requests than anybody sends in a minute.
UNLIMITED = 10**9


@dataclass(slots=True)
class _Minute:
    """A key's requests of one minute in this process; the database counts the ``reserved`` ones."""

    start: datetime
    used: int = 0
    reserved: int = 0
    is_reserving: bool = False
    is_full: bool = False


class Shares:
    """The requests that this process has reserved from each key's limit a minute, and how many were used.

    The database counts for all processes together, and is written once for many requests. No key exceeds its limit;
    one that several processes serve may be stopped a few shares earlier.
    """

    SHARES_A_MINUTE = 20

    def __init__(self) -> None:
        self._minutes: dict[str, _Minute] = {}
        self._lock = Lock()

    def grant(self, key: APIKey, limit: int, now: datetime) -> bool:
        """Whether the key may send another request in this minute; a limit of 0 is no limit."""
        allowed, is_due = self.admit(key, limit, now)
        return allowed and (not is_due or self.reserve(key, limit, now))

    def admit(self, key: APIKey, limit: int, now: datetime) -> tuple[bool, bool]:
        """The same without writing; and whether a share is due, which the caller has reserved soon.

        Until then requests count in this process alone.
        """
        with self._lock:
            minute = self._minute(key, now)
            if minute.is_full or minute.used >= (limit or UNLIMITED):
                return False, False
            minute.used += 1
            is_due = minute.used > minute.reserved and not minute.is_reserving
            minute.is_reserving |= is_due
            return True, is_due

    def reserve(self, key: APIKey, limit: int, now: datetime) -> bool:
        """Reserve a share of the minute, in the database; False if the limit is used up."""
        limit = limit or UNLIMITED
        with self._lock:
            minute = self._minute(key, now)
            share = max(minute.used - minute.reserved, limit // self.SHARES_A_MINUTE, 1)
        taken = None
        try:
            taken = APIKey.objects.take(key.pk, share, limit=limit, now=now)
        finally:
            with self._lock:
                minute.is_reserving = False
                minute.reserved += share if taken else 0
                minute.is_full = taken is False
        return taken

    def _minute(self, key: APIKey, now: datetime) -> _Minute:
        start = now.replace(second=0, microsecond=0)
        minute = self._minutes.get(key.digest)
        if minute is None or minute.start != start:
            self._minutes = {digest: other for digest, other in self._minutes.items() if other.start == start}
            minute = self._minutes[key.digest] = _Minute(start)
        return minute


#: Those of this process.
shares = Shares()

"""Rate limits of API keys per minute, counted in each process and, for all processes together, in the database."""

from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

from projects.models import APIKey

#: Used where the limit is 0: more requests than anybody sends in a minute.
UNLIMITED_REQUESTS = 10**9


@dataclass(slots=True)
class _Minute:
    """A key's requests in one minute in this process; the database has counted the ``reserved`` ones."""

    start: datetime
    used: int = 0
    reserved: int = 0
    is_due: bool = False
    is_full: bool = False
    reserving: Lock = field(default_factory=Lock)


class Shares:
    """This process's shares of each key's limit per minute: the requests it has reserved, and those it has used.

    The database counts the reserved requests of all processes; one write reserves many requests, near the limit one.
    Requests that a process has reserved and does not get, at most a twentieth of the limit, no other process grants.
    """

    SHARES_A_MINUTE = 20

    def __init__(self) -> None:
        self._minutes: dict[str, _Minute] = {}
        self._lock = Lock()

    def grant(self, key: APIKey, limit: int, now: datetime) -> bool:
        """Whether the key may send another request in this minute; a limit of 0 means unlimited. Never exceeds it."""
        minute = self._minute(key, now)
        with minute.reserving:
            if self._use(minute):
                return True
            self._reserve(minute, key, limit or UNLIMITED_REQUESTS, now)
            return self._use(minute)

    def admit(self, key: APIKey, limit: int, now: datetime) -> tuple[bool, bool]:
        """Like :meth:`grant`, but without a write; also return whether the caller must call :meth:`reserve` soon.

        Half a share is reserved ahead. Only requests that come faster than the database answers are granted before they
        are counted, and may exceed the limit.
        """
        minute, limit = self._minute(key, now), limit or UNLIMITED_REQUESTS
        with self._lock:
            if minute.used >= limit or (minute.is_full and minute.used >= minute.reserved):
                return False, False
            minute.used += 1
            is_low = minute.used + limit // self.SHARES_A_MINUTE // 2 > minute.reserved
            is_due = is_low and not minute.is_due and not minute.is_full
            minute.is_due |= is_due
            return True, is_due

    def reserve(self, key: APIKey, limit: int, now: datetime) -> None:
        """Reserve a share of the minute in the database."""
        minute = self._minute(key, now)
        with minute.reserving:
            self._reserve(minute, key, limit or UNLIMITED_REQUESTS, now)

    def _use(self, minute: _Minute) -> bool:
        with self._lock:
            is_reserved = minute.used < minute.reserved
            minute.used += is_reserved
            return is_reserved

    def _reserve(self, minute: _Minute, key: APIKey, limit: int, now: datetime) -> None:
        """Take a share, or what is needed if the limit has no more left."""
        with self._lock:
            needed = max(minute.used - minute.reserved, 1)
        taken = 0
        try:
            for share in sorted({needed, max(needed, limit // self.SHARES_A_MINUTE)}, reverse=True):
                if not taken and APIKey.objects.take(key.pk, share, limit=limit, now=now):
                    taken = share
            minute.is_full = not taken
        finally:
            with self._lock:
                minute.is_due = False
                minute.reserved += taken

    def _minute(self, key: APIKey, now: datetime) -> _Minute:
        start = now.replace(second=0, microsecond=0)
        with self._lock:
            minute = self._minutes.get(key.digest)
            if minute is None or minute.start != start:
                self._minutes = {digest: other for digest, other in self._minutes.items() if other.start == start}
                minute = self._minutes[key.digest] = _Minute(start)
            return minute


#: The shares of this process.
shares = Shares()

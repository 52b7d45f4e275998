"""A cache of valid API keys with their projects and upstreams, so that requests survive short database failures."""

import asyncio
import time
from collections.abc import Mapping
from datetime import datetime

from django.conf import settings
from django.db import DatabaseError
from django.db.models import prefetch_related_objects
from django.utils import timezone

from memorybank import services
from projects.tenancy import authentication, rate_limit

from ...models import APIKey
from ..refusals import Refusal
from ..upstream.targets import UpstreamTarget, target_of
from .threads import readers, writers

#: How long a valid key is used without a new lookup. A key that is revoked meanwhile still works for this time.
FRESH_SECONDS = 1.0
#: The cache is cleared at this size: more keys than one process serves within ``GATEWAY_KEY_SECONDS``.
MAX_ACCOUNTS = 10_000
UNANSWERED_MESSAGE = "The key cannot be checked at the moment. Try again later."
RETRY_SECONDS = 5


class Account:
    """A valid key, with its project and upstreams as they were at ``found``, in seconds of the monotonic clock."""

    def __init__(self, key: APIKey) -> None:
        self.key, self.found = key, time.monotonic()
        self._targets: dict[str, UpstreamTarget] = {}

    @property
    def age(self) -> float:
        """How many seconds ago it was looked up."""
        return time.monotonic() - self.found

    def target(self, protocol: str) -> UpstreamTarget:
        """The upstream of a protocol. Raises :class:`Refusal`."""
        if protocol not in self._targets:
            self._targets[protocol] = target_of(self.key.project, protocol)
        return self._targets[protocol]


class Accounts:
    """The accounts of this process, by the digest of their keys."""

    def __init__(self) -> None:
        self._known: dict[str, Account] = {}
        #: Look-ups that are under way: requests of one key that arrive together share one.
        self._looking: dict[tuple[str, asyncio.AbstractEventLoop], asyncio.Task[Account | None]] = {}

    async def find(self, digest: str, seconds: float) -> Account:
        """The account of a valid key; raises :class:`authentication.Unauthenticated`.

        If the database fails or does not answer within ``seconds``, returns the cached account until it is
        ``GATEWAY_KEY_SECONDS`` old; raises :class:`Refusal` (503) if there is none.
        """
        known = self._known.get(digest)
        if known and known.age < FRESH_SECONDS and not _is_expired(known.key):
            return known
        try:
            found = await asyncio.shield(self._look_up(digest, seconds))
        except (TimeoutError, DatabaseError):
            if known and known.age < settings.GATEWAY_KEY_SECONDS and not _is_expired(known.key):
                return known
            raise Refusal(503, UNANSWERED_MESSAGE, RETRY_SECONDS) from None
        if found is None:
            self._known.pop(digest, None)
            raise authentication.Unauthenticated
        if len(self._known) >= MAX_ACCOUNTS:
            self._known.clear()
        self._known[digest] = found
        return found

    def _look_up(self, digest: str, seconds: float) -> "asyncio.Task[Account | None]":
        """The look-up of this key that is under way, or a new one that takes at most ``seconds``."""
        key = digest, asyncio.get_running_loop()
        if key not in self._looking:
            task = self._looking[key] = asyncio.ensure_future(readers.run_within(seconds, _look_up, digest))

            def end(_: object) -> None:
                del self._looking[key]
                if not task.cancelled():
                    task.exception()  # retrieved, also if every request that waited is gone

            task.add_done_callback(end)
        return self._looking[key]


def _is_expired(key: APIKey) -> bool:
    return key.expires_at is not None and key.expires_at <= timezone.now()


def _look_up(digest: str) -> Account | None:
    key = authentication.find(digest, timezone.now())
    if key is None:
        return None
    prefetch_related_objects([key.project], "upstreams")
    return Account(key)


#: The account cache of this process.
accounts = Accounts()


async def authenticate(headers: Mapping[str, str], seconds: float, now: datetime) -> Account:
    """The account of a request's key; never waits for a write. Raises ``Refused`` or :class:`Refusal`."""
    if not (header := authentication.key_header(headers)):
        raise authentication.Unauthenticated
    account = await accounts.find(authentication.digest_of(header), seconds)
    services.enter(account.key.project.bank_id)
    limit = settings.API_REQUESTS_PER_MINUTE
    allowed, is_due = rate_limit.shares.admit(account.key, limit, now)
    if not allowed:
        raise authentication.RateLimited(limit, now)
    if is_due:
        writers.start(rate_limit.shares.reserve, account.key, limit, now)
    return account

"""Ids of objects that upstreams store: a request may name only those that an answer to the same project named.

Projects may share an upstream's key, and could otherwise read and continue each other's conversations.
"""

import time
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from hashlib import sha256
from threading import Lock
from typing import Any

from django.conf import settings
from django.db import DatabaseError, transaction

from memorybank import services
from memorybank.services import Output, PreparedQuery
from projects.tenancy import people

from ...models import APIKey, UpstreamObject
from ..protocols import Protocol, named_files
from ..refusals import Refusal
from ..request_identity import person_of
from ..upstream.targets import UpstreamTarget
from .accounts import RETRY_SECONDS
from .threads import readers

MAX_RECENT_OBJECTS = 20_000
#: The maximum of ids in one request, which one query looks up.
MAX_REFERENCES = 2_000
FILES_MESSAGE = "This gateway passes on no files that are stored at the upstream. Send the file itself."
UNANSWERED_MESSAGE = "The ids in the request cannot be checked at the moment. Try again later."
OWN = PreparedQuery(
    lambda bank, digests: UpstreamObject.objects.filter(bank=bank, digest__in=digests).values_list(
        "digest", "chat", "chat__private", "person"
    )
)


class RecentIds:
    """The digests that this process has bound or found lately for a key, and the time at which the database had them.

    They count until the database has what waits to be written, and for ``GATEWAY_KEY_SECONDS`` while it does not
    answer. The time is 0 for those that wait.
    """

    def __init__(self) -> None:
        self._written_at: OrderedDict[tuple[int, str], float] = OrderedDict()
        self._lock = Lock()

    def note(self, key_id: int, digests: Iterable[str], *, is_written: bool) -> None:
        """Keep these digests as the latest."""
        written_at = time.monotonic() if is_written else 0.0
        with self._lock:
            for digest in digests:
                self._written_at[key_id, digest] = written_at
                self._written_at.move_to_end((key_id, digest))
            while len(self._written_at) > MAX_RECENT_OBJECTS:
                self._written_at.popitem(last=False)

    def has(self, key_id: int, digest: str) -> bool:
        """Whether this key may name it, as far as this process knows without the database."""
        written_at = self._written_at.get((key_id, digest))
        return written_at is not None and (
            not written_at or time.monotonic() - written_at < settings.GATEWAY_KEY_SECONDS
        )

    def waits(self, key_id: int, digest: str) -> bool:
        """Whether it answered this key and is not written yet."""
        return self._written_at.get((key_id, digest)) == 0.0


recent = RecentIds()


def digest_of(address: str, object_id: str) -> str:
    """The digest of an id that the upstream at ``address`` gave."""
    return sha256(f"{address}\0{object_id}".encode(errors="replace")).hexdigest()


async def require_own(
    key: APIKey,
    protocol: Protocol,
    target: UpstreamTarget,
    body: dict[str, Any],
    object_id: str,
    headers: Mapping[str, str],
    seconds: float,
) -> None:
    """Raise :class:`Refusal` if the request names something at the upstream that is not known as its project's."""
    if target.is_shared and (name := next(named_files(body), "")):
        raise Refusal(400, f"{name}: {FILES_MESSAGE}")
    named = protocol.references(body) | ({object_id: "id"} if object_id else {})
    if len(named) > MAX_REFERENCES:
        raise Refusal(413, f"A request may name at most {MAX_REFERENCES:,} stored items.")
    if not named:
        return
    digests = {digest_of(target.base_url, value): field for value, field in named.items()}
    name = person_of(key, protocol, body, headers)
    try:
        known = await readers.run_within(seconds, _find_own, key, list(digests), name)
    except (TimeoutError, DatabaseError):
        if not all(recent.has(key.pk, digest) for digest in digests):
            raise Refusal(503, UNANSWERED_MESSAGE, RETRY_SECONDS) from None
        return
    for digest, field in digests.items():
        if digest not in known and not recent.waits(key.pk, digest):
            raise Refusal(404, f"{field}: this project has stored nothing under this id, or it has been erased.")


def _find_own(key: APIKey, digests: list[str], name: str) -> Collection[str]:
    """The digests of the project, without those that are not for this key and the member that it names.

    Those are of private chats, or of answers that were given with memory for one person.
    """
    rows = OWN.rows(key.project.bank_id, digests)
    closed = {chat for _, chat, is_private, _ in rows if is_private}
    if closed:
        closed -= people.readable_chats(key, name, closed)
    person = people.enter_as_named(key, name).person if any(row[3] for row in rows) else ""
    found = {digest for digest, chat, _, owner in rows if chat not in closed and owner in ("", person)}
    recent.note(key.pk, found, is_written=True)
    return found


def expect(key_id: int, address: str, ids: Iterable[str]) -> None:
    """Let this key name these ids until :func:`bind` has written them."""
    recent.note(key_id, [digest_of(address, object_id) for object_id in ids], is_written=False)


def bind(
    key: APIKey, address: str, ids: Iterable[str], output: Output | None, *, name: str = "", is_private: bool = False
) -> None:
    """Record that these ids at an upstream are of the key's project and of this turn.

    They are the named member's if the turn was given memory that not everybody may read, or continues such a turn.
    """
    bank_id, chat_id = key.project.bank_id, output.chat_id if output else None
    digests = [digest_of(address, object_id) for object_id in ids]
    person = people.enter_as_named(key, name).person if name else ""
    if person and not is_private:
        before = UpstreamObject.objects.filter(bank=bank_id, chat=chat_id, person=person)
        person = person if chat_id and before.exists() else ""
    rows = [
        UpstreamObject(bank_id=bank_id, digest=digest, chat_id=chat_id, output=output, person=person)
        for digest in digests
    ]
    services.insert(rows, ignore_conflicts=True)
    transaction.on_commit(partial(recent.note, key.pk, digests, is_written=True))


def bind_conversation(bank_id: int, address: str, conversation: str, chat_id: int) -> None:
    """Record which chat the upstream's conversation is, so that it is forgotten with the chat."""
    known = UpstreamObject.objects.filter(bank=bank_id, digest=digest_of(address, conversation))
    known.filter(chat=None).update(chat=chat_id)


def find_turn(bank_id: int, address: str, object_id: str) -> Output | None:
    """The turn whose answer the upstream stores under this id."""
    rows = UpstreamObject.objects.filter(bank=bank_id, digest=digest_of(address, object_id))
    stored = rows.select_related("output__chat").first()
    return stored.output if stored else None

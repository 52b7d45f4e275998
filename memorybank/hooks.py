"""Call the outer application through its settings: report a change, start a task, get trusted authors."""

import logging
from collections.abc import Collection, Sequence
from enum import StrEnum

from django.db import transaction
from django.utils.module_loading import import_string

from memorybank import conf

logger = logging.getLogger(__name__)


class Change(StrEnum):
    """The kind of a change; each comment names the objects whose ids ``on_change`` receives."""

    #: Entries: a summary was written or extended.
    ENTRY_WRITTEN = "entry.written"
    #: Facts: a line was quarantined until a person reviews it.
    LINE_HELD_BACK = "line.held_back"
    #: Receipts: something was erased.
    ERASED = "memory.erased"
    #: Chats: summarising a chat failed repeatedly because of its content.
    CHAT_PARKED = "chat.parked"
    #: Erasure requests: a person asked in a chat to have something erased; the owners decide.
    ERASURE_REQUESTED = "erasure.requested"
    #: Banks: a bank has spent most (CAP_NEAR) or all (CAP_REACHED) of its monthly cap.
    CAP_NEAR = "cap.near"
    CAP_REACHED = "cap.reached"


def notify(bank_id: int, change: Change, ids: Sequence[int]) -> None:
    """Call ``on_change`` in the caller's transaction, so that its writes commit or roll back with the change."""
    path = conf.current().on_change
    if path and ids:
        import_string(path)(bank_id, change, ids)


def trusted_authors(bank_id: int) -> Collection[str]:
    """The authors of a bank who may state as a fact what other people act on; without the setting, nobody."""
    path = conf.current().trusted_authors
    authors: Collection[str] = import_string(path)(bank_id) if path else ()
    return authors


def send_task(name: str, *args: object) -> None:
    """Send a task's message once the transaction commits. If sending fails, the next sweep finds the work."""
    if path := conf.current().send_task:
        transaction.on_commit(lambda: _send(path, name, args))


def _send(path: str, name: str, args: Sequence[object]) -> None:
    try:
        import_string(path)(name, *args)
    except Exception as error:  # every broker library raises its own exceptions
        logger.warning("%s was not sent: %s", name, type(error).__name__)

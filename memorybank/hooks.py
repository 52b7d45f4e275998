"""Tell the outer application that memory changed, and have a task started, by the functions that its settings name."""

import logging
from collections.abc import Sequence
from enum import StrEnum

from django.db import transaction
from django.utils.module_loading import import_string

from memorybank import conf

logger = logging.getLogger(__name__)


class Change(StrEnum):
    """What happened, and what the ids are that it comes with."""

    #: A summary was written or extended: entries.
    ENTRY_WRITTEN = "entry.written"
    #: A line was quarantined until a person reviews it: facts.
    LINE_HELD_BACK = "line.held_back"
    #: Something was erased: receipts.
    ERASED = "memory.erased"
    #: A chat's own content failed repeatedly: chats.
    CHAT_PARKED = "chat.parked"
    #: Somebody asked in a chat to have something forgotten, and the owners decide: requests.
    ERASURE_REQUESTED = "erasure.requested"
    #: A bank has spent most of its monthly cap, or all of it: banks.
    CAP_NEAR = "cap.near"
    CAP_REACHED = "cap.reached"


def notify(bank_id: int, change: Change, ids: Sequence[int]) -> None:
    """Call the application in the caller's transaction, so that what it writes is written with the change or not."""
    path = conf.current().on_change
    if path and ids:
        import_string(path)(bank_id, change, ids)


def send_task(name: str) -> None:
    """Send a task's message after the transaction. If it cannot be sent, the next sweep finds the work."""
    if path := conf.current().send_task:
        transaction.on_commit(lambda: _send(path, name))


def _send(path: str, name: str) -> None:
    try:
        import_string(path)(name)
    except Exception as error:  # each broker has its own errors
        logger.warning("%s was not sent: %s", name, type(error).__name__)

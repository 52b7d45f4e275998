"""Choose the next work item, fairly between banks, at a cost that does not grow with the queue.

Banks with due chats form a queue. One chat of the first bank is summarised, then the bank moves to the end. Nothing is
claimed here: a worker takes the lease of its chat or bank, and a worker that comes too late takes the next item.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, F, Max, QuerySet

from memorybank import conf
from memorybank.indexing import document_writer, embedding
from memorybank.model_calls import session
from memorybank.models import Bank, Chat, Sweep
from memorybank.models.chat import ChatQuerySet


@dataclass(frozen=True, slots=True)
class DueWork:
    """The kinds of work that are due."""

    chats: bool
    banks: bool
    capped: bool
    expiring: bool
    unindexed: bool
    unembedded: bool


def look(now: datetime) -> DueWork:
    """Ask for all kinds of work in one query, whose parts each read an index of waiting rows.

    A sweep must have been noted, because the query reads its row.
    """
    kinds: dict[str, QuerySet[Any]] = {
        "chats": Chat.objects.due(now),
        "banks": Bank.objects.due_for_consolidation(now).not_recent(now),
        "capped": Bank.objects.capped(),
        "expiring": Bank.objects.expiring(now),
        "unindexed": document_writer.waiting(),
        "unembedded": embedding.waiting(),
    }
    found: dict[str, Any] = {**Sweep.objects.values(**{kind: Exists(rows) for kind, rows in kinds.items()}).get()}
    return DueWork(**found)


def next_bank(now: datetime) -> int | None:
    """The bank to consolidate next: the rested bank that was consolidated longest ago."""
    longest_ago = F("consolidated_at").asc(nulls_first=True)
    rested = Bank.objects.due_for_consolidation(now).not_recent(now).order_by(longest_ago, "consolidate_at", "pk")
    return rested.values_list("pk", flat=True).first()


def next_chat(now: datetime, *, bank: Bank | None = None, exclude: Collection[int] = ()) -> int | None:
    """The chat to summarise next, of all banks or of one, but none of ``exclude``.

    Chats that failed come last: after an outage, the first chat shows whether the model works again.
    """
    # Two queries instead of one sorted query: an index answers each, however many chats wait.
    due = _due(now).exclude(pk__in=exclude) if exclude else _due(now)
    if bank:
        due = due.filter(bank=bank)
        return _first(due.untried()) or _first(due.tried())
    return _next_queued(due.untried()) or _first(due.tried())


def _due(now: datetime) -> ChatQuerySet:
    """The due chats; while the model backs off, only those with new turns, which are extracted meanwhile."""
    due = Chat.objects.due(now)
    return due.filter(pending_outputs__gt=0) if session.current_outage(now=now) else due


def _next_queued(due: ChatQuerySet) -> int | None:
    while True:
        # A bank may have no due chat left since it queued up: then it leaves the queue and the next one is served.
        while (bank := Bank.objects.rotate_first()) is not None:
            if chat_id := _first(due.filter(bank=bank)):
                return chat_id
            Bank.objects.dequeue(bank)
        # The queue may be empty because no worker has filled it since chats fell due, or because one is filling it now.
        if not due.exists():
            return None
        _queue_banks(due)


def _first(chats: ChatQuerySet) -> int | None:
    return chats.values_list("pk", flat=True).first()


def queue_due_banks(now: datetime) -> bool:
    """Queue the banks with chats that have fallen due; return False if there is none that can be summarised now."""
    due = _due(now)
    _queue_banks(due.untried())
    return due.exists()


def due_banks(now: datetime, bank: Bank | None = None) -> list[int]:
    """Ids of the banks whose entries or block may need work now, rested or not."""
    banks = Bank.objects.due_for_consolidation(now)
    return list((banks.filter(pk=bank.pk) if bank else banks).values_list("pk", flat=True))


def seconds_until_rested(now: datetime) -> float | None:
    """Seconds until every due bank may be consolidated; None if none is due."""
    rest = timedelta(seconds=conf.current().refresh_seconds)
    waiting = Bank.objects.filter(enabled=True, consolidate_at__lte=now).order_by()
    last: datetime | None = waiting.aggregate(last=Max("consolidated_at"))["last"]
    if last is None:
        return 0.0 if waiting.exists() else None
    # If the clock was set back, no bank may wait longer than one rest.
    return max(timedelta(), min(last + rest - now, rest)).total_seconds()


def _queue_banks(due: ChatQuerySet) -> None:
    """Add the banks of these chats to the queue unless they are in it."""
    Bank.objects.filter(pk__in=due.filter(bank__queue_position=None).order_by().values("bank")).enqueue()

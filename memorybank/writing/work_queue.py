"""What to work on next: one piece at a time, fair between banks, at a price that does not grow with what waits.

Banks with due chats stand in line. The first one gets one of its chats done and goes to the end. Nothing
is claimed here: who works on a chat or a bank takes its lease, and who comes too late takes the next piece.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db.models import F, Max

from memorybank import conf
from memorybank.model_calls import session
from memorybank.models import Bank, Chat
from memorybank.models.chat import ChatQuerySet


def next_bank(now: datetime) -> int | None:
    """The bank to settle next: of those that have rested since, the one that was settled the longest ago."""
    longest_ago = F("settled_at").asc(nulls_first=True)
    rested = Bank.objects.compressible(now).rested(now).order_by(longest_ago, "compress_at", "pk")
    return rested.values_list("pk", flat=True).first()


def next_chat(now: datetime, *, bank: Bank | None = None, but: Collection[int] = ()) -> int | None:
    """The chat to summarise next, of all banks or of one; none while the model backs off. ``but`` is left out.

    Chats that failed come last of all: after an outage, the first chat shows whether the model is well again.
    """
    if session.outage(now=now):
        return None
    # Two looks instead of one sorted query: each is answered by an index, however many chats wait.
    due = Chat.objects.due(now).exclude(pk__in=but) if but else Chat.objects.due(now)
    if bank:
        due = due.filter(bank=bank)
        return _first(due.untried()) or _first(due.tried())
    return _next_in_line(due.untried()) or _first(due.tried())


def _next_in_line(due: ChatQuerySet) -> int | None:
    while True:
        # Somebody may have worked off a bank since it lined up: then it leaves the line and the next one is served.
        while (bank := Bank.objects.serve()) is not None:
            if chat_id := _first(due.filter(bank=bank)):
                return chat_id
            Bank.objects.leave(bank)
        # An empty line may be one that nobody has filled since chats fell due, or that somebody is filling just now.
        if not due.exists():
            return None
        _line_up(due)


def _first(chats: ChatQuerySet) -> int | None:
    return chats.values_list("pk", flat=True).first()


def waits(now: datetime) -> bool:
    """Whether there is anything to do. Lines up the banks with chats that have fallen due."""
    return _chats_wait(now) or Bank.objects.compressible(now).rested(now).exists()


def _chats_wait(now: datetime) -> bool:
    due = Chat.objects.due(now)
    if session.outage(now=now) or not due.exists():
        return False
    _line_up(due.untried())
    return True


def unsettled(now: datetime, bank: Bank | None = None) -> list[int]:
    """Ids of the banks whose ladder or block may need work now, rested or not."""
    banks = Bank.objects.compressible(now)
    return list((banks.filter(pk=bank.pk) if bank else banks).values_list("pk", flat=True))


def until_rested(now: datetime) -> float | None:
    """Seconds until every bank that waits to be settled may be; None if none waits."""
    rest = timedelta(seconds=conf.current().refresh_seconds)
    waiting = Bank.objects.filter(enabled=True, compress_at__lte=now).order_by()
    last: datetime | None = waiting.aggregate(last=Max("settled_at"))["last"]
    if last is None:
        return 0.0 if waiting.exists() else None
    # A clock that was put back must not make anybody rest for longer than one rest.
    return max(timedelta(), min(last + rest - now, rest)).total_seconds()


def _line_up(due: ChatQuerySet) -> None:
    """Have the banks come to the line that have such chats and do not stand in it."""
    Bank.objects.filter(pk__in=due.filter(bank__turn=None).order_by().values("bank")).line_up()

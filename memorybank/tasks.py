"""Celery's side: when workers begin, go on and end. The database says what is due; a lost message costs a minute."""

import mmap
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, cast

from celery import Task, shared_task
from celery.signals import worker_init, worker_shutting_down
from celery.utils.time import maybe_iso8601
from django.db import connections
from django.utils import timezone

from memorybank import conf, llm, worker
from memorybank.indexing import document_writer, embedding
from memorybank.language import tokens
from memorybank.model_calls import budget_cap
from memorybank.model_calls.gate import ModelGate
from memorybank.models import Bank, BankDay, Sweep
from memorybank.safety.redaction import redact
from memorybank.writing import work_queue

# No retries here: a failure backs off in the database, and is due again when that is over.
#: After so long at work a worker looks whether there are other messages, and goes on if there are none.
SHIFT_SECONDS = 10
#: A thread that waited for the database or the model goes on at once, not after its neighbour's 5 ms, each time.
SWITCH_SECONDS = 0.0005

#: Whether the worker was told to end. In memory that its child processes share.
_ending = mmap.mmap(-1, 1)


@worker_init.connect
def _load(**_: Any) -> None:
    """What takes seconds to load is loaded before the worker forks, once, and shared by its processes."""
    sys.setswitchinterval(SWITCH_SECONDS)
    redact("")
    tokens.count("", conf.current().encoding)
    if model := llm.get("summary"):
        model.load()


@worker_shutting_down.connect
def _end(**_: Any) -> None:
    _ending[0] = 1


@shared_task(bind=True)
def sweep(self: "Task[Any, Any]") -> None:
    """Start a worker if anything is due. Harmless when run twice at once: leases decide who does the work."""
    now = timezone.now()
    Sweep.objects.note(now)
    BankDay.objects.note_due(now)
    budget_cap.resume_below_cap(now)
    expires = max(_expiry(self), now + _until_the_next())
    if Bank.objects.expiring(now).exists():
        expire.apply_async((), expires=expires)
    if document_writer.due() or embedding.is_due():
        index.apply_async((), expires=expires)
    if work_queue.waits(now):
        work.apply_async((), expires=expires)


@shared_task(bind=True)
def work(self: "Task[Any, Any]") -> None:
    """Do the next piece of work, and again the next, until nothing is due or others should have a turn.

    Whoever finds something to do first sends this message on, for whoever is idle. So every worker is at work
    while there is any, and of each sweep's message no more than one waits: it expires when the sweep's does.
    """
    until = time.monotonic() + SHIFT_SECONDS
    slot = ModelGate(patience=conf.current().lease_seconds / 10, ends=_ends)
    shift = worker.Shift(slot)
    piece = shift.next(timezone.now())
    if piece is None or _ends():
        return
    work.apply_async((), expires=_expiry(self))
    waits = bool(llm.get("summary")) and not self.request.is_eager  # else there is nothing to do meanwhile
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="lane") as pool:
        beside = pool.submit(_second_lane, slot, until) if waits else None
        last = _lane(shift, slot, piece, until)
    if (beside and beside.result()) or last:
        _settle_soon()


def _lane(shift: worker.Shift, slot: ModelGate, piece: worker.Piece | None, until: float) -> bool:
    """Do the piece, and go on with the next; whether something was done and nothing more is to do."""
    done = False
    while piece and time.monotonic() < until and not slot.is_shut():
        shift.do(piece, now=timezone.now())
        done = True
        piece = shift.next(timezone.now())
    return done and (piece is None or _ends())


def _second_lane(slot: ModelGate, until: float) -> bool:
    """A lane in a thread of its own, with a connection of its own."""
    shift = worker.Shift(slot, settles=False)
    try:
        return _lane(shift, slot, shift.next(timezone.now()), until)
    finally:
        connections.close_all()


def _ends() -> bool:
    return bool(_ending[0])


@shared_task
def index() -> None:
    """Index the turns that wait, and embed them if there is a model. Run twice at once, one of the two does it."""
    worker.index(now=timezone.now())


@shared_task
def expire() -> None:
    """Delete what is too old. Run twice at once, one of the two does it."""
    worker.expire(now=timezone.now())


def _expiry(task: "Task[Any, Any]") -> datetime:
    """When the message of ``task`` expires, and with it what it sends."""
    given = cast("str | datetime | None", task.request.expires)  # its declared type is wrong
    return maybe_iso8601(given) or timezone.now() + _until_the_next()


def _until_the_next() -> timedelta:
    """The time between sweeps: what no worker took until the next one is dropped, because that sends it anew."""
    return timedelta(seconds=conf.current().sweep_seconds)


def _settle_soon() -> None:
    """Have the banks settled that must rest a little after the last time, now that nothing else is due."""
    wait = work_queue.until_rested(timezone.now())
    if wait is not None:
        work.apply_async((), countdown=wait, expires=wait + conf.current().sweep_seconds)

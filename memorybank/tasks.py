"""Celery tasks: sweep, work, index, expire. The database says what is due, so a lost message costs only a minute."""

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

from memorybank import bank_scope, conf, llm, worker
from memorybank.indexing import document_writer, embedding
from memorybank.language import tokens
from memorybank.model_calls import budget_cap
from memorybank.model_calls.gate import ModelGate
from memorybank.models import Bank, BankDay, Sweep
from memorybank.safety.redaction import redact
from memorybank.writing import work_queue

# A task ends after this time, so that other messages get a turn; it has sent its own message again.
MAX_TASK_SECONDS = 10
#: Python's switch interval: a thread that waited for the database or the model need not wait 5 ms more each time.
THREAD_SWITCH_SECONDS = 0.0005

#: Whether the worker is shutting down; in memory shared by its child processes.
_shutdown_flag = mmap.mmap(-1, 1)


@worker_init.connect
def _preload(**_: Any) -> None:
    """Load what takes seconds to load before the worker forks: once, and shared by its processes."""
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    redact("")
    tokens.count("", conf.current().encoding)
    if model := llm.get("summary"):
        model.load()


@worker_shutting_down.connect
def _note_shutdown(**_: Any) -> None:
    _shutdown_flag[0] = 1


@shared_task(bind=True)
@bank_scope.every_bank()
def sweep(self: "Task[Any, Any]") -> None:
    """Start a worker if anything is due. Harmless if it runs twice at once: leases decide who does the work."""
    now = timezone.now()
    Sweep.objects.note(now)
    BankDay.objects.note_due(now)
    budget_cap.resume_below_cap(now)
    expires = max(_expiry(self), now + _sweep_interval())
    if Bank.objects.expiring(now).exists():
        expire.apply_async((), expires=expires)
    if document_writer.due() or embedding.is_due():
        index.apply_async((), expires=expires)
    if work_queue.has_work(now):
        work.apply_async((), expires=expires)


@shared_task(bind=True)
@bank_scope.every_bank()
def work(self: "Task[Any, Any]") -> None:
    """Do one work item after another, until nothing is due or other messages should have a turn.

    A worker that finds work first sends the message again, for an idle worker. So all workers are busy while there is
    work, and at most one message of each sweep waits: it expires when the sweep's does.
    """
    until = time.monotonic() + MAX_TASK_SECONDS
    gate = ModelGate(patience=conf.current().lease_seconds / 10, ends=_is_shutting_down)
    loop = worker.WorkLoop(gate)
    item = loop.next(timezone.now())
    if item is None or _is_shutting_down():
        return
    work.apply_async((), expires=_expiry(self))
    has_model = bool(llm.get("summary")) and not self.request.is_eager  # a second thread works while the model answers
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="beside") as pool:
        beside = pool.submit(_work_beside, gate, until) if has_model else None
        is_done = _work_until(loop, gate, item, until)
    if (beside and beside.result()) or is_done:
        _schedule_consolidation()


def _work_until(loop: worker.WorkLoop, gate: ModelGate, item: worker.WorkItem | None, until: float) -> bool:
    """Do the item and the ones after it; whether something was done and nothing is left to do."""
    done = False
    while item and time.monotonic() < until and not gate.is_shut():
        loop.do(item, now=timezone.now())
        done = True
        item = loop.next(timezone.now())
    return done and (item is None or _is_shutting_down())


@bank_scope.every_bank()
def _work_beside(gate: ModelGate, until: float) -> bool:
    """Work in a second thread, with its own database connection."""
    loop = worker.WorkLoop(gate, consolidates=False)
    try:
        return _work_until(loop, gate, loop.next(timezone.now()), until)
    finally:
        connections.close_all()


def _is_shutting_down() -> bool:
    return bool(_shutdown_flag[0])


@shared_task
@bank_scope.every_bank()
def index() -> None:
    """Index the pending turns, and embed them if there is a model. If two run at once, one does the work."""
    worker.index(now=timezone.now())


@shared_task
@bank_scope.every_bank()
def expire() -> None:
    """Delete what has passed its retention period. If two run at once, one does the work."""
    worker.expire(now=timezone.now())


def _expiry(task: "Task[Any, Any]") -> datetime:
    """When the message of ``task`` expires, and with it the messages it sends."""
    expires = cast("str | datetime | None", task.request.expires)  # its declared type is wrong
    return maybe_iso8601(expires) or timezone.now() + _sweep_interval()


def _sweep_interval() -> timedelta:
    """The time between sweeps. A message that no worker took by then is dropped: the next sweep sends it again."""
    return timedelta(seconds=conf.current().sweep_seconds)


def _schedule_consolidation() -> None:
    """Schedule the banks that still have to rest, now that nothing else is due."""
    wait = work_queue.seconds_until_rested(timezone.now())
    if wait is not None:
        work.apply_async((), countdown=wait, expires=wait + conf.current().sweep_seconds)

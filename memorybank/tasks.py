"""Celery tasks: sweep, work, index, expire, title. The database records what is due: a lost message costs a minute.

Except for a title: if its message is lost, the chat keeps its first title.
"""

import logging
import mmap
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import datetime, timedelta
from typing import Any, cast

from celery import Task, shared_task
from celery.signals import worker_init, worker_shutting_down
from celery.utils.time import maybe_iso8601
from django.db import connections
from django.utils import timezone

from memorybank import bank_scope, conf, llm, worker
from memorybank.compaction import titling
from memorybank.exceptions import LLMError, describe
from memorybank.language import tokens
from memorybank.model_calls import budget_cap
from memorybank.model_calls.gate import ModelGate
from memorybank.models import Bank, BankDay, Sweep
from memorybank.safety.redaction import redact
from memorybank.writing import work_queue

logger = logging.getLogger(__name__)

# A task ends after this time, so that other tasks can run; it has already sent the message for its continuation.
MAX_TASK_SECONDS = 10
#: Python's thread switch interval. With the default, a thread may wait another 5 ms after each I/O wait.
THREAD_SWITCH_SECONDS = 0.0005

#: Whether the worker is shutting down. Stored in memory that its child processes share.
_shutdown_flag = mmap.mmap(-1, 1)


@worker_init.connect
def _preload(**_: Any) -> None:
    """Load slow modules and models before the worker forks, so that its processes share them."""
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    redact("")
    tokens.count("", conf.current().encoding)
    if model := llm.get("summary"):
        model.load()


@worker_shutting_down.connect
def _note_shutdown(**_: Any) -> None:
    _shutdown_flag[0] = 1


@shared_task(bind=True)
@bank_scope.all_banks_entered()
def sweep(self: "Task[Any, Any]") -> None:
    """Send a message for each kind of work that is due. Sweeps may overlap: leases prevent double work."""
    now = timezone.now()
    Sweep.objects.record_start(now)
    due = work_queue.look(now)
    if due.capped and budget_cap.resume_below_cap(now):
        due = work_queue.look(now)
    expires = max(_expiry(self), now + _sweep_interval())
    if due.expiring:
        expire.apply_async((), expires=expires)
    if due.unindexed or due.unembedded:
        index.apply_async((), expires=expires)
    if due.chats:
        BankDay.objects.record_due_chats(now)
    if (due.chats and work_queue.queue_due_banks(now)) or due.banks:
        work.apply_async((), expires=expires)


@shared_task(bind=True)
@bank_scope.all_banks_entered()
def work(self: "Task[Any, Any]") -> None:
    """Do one work item after another, until nothing is due or ``MAX_TASK_SECONDS`` have passed.

    A task that finds work first sends its message again, for an idle worker. So all workers are busy while there is
    work, and at most one message per sweep is waiting. It expires at the same time as the sweep's own message.
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
        beside = pool.submit(copy_context().run, _work_beside, gate, until) if has_model else None
        is_done = _work_until(loop, gate, item, until)
    if (beside and beside.result()) or is_done:
        _schedule_consolidation()


def _work_until(loop: worker.WorkLoop, gate: ModelGate, item: worker.WorkItem | None, until: float) -> bool:
    """Do this and further items; return whether any was done and none is left (or the worker shuts down)."""
    done = False
    while item and time.monotonic() < until and not gate.is_shut():
        loop.do(item, now=timezone.now())
        done = True
        item = loop.next(timezone.now())
    return done and (item is None or _is_shutting_down())


@bank_scope.all_banks_entered()
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
@bank_scope.all_banks_entered()
def index() -> None:
    """Index the pending turns, and embed them if there is a model. Of concurrent runs, only one does the work."""
    worker.index(now=timezone.now())


@shared_task
@bank_scope.all_banks_entered()
def improve_title(output: int) -> None:
    """Have the chat model write a better title for the chat of this turn. If that fails, the chat keeps its title."""
    bank = Bank.objects.filter(chats__outputs=output).first()
    try:
        if bank:
            titling.improve_title(bank, output=output)
    except LLMError as error:
        logger.info("output %s: no better title: %s", output, describe(error))


@shared_task
@bank_scope.all_banks_entered()
def expire() -> None:
    """Delete data that has passed its retention period. Of concurrent runs, only one does the work."""
    worker.expire(now=timezone.now())


def _expiry(task: "Task[Any, Any]") -> datetime:
    """When the message of ``task`` expires, and with it the messages that the task sends."""
    expires = cast("str | datetime | None", task.request.expires)  # its declared type is wrong
    return maybe_iso8601(expires) or timezone.now() + _sweep_interval()


def _sweep_interval() -> timedelta:
    """The time between sweeps. Messages expire after it, because the next sweep sends them again."""
    return timedelta(seconds=conf.current().sweep_seconds)


def _schedule_consolidation() -> None:
    """Schedule the banks that were consolidated too recently; called when nothing else is due."""
    wait = work_queue.seconds_until_rested(timezone.now())
    if wait is not None:
        work.apply_async((), countdown=wait, expires=wait + conf.current().sweep_seconds)

"""Execute due work: all of it in the foreground (``run``), or item by item in a worker (``WorkLoop``)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Sum
from django.utils import timezone

from memorybank import bank_scope
from memorybank.clock import PRESENT, at_present
from memorybank.core.reports import RunReport
from memorybank.erasure import retention
from memorybank.exceptions import LLMError, LLMRejected, log_message
from memorybank.indexing import block_writer, document_writer, embedding
from memorybank.llm import tracing
from memorybank.model_calls import budget_cap
from memorybank.model_calls import gate as slot
from memorybank.model_calls.gate import ModelGate
from memorybank.models import Bank, BankDay, Chat, LLMCall, Sweep
from memorybank.writing import jobs, rollup, summarising, work_queue

logger = logging.getLogger(__name__)

#: Minimum time between two consolidations by a worker while chats are due. Without it, a worker would do little but
#: consolidate when many banks are busy.
MIN_CONSOLIDATION_INTERVAL = timedelta(seconds=2)


def consolidate(bank_id: int, *, now: datetime, at_once: bool = True) -> int:
    """Roll up the due periods of a bank, then store its block, even if the model failed halfway.

    Returns the number of digests written. Returns 0 and does nothing if another worker was faster, or, unless
    ``at_once``, if the bank was consolidated less than ``refresh_seconds`` ago.
    """
    with bank_scope.banks_entered(bank_id):
        return _consolidate_inside(bank_id, now, at_once=at_once)


def _consolidate_inside(bank_id: int, now: datetime, *, at_once: bool) -> int:
    due = Bank.objects.due_for_consolidation(now)
    if not at_once:
        due = due.not_recent(now)
    if not due.filter(pk=bank_id).update(consolidated_at=now):
        return 0
    try:
        rolled_up = rollup.roll_up(bank_id, now=now)
    finally:
        block_writer.refresh(bank_id, now=now)
    jobs.after_consolidation(bank_id, now)
    return rolled_up


@at_present
def summarise_now(bank: Bank, *, chat_key: str, now: datetime = PRESENT) -> RunReport:
    """Summarise the pending turns of one chat, idle or not, and bring the bank up to date.

    Raises ``Chat.DoesNotExist``, and :class:`LLMError` if the model fails.
    """
    started, first_call = time.monotonic(), _last_call_id()
    chat = Chat.objects.get(bank=bank, key=chat_key)
    leaf = summarising.summarise_chat(chat.pk, now=now, even_if_busy=True)
    report = RunReport(summarised=int(leaf is not None), rolled_up=consolidate(bank.pk, now=now))
    return _complete_report(report, started, first_call, bank, now)


def run(
    *,
    bank: Bank | None = None,
    until_idle: bool = False,
    now: datetime | None = None,
    progress: Callable[[RunReport], None] | None = None,
) -> RunReport:
    """Do the work of beat and the workers in the foreground, for one bank or all: one sweep, or until nothing is due.

    Without ``now`` and ``bank`` it is recorded as a sweep, like those that beat starts.
    """
    if now is None:
        now = timezone.now()
        if bank is None:
            Sweep.objects.record_start(now)
            BankDay.objects.record_due_chats(now)
    started, first_call, report = time.monotonic(), _last_call_id(), RunReport()
    while _sweep(report, now, bank, progress) and until_idle:
        pass
    return _complete_report(report, started, first_call, bank, now)


def run_due(*, now: datetime) -> RunReport:
    """Like :func:`run` with ``until_idle``, but cheap if nothing is due."""
    if Chat.objects.due(now).exists() or Bank.objects.due_for_consolidation(now).exists():
        return run(until_idle=True, now=now)
    return RunReport(parked=Chat.objects.parked().count())


@dataclass(frozen=True, slots=True)
class WorkItem:
    """A chat to summarise, or a bank to consolidate."""

    chat_id: int = 0
    bank_id: int = 0


@dataclass(slots=True)
class WorkLoop:
    """One thread of a worker: it does one work item after another until nothing is due."""

    gate: ModelGate | None = None  # shared by the threads of a worker
    consolidates: bool = True  # whether to consolidate banks between chats; one thread of a worker does
    report: RunReport = field(default_factory=RunReport)
    futile: set[int] = field(default_factory=set)
    banks_checked_at: datetime | None = None

    def next(self, now: datetime) -> WorkItem | None:
        """The next work item, not claimed yet: a chat, now and then a bank, and banks only once no chat is due."""
        checked = self.banks_checked_at
        if self.consolidates and (not checked or not timedelta() <= now - checked < MIN_CONSOLIDATION_INTERVAL):
            self.banks_checked_at = now
            if bank_id := work_queue.next_bank(now):
                return WorkItem(bank_id=bank_id)
        if chat_id := work_queue.next_chat(now, exclude=self.futile):
            return WorkItem(chat_id=chat_id)
        bank_id = work_queue.next_bank(now)
        return WorkItem(bank_id=bank_id) if bank_id else None

    def do(self, item: WorkItem, *, now: datetime) -> None:
        """Do the item, unless another worker has taken it. Failures are logged and reported, not raised."""
        with slot.use_gate(self.gate):
            if item.chat_id:
                _summarise(self.report, item.chat_id, now, self.futile)
            else:
                _consolidate(self.report, item.bank_id, now, at_once=False)


def _sweep(report: RunReport, now: datetime, bank: Bank | None, progress: Callable[[RunReport], None] | None) -> bool:
    """Run one sweep; return whether it did or failed at something, so that another sweep may find more work."""
    before = (report.summarised, report.rolled_up, report.failed)
    budget_cap.resume_below_cap(now)
    expire(bank, now=now)
    indexed = index(bank, now=now, report=report)
    futile: set[int] = set()
    while chat_id := work_queue.next_chat(now, bank=bank, exclude=futile):
        _summarise(report, chat_id, now, futile)
        if progress:
            progress(report)
    for bank_id in work_queue.due_banks(now, bank):
        _consolidate(report, bank_id, now)
        if progress:
            progress(report)
    return indexed > 0 or (report.summarised, report.rolled_up, report.failed) != before


def expire(bank: Bank | None = None, *, now: datetime) -> None:
    """Delete data that has passed its retention period, in one bank or all. Failures are logged, not raised."""
    due = Bank.objects.expiring(now)
    for bank_id in list((due.filter(pk=bank.pk) if bank else due).values_list("pk", flat=True)):
        try:
            with bank_scope.banks_entered(bank_id):
                retention.expire(bank_id, now=now)
        except Exception as error:
            logger.error("bank %s: retention: %s", bank_id, log_message(error))


def index(bank: Bank | None = None, *, now: datetime, report: RunReport | None = None) -> int:
    """Index the pending turns, and embed them if there is a model; return how many. Failures are logged, not raised."""
    done = 0
    for chat_id in document_writer.due(bank):
        try:
            done += document_writer.index_chat(chat_id)
        except Exception as error:
            logger.error("chat %s: indexing: %s", chat_id, log_message(error))
    try:
        done += embedding.embed_due(now=now, bank=bank)
    except LLMError as error:
        logger.warning("embedding waits: %s", error)
        if report:
            report.failed += 1
    return done


def _summarise(report: RunReport, chat_id: int, now: datetime, futile: set[int]) -> None:
    """Summarise one chat. If it would stay due unchanged, add it to ``futile``, so that this run skips it."""
    try:
        with tracing.span("summarise", chat=chat_id):
            leaf = summarising.summarise_chat(chat_id, now=now)
        if leaf:
            report.summarised += 1
        else:
            futile.add(chat_id)
    except LLMRejected as error:
        report.failed += 1
        logger.warning("chat %s: %s", chat_id, error)
    except LLMError as error:
        report.failed += 1
        logger.warning("chat %s waits: %s", chat_id, error)
    except Exception as error:  # one chat's failure must not delay another
        report.failed += 1
        futile.add(chat_id)
        logger.error("chat %s: %s", chat_id, log_message(error))
    jobs.after_chat(chat_id, now)


def _consolidate(report: RunReport, bank_id: int, now: datetime, *, at_once: bool = True) -> None:
    try:
        with tracing.span("consolidate", bank=bank_id):
            report.rolled_up += consolidate(bank_id, now=now, at_once=at_once)
    except LLMError as error:
        report.failed += 1
        logger.warning("bank %s: roll-up waits: %s", bank_id, error)
    except Exception as error:
        report.failed += 1
        logger.error("bank %s: %s", bank_id, log_message(error))


def _last_call_id() -> int:
    """The id of the newest call in the ledger; 0 if it is empty."""
    return LLMCall.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def _complete_report(report: RunReport, started: float, first_call: int, bank: Bank | None, now: datetime) -> RunReport:
    """Add costs, duration and remaining work to the report."""
    _add_costs(report, first_call, bank)
    chats = Chat.objects.filter(bank=bank) if bank else Chat.objects.all()
    report.parked, report.due = chats.parked().count(), chats.due(now).count()
    report.seconds = round(time.monotonic() - started, 3)
    return report


def _add_costs(report: RunReport, first_call: int, bank: Bank | None) -> None:
    calls = LLMCall.objects.filter(pk__gt=first_call)
    calls = (calls.filter(bank=bank) if bank else calls).exclude(purpose=LLMCall.Purpose.EMBEDDING)
    sums = calls.aggregate(prompt=Sum("prompt_tokens"), completion=Sum("completion_tokens"))
    report.llm_calls = calls.count()
    report.prompt_tokens, report.completion_tokens = sums["prompt"] or 0, sums["completion"] or 0

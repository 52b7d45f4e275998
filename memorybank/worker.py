"""Doing what is due: all of it in the foreground, or piece by piece as a worker does."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Sum
from django.utils import timezone

from memorybank.clock import PRESENT, at_present
from memorybank.core.reports import RunReport
from memorybank.erasure import retention
from memorybank.exceptions import LLMError, LLMRejected, log_message
from memorybank.indexing import block_writer, document_writer, embedding
from memorybank.model_calls import budget_cap
from memorybank.model_calls import gate as slot
from memorybank.model_calls.gate import ModelGate
from memorybank.models import Bank, BankDay, Chat, Job, LLMCall, Sweep
from memorybank.writing import jobs, rollup, summarising, work_queue

logger = logging.getLogger(__name__)

#: A worker that has chats to do settles a bank in between no oftener than this, however many have changed: else
#: with many busy banks it would do little else.
EVERY = timedelta(seconds=2)


def settle(bank_id: int, *, now: datetime, at_once: bool = True) -> int:
    """Roll up what is ripe, and store the block as it is then, even if the model failed half-way.

    Nothing to do (0) if another worker has settled it since it was found due, or if it must rest, unless ``at_once``.
    """
    due = Bank.objects.compressible(now) if at_once else Bank.objects.compressible(now).rested(now)
    if not due.filter(pk=bank_id).update(settled_at=now):
        return 0
    try:
        rolled_up = rollup.compress(bank_id, now=now)
    finally:
        block_writer.refresh(bank_id, now=now)
    jobs.note(Job.objects.filter(bank=bank_id), now, settled=True)
    return rolled_up


@at_present
def summarise_now(bank: Bank, *, chat_key: str, now: datetime = PRESENT) -> RunReport:
    """Summarise what waits in one chat, idle or not, and bring the bank up to date."""
    started, ledger_from = time.monotonic(), _last_call()
    chat = Chat.objects.get(bank=bank, key=chat_key)
    leaf = summarising.summarise_chat(chat.pk, now=now, even_if_busy=True)
    report = RunReport(summarised=int(leaf is not None), rolled_up=settle(bank.pk, now=now))
    return _finished(report, started, ledger_from, bank, now)


def run(
    *,
    bank: Bank | None = None,
    until_idle: bool = False,
    now: datetime | None = None,
    progress: Callable[[RunReport], None] | None = None,
) -> RunReport:
    """What beat and worker do, in the foreground, for one bank or all: one sweep, or until nothing more can be done.

    Without ``now`` it is a sweep like beat's, and noted as one.
    """
    if now is None:
        now = timezone.now()
        if bank is None:
            Sweep.objects.note(now)
            BankDay.objects.note_due(now)
    started, ledger_from, report = time.monotonic(), _last_call(), RunReport()
    while _sweep(report, now, bank, progress) and until_idle:
        pass
    return _finished(report, started, ledger_from, bank, now)


def run_due(*, now: datetime) -> RunReport:
    """As :func:`run` until nothing more can be done; two queries where nothing is due."""
    if Chat.objects.due(now).exists() or Bank.objects.compressible(now).exists():
        return run(until_idle=True, now=now)
    return RunReport(parked=Chat.objects.parked().count())


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of work: a chat to summarise, or a bank to settle."""

    chat_id: int = 0
    bank_id: int = 0


@dataclass(slots=True)
class Shift:
    """What one lane of a worker does until nothing is due: the next piece of work, and again the next."""

    slot: ModelGate | None = None  # shared with the lane beside it
    settles: bool = True  # banks in between, too; one lane of a worker does
    report: RunReport = field(default_factory=RunReport)
    futile: set[int] = field(default_factory=set)
    looked: datetime | None = None  # for a bank

    def next(self, now: datetime) -> Piece | None:
        """The next piece of work; nobody is bound to do it. Chats, in between a bank, and banks when no chat is due."""
        if self.settles and (not self.looked or not timedelta() <= now - self.looked < EVERY):
            self.looked = now
            if bank_id := work_queue.next_bank(now):
                return Piece(bank_id=bank_id)
        if chat_id := work_queue.next_chat(now, but=self.futile):
            return Piece(chat_id=chat_id)
        bank_id = work_queue.next_bank(now)
        return Piece(bank_id=bank_id) if bank_id else None

    def do(self, piece: Piece, *, now: datetime) -> None:
        """Do it, unless another worker has taken it meanwhile. Never raises for one chat or bank."""
        with slot.use_gate(self.slot):
            if piece.chat_id:
                _summarise(self.report, piece.chat_id, now, self.futile)
            else:
                _settle(self.report, piece.bank_id, now, at_once=False)


def _sweep(report: RunReport, now: datetime, bank: Bank | None, progress: Callable[[RunReport], None] | None) -> bool:
    """One round; whether anything came of it (failures make room for others), so that another may be worth while."""
    before = (report.summarised, report.rolled_up, report.failed)
    budget_cap.resume_below_cap(now)
    expire(bank, now=now)
    indexed = index(bank, now=now, report=report)
    futile: set[int] = set()
    while chat_id := work_queue.next_chat(now, bank=bank, but=futile):
        _summarise(report, chat_id, now, futile)
        if progress:
            progress(report)
    for bank_id in work_queue.unsettled(now, bank):
        _settle(report, bank_id, now)
        if progress:
            progress(report)
    return indexed > 0 or (report.summarised, report.rolled_up, report.failed) != before


def expire(bank: Bank | None = None, *, now: datetime) -> None:
    """Delete what is too old, in one bank or all. Never raises for one bank."""
    due = Bank.objects.expiring(now)
    for bank_id in list((due.filter(pk=bank.pk) if bank else due).values_list("pk", flat=True)):
        try:
            retention.expire(bank_id, now=now)
        except Exception as error:
            logger.error("bank %s: retention: %s", bank_id, log_message(error))


def index(bank: Bank | None = None, *, now: datetime, report: RunReport | None = None) -> int:
    """Index waiting turns and embed them if there is a model; how many of either. Never raises for one chat."""
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
    """Summarise one chat. It is ``futile`` to try it again if nothing came of it that says when to."""
    try:
        if summarising.summarise_chat(chat_id, now=now):
            report.summarised += 1
        else:
            futile.add(chat_id)
    except LLMRejected as error:
        report.failed += 1
        logger.warning("chat %s: %s", chat_id, error)
    except LLMError as error:
        report.failed += 1
        logger.warning("chat %s waits: %s", chat_id, error)
    except Exception as error:  # one chat's failure never delays another
        report.failed += 1
        futile.add(chat_id)
        logger.error("chat %s: %s", chat_id, log_message(error))
    jobs.note(Job.objects.filter(bank__chats=chat_id), now)


def _settle(report: RunReport, bank_id: int, now: datetime, *, at_once: bool = True) -> None:
    try:
        report.rolled_up += settle(bank_id, now=now, at_once=at_once)
    except LLMError as error:
        report.failed += 1
        logger.warning("bank %s: roll-up waits: %s", bank_id, error)
    except Exception as error:
        report.failed += 1
        logger.error("bank %s: %s", bank_id, log_message(error))


def _last_call() -> int:
    """Where the ledger ends."""
    return LLMCall.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def _finished(report: RunReport, started: float, ledger_from: int, bank: Bank | None, now: datetime) -> RunReport:
    """With what it cost, and what is left to do."""
    _account(report, ledger_from, bank)
    chats = Chat.objects.filter(bank=bank) if bank else Chat.objects.all()
    report.parked, report.due = chats.parked().count(), chats.due(now).count()
    report.seconds = round(time.monotonic() - started, 3)
    return report


def _account(report: RunReport, ledger_from: int, bank: Bank | None) -> None:
    calls = LLMCall.objects.filter(pk__gt=ledger_from)
    calls = (calls.filter(bank=bank) if bank else calls).exclude(purpose=LLMCall.Purpose.EMBEDDING)
    sums = calls.aggregate(prompt=Sum("prompt_tokens"), completion=Sum("completion_tokens"))
    report.llm_calls = calls.count()
    report.prompt_tokens, report.completion_tokens = sums["prompt"] or 0, sums["completion"] or 0

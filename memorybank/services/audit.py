"""Queries of a bank's audit log, erasure receipts, requests of members and jobs."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import Q, QuerySet

from memorybank.models import BY_HAND, AuditLog, Bank, Erasure, ErasureRequest, Event, Fact, Job
from memorybank.models.privacy import ErasureRequestQuerySet

BankAction = Event.Action
#: These actions may remove lines from the block's history.
ERASING_ACTIONS = (BankAction.ERASE, BankAction.PRIVATE, BankAction.OPT_OUT)
#: Actions of people on single facts.
FACT_ACTIONS = (
    *(BankAction.ADD, BankAction.EDIT, BankAction.PIN, BankAction.UNPIN),
    *(BankAction.HIDE, BankAction.SHOW, BankAction.RELEASE, BankAction.KEEP),
)


def events_of(bank: Bank) -> QuerySet[Event]:
    """The audit log of a bank, newest first."""
    return bank.events.all()


def events_of_fact(bank: Bank, fact: int) -> list[Event]:
    """The actions of people on a fact, oldest first."""
    events = events_of(bank).filter(action__in=FACT_ACTIONS).order_by("pk")
    return [event for event in events.iterator() if fact in (*event.detail.get("facts", ()), event.detail.get("fact"))]


def was_enabled(bank: Bank, moment: datetime) -> bool:
    """Whether memory was on at a given time, according to the audit log."""
    switched = events_of(bank).filter(at__lte=moment, action__in=(BankAction.ENABLE, BankAction.DISABLE))
    return switched.order_by("-at", "-pk").values_list("action", flat=True).first() == BankAction.ENABLE


def audit_logs(banks: Collection[int]) -> dict[int, AuditLog]:
    """The heads of these banks' audit logs, by id; a bank without events has none."""
    return AuditLog.objects.in_bulk(banks)


def erasures_of(bank: Bank) -> QuerySet[Erasure]:
    """The erasure receipts, newest first."""
    return bank.erasures.receipts()


def receipts_of_person(bank: Bank, person: str) -> QuerySet[Erasure]:
    """The receipts of what a person erased, or asked the owners to erase, newest first."""
    granted = erasure_requests_of(bank).filter(author=person, state=ErasureRequest.State.ERASED)
    by_request = Q(kind=Erasure.Kind.OUTPUT, at__in=granted.values("closed_at"))
    return erasures_of(bank).filter(Q(asked_by=person) | by_request)


def erasure_requests_of(bank: Bank) -> ErasureRequestQuerySet:
    """The erasure requests that people made in chats, newest first."""
    return bank.erasure_requests.erasures()


def open_objections(bank: Bank) -> ErasureRequestQuerySet:
    """The objections of members to lines that the owners have not decided yet, newest first."""
    return bank.erasure_requests.objections().open()


def objections_by(bank: Bank, author: str, limit: int) -> list[tuple[ErasureRequest, str]]:
    """The objections of a member, newest first, each with the action that decided it: edit, hide or uphold.

    "original" if its decision gave the line its original words back; "undone" if a later one did, or shows it again;
    "" if it is open, or if the audit log no longer says.
    """
    objections = list(bank.erasure_requests.objections().filter(author=author)[:limit])
    closed = {objection.closed_at for objection in objections if objection.closed_at}
    actions = (BankAction.EDIT, BankAction.HIDE, BankAction.UPHOLD)
    events = events_of(bank).filter(at__in=closed, action__in=actions)
    decisions: dict[tuple[datetime | None, str], Event] = {(event.at, event.actor): event for event in events}
    facts = bank.facts.select_related("entry").in_bulk({pk for each in objections for pk in each.facts})

    def outcome(objection: ErasureRequest) -> str:
        decision = decisions.get((objection.closed_at, objection.closed_by))
        if decision is None:
            return ""
        if decision.detail.get("undone"):
            return "original"
        is_undone = any(_is_undone(decision, facts[pk]) for pk in objection.facts if pk in facts)
        return "undone" if is_undone else decision.action

    return [(each, outcome(each)) for each in objections]


def _is_undone(decision: Event, fact: Fact) -> bool:
    """Whether a fact got its words back after the decision (who wrote them again decided that), or is shown again."""
    if decision.action == BankAction.EDIT:  # who wrote a fact by hand is always named as its editor
        has_original = not fact.original and (not fact.edited_by or fact.entry.method == BY_HAND)
        return has_original and not decision.detail.get("retyped")
    return decision.action == BankAction.HIDE and not fact.hidden


def jobs_of(bank: Bank) -> QuerySet[Job]:
    """The jobs of a bank, newest first."""
    return bank.jobs.all()

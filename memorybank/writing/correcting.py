"""What people decide about single facts: human words outrank the model, and the audit trail says whose they are."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import transaction

from memorybank.audit import log
from memorybank.models import Bank, Event, Fact, Granularity, StoredBlock


def hide(bank: Bank, fact_ids: Collection[int], *, actor: str, now: datetime) -> int:
    """Take facts out of every prompt at once, a digest's line with the facts it rests on; how many were shown before.

    What a model writes of the same turns later does not bring them back.
    """
    with _held(bank, fact_ids) as (row, facts):
        own = [fact for fact in facts if not fact.hidden or fact.hidden_with_id]
        _update(own, hidden=True, hidden_with=None)
        along = [pk for line in own for pk in _take_along(row, line)]
        if own:
            StoredBlock.objects.withdraw(row, facts=[*(fact.pk for fact in own), *along])
            log(row, actor, Event.Action.HIDE, now, facts=[fact.pk for fact in own])
    return len(own)


def restore(bank: Bank, fact_ids: Collection[int], *, actor: str, now: datetime) -> int:
    """Let hidden facts in again, and with a digest's line what was hidden with it; how many were hidden."""
    with _held(bank, fact_ids) as (row, facts):
        own = [fact for fact in facts if fact.hidden]
        _update(own, hidden=False, hidden_with=None)
        _bring_back(row, own)
        _settle_down(row, own)
        if own:
            StoredBlock.objects.withdraw(row)
            log(row, actor, Event.Action.SHOW, now, facts=[fact.pk for fact in own])
    return len(own)


def release(bank: Bank, fact_ids: Collection[int], *, actor: str, now: datetime) -> int:
    """Let facts pass that were held back, for good; how many were. The next sweep shows them."""
    with _held(bank, fact_ids) as (row, facts):
        held = [fact for fact in facts if fact.quarantine]
        _update(held, quarantine="", released_by=actor[:200])
        if held:
            StoredBlock.objects.withdraw(row)
        for fact in held:
            log(row, actor, Event.Action.RELEASE, now, fact=fact.pk, reason=fact.quarantine)
    return len(held)


@contextmanager
def _held(bank: Bank, fact_ids: Collection[int]) -> Iterator[tuple[Bank, list[Fact]]]:
    """The bank, held until the end, and these facts of it. Raises ``Fact.DoesNotExist`` if one is not there."""
    with transaction.atomic():
        row = Bank.objects.select_for_update().get(pk=bank.pk)
        facts = list(row.facts.filter(pk__in=fact_ids).select_related("entry").order_by("pk"))
        if missing := set(fact_ids) - {fact.pk for fact in facts}:
            raise Fact.DoesNotExist(f"no such facts: {sorted(missing)}")
        yield row, facts


def _update(facts: Iterable[Fact], **values: object) -> None:
    Fact.objects.filter(pk__in=[fact.pk for fact in facts]).update(**values)


def _is_line_of_digest(fact: Fact) -> bool:
    return fact.entry.granularity != Granularity.CONVERSATION


def _take_along(bank: Bank, line: Fact) -> list[int]:
    """Hide what a digest's line rests on, which says the same; their ids."""
    if not _is_line_of_digest(line):
        return []
    shown = bank.facts.filter(pk__in=line.citations, hidden=False)
    along = list(shown.values_list("pk", flat=True))
    shown.update(hidden=True, hidden_with=line)
    return along


def _bring_back(bank: Bank, lines: Iterable[Fact]) -> None:
    """Show what was hidden with these lines, but for what another hidden line rests on, too."""
    back = set(bank.facts.filter(hidden_with__in=[line.pk for line in lines]).values_list("pk", flat=True))
    digests = bank.facts.filter(hidden=True).exclude(entry__granularity=Granularity.CONVERSATION)
    for line in digests if back else ():
        along = back.intersection(line.citations)
        bank.facts.filter(pk__in=along).update(hidden_with=line)
        back -= along
    bank.facts.filter(pk__in=back).update(hidden=False, hidden_with=None)


def _settle_down(bank: Bank, facts: Iterable[Fact]) -> None:
    """Lines of absorbed digests that no person holds any more stand nowhere again."""
    absorbed = [fact.pk for fact in facts if fact.entry.parent_id and _is_line_of_digest(fact)]
    settled = bank.facts.settled().filter(pk__in=absorbed).values_list("pk", flat=True)
    bank.facts.filter(pk__in=set(absorbed) - set(settled)).update(tier=None)

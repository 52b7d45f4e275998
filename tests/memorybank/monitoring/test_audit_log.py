"""The audit log: append-only, and any tampering is detected."""

import threading
from collections.abc import Callable
from datetime import timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from django.db import DatabaseError, connection, connections, transaction

from memorybank import audit, services
from memorybank.exceptions import AppendOnly
from memorybank.models import AuditLog, Bank, Event
from memorybank.models.audit import seal_of
from tests.support.factories import MONDAY, make_bank

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_model")]


@pytest.fixture
def bank() -> Bank:
    """With four events: on, off, on, and a setting that is a number with decimals."""
    made = make_bank()
    services.disable(made, actor="alice", now=MONDAY)
    # Another zone and the microseconds are the same moment when they are read again.
    services.enable(
        made, actor="alice", disclosure_accepted=False, now=MONDAY.astimezone(timezone(timedelta(hours=5.5)))
    )
    services.configure(made, actor="bob", monthly_cap=Decimal("12.50"), now=MONDAY + timedelta(microseconds=7))
    return made


def event(bank: Bank, number: int) -> Event:
    logged: Event = bank.events.get(number=number)
    return logged


def around(statement: str, *values: object) -> None:
    """What somebody does to the table who does not ask us; on PostgreSQL only its owner can, without the triggers."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET session_replication_role = replica")
        cursor.execute(statement, values)
        if connection.vendor == "postgresql":
            cursor.execute("SET session_replication_role = DEFAULT")


def flaws(bank: Bank) -> list[str]:
    return [f"{flaw.where}: {flaw.what}" for flaw in services.find_violations(bank) if flaw.invariant == "trail"]


def test_each_event_is_sealed_over_the_one_before_it(bank: Bank) -> None:
    events = list(bank.events.order_by("number"))
    assert [item.number for item in events] == [1, 2, 3, 4]
    assert [item.seal for item in events] == [
        seal_of(*item.sealed_values(before))
        for item, before in zip(events, ["", *(one.seal for one in events)], strict=False)
    ]
    head = AuditLog.objects.get(bank=bank)
    assert (head.length, head.seal) == (4, events[-1].seal)
    assert flaws(bank) == []


def test_every_bank_has_a_trail_of_its_own(bank: Bank) -> None:
    other = make_bank()
    assert [other.events.get().number, flaws(other), flaws(bank)] == [1, [], []]


@pytest.mark.parametrize(
    "deed",
    [
        lambda row: row.save(),
        lambda row: row.delete(),
        lambda row: Event.objects.filter(pk=row.pk).update(actor="nobody"),
        lambda row: Event.objects.filter(pk=row.pk).delete(),
        lambda row: row.bank.events.all().delete(),
        lambda row: Event.objects.bulk_update([row], ["actor"]),
        lambda row: Event.objects.bulk_create([row]),
    ],
)
def test_no_code_of_ours_changes_or_deletes_one(bank: Bank, deed: Callable[[Event], object]) -> None:
    row = event(bank, 2)
    row.actor = "nobody"
    with pytest.raises(AppendOnly):
        deed(row)
    assert (bank.events.count(), flaws(bank)) == (4, [])


def test_postgresql_refuses_whoever_asks_it_directly(bank: Bank) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no such triggers; there the check finds it")
    for statement in (
        "UPDATE memorybank_event SET actor = 'nobody'",
        "DELETE FROM memorybank_event WHERE number = 2; SET CONSTRAINTS ALL IMMEDIATE",
    ):
        with pytest.raises(DatabaseError, match="audit log"), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    assert flaws(bank) == []


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (
            "UPDATE memorybank_event SET actor = 'nobody' WHERE number = 2",
            "number 2: was changed, or the one before it",
        ),
        ("UPDATE memorybank_event SET at = '2020-01-01 00:00:00+00:00' WHERE number = 4", "number 4: was changed"),
        ("DELETE FROM memorybank_event WHERE number = 2", "number 2: 1 events are missing before number 3"),
        ("DELETE FROM memorybank_event WHERE number = 1", "number 1: 1 events are missing before number 2"),
        ("DELETE FROM memorybank_event WHERE number = 4", "its end: 4 events were written, and it ends at number 3"),
        ("DELETE FROM memorybank_event", "its end: 4 events were written, and it ends at number 0"),
        ("DELETE FROM memorybank_auditlog", "its end: 0 events were written, and it ends at number 4"),
    ],
)
def test_a_change_and_a_gap_are_found(bank: Bank, statement: str, found: str) -> None:
    around(statement)
    [flaw] = flaws(bank)
    assert flaw.startswith(found)


def test_a_changed_event_with_a_new_seal_is_found_at_the_next(bank: Bank) -> None:
    row = event(bank, 2)
    row.actor = "nobody"
    around(
        "UPDATE memorybank_event SET actor = 'nobody', seal = %s WHERE number = 2",
        seal_of(*row.sealed_values(event(bank, 1).seal)),
    )
    assert flaws(bank) == ["number 3: was changed, or the one before it"]


def rewrite_log(bank: Bank, *, last: int, key: str) -> None:
    """What somebody does who can write to the database, but has another key: a log of their own, in order."""
    seal = ""
    for number in range(1, last + 1):
        row = event(bank, number)
        row.actor = "nobody"
        seal = seal_of(*row.sealed_values(seal), key=key)
        around("UPDATE memorybank_event SET actor = 'nobody', seal = %s WHERE number = %s", seal, number)
    around("DELETE FROM memorybank_event WHERE number > %s", last)
    around("UPDATE memorybank_auditlog SET length = %s, seal = %s", last, seal)


def test_a_whole_log_that_was_rewritten_without_the_key_is_found(bank: Bank) -> None:
    rewrite_log(bank, last=4, key="a guess")
    assert flaws(bank)[0] == "number 1: was changed, or the one before it"


def test_a_log_that_was_cut_short_in_order_is_found(bank: Bank) -> None:
    around("DELETE FROM memorybank_event WHERE number > 2")
    around("UPDATE memorybank_auditlog SET length = 2, seal = %s", event(bank, 2).seal)
    assert flaws(bank) == ["its end: was changed: it may have had more events than 2"]


def test_seals_of_an_earlier_secret_key_are_valid_while_it_is_a_fallback(bank: Bank, settings: Any) -> None:
    earlier, settings.SECRET_KEY = settings.SECRET_KEY, "another one, of the same length or more, for later"
    settings.SECRET_KEY_FALLBACKS = [earlier]
    assert flaws(bank) == []
    settings.SECRET_KEY_FALLBACKS = []
    assert flaws(bank)[0] == "number 1: was changed, or the one before it"


def test_the_trail_goes_with_its_bank(bank: Bank) -> None:
    other = make_bank()
    bank.delete()
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # as at the end of a transaction
    assert list(Event.objects.values_list("bank", flat=True)) == [other.pk]
    assert not AuditLog.objects.filter(bank=bank.pk).exists()


@pytest.mark.django_db(transaction=True)
def test_who_append_at_once_stand_one_after_the_other() -> None:
    if not connection.features.has_select_for_update:
        pytest.skip("This database writes one transaction at a time.")
    bank, start = make_bank(), threading.Barrier(4)

    def append(who: int) -> None:
        start.wait()
        for _ in range(5):
            audit.log(bank, f"person {who}", Event.Action.EXPORT, MONDAY)
        connections.close_all()

    people = [threading.Thread(target=append, args=(who,)) for who in range(4)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert (bank.events.count(), flaws(bank)) == (21, [])

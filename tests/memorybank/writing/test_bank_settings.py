"""Bank settings: consent comes first, every value is validated, and every change is in the audit log."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from memorybank import services
from memorybank.exceptions import DisclosureRequired, InvalidInput
from memorybank.models import Bank, Event
from tests.support.factories import DAY, HOUR, MINUTE, MONDAY, block_of, chat_of, make_bank, run, tag, talk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_model")]


def actions(bank: Bank) -> list[str]:
    return list(bank.events.order_by("pk").values_list("action", flat=True))


def test_nobody_switches_memory_on_before_the_disclosure_is_accepted() -> None:
    bank = make_bank(enabled=False)
    with pytest.raises(DisclosureRequired):
        services.enable(bank, actor="alice", disclosure_accepted=False, now=MONDAY)
    assert not Bank.objects.get().enabled
    with pytest.raises(IntegrityError), transaction.atomic():
        Bank.objects.update(enabled=True)


def test_who_accepted_the_disclosure_and_when_is_kept() -> None:
    bank = make_bank(enabled=False)
    services.enable(bank, actor="alice", disclosure_accepted=True, now=MONDAY)
    services.disable(bank, actor="bob", now=MONDAY + HOUR)
    services.enable(bank, actor="bob", disclosure_accepted=False, now=MONDAY + DAY)
    assert (bank.enabled, bank.disclosure_accepted_by, bank.disclosure_accepted_at) == (True, "alice", MONDAY)
    assert actions(bank) == ["enable", "disable", "enable"]


def test_switching_on_twice_is_one_event() -> None:
    bank = make_bank()
    services.enable(bank, actor="alice", disclosure_accepted=True, now=MONDAY)
    assert actions(bank) == ["enable"]


def test_what_waited_while_the_bank_was_off_is_due_once_it_is_on() -> None:
    bank = make_bank(enabled=False)
    talk(bank, "c", [1])
    services.enable(bank, actor="alice", disclosure_accepted=True, history=True, now=MONDAY + HOUR)
    assert chat_of(bank, "c").due_at == MONDAY + 10 * MINUTE


def test_a_bank_that_is_off_shows_nothing_and_remembers_everything() -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    run(MONDAY + HOUR)
    services.disable(bank, actor="alice", now=MONDAY + HOUR)
    services.configure(bank, actor="alice", max_tokens=500, now=MONDAY + HOUR)
    assert block_of(bank) == ("", 0)
    services.enable(bank, actor="alice", disclosure_accepted=False, now=MONDAY + 2 * HOUR)
    run(MONDAY + 2 * HOUR)
    assert tag(1) in block_of(bank)[0]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"max_tokens": 199}, "max_tokens: .*200"),
        ({"max_tokens": 32_001}, "max_tokens: .*32000"),
        ({"idle_minutes": 0}, "idle_minutes"),
        ({"idle_minutes": 20_000}, "idle_minutes"),
        ({"timezone": "Mars/Olympus"}, "timezone: this is not a known time zone"),
        ({"focus": "x" * 1001}, "focus: .*1,?000"),
        ({"budget": 500}, "unknown setting; known are max_tokens"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name_and_nothing_changes(changes: dict[str, Any], says: str) -> None:
    bank = make_bank()
    version = bank.version
    with pytest.raises(InvalidInput, match=says):
        services.configure(bank, actor="alice", now=MONDAY, redact_personal=False, **changes)
    fresh = Bank.objects.get()
    assert (fresh.version, fresh.max_tokens, fresh.timezone, fresh.redact_personal) == (version, 2000, "UTC", True)


def test_a_budget_outside_the_limits_cannot_be_stored_by_any_way() -> None:
    bank = make_bank()
    for wrong in (199, 32_001):
        with pytest.raises(IntegrityError), transaction.atomic():
            Bank.objects.filter(pk=bank.pk).update(max_tokens=wrong)


def test_a_changed_budget_is_kept_by_the_block_at_once() -> None:
    bank = make_bank()
    for number in range(20):
        talk(bank, f"c{number}", range(number * 10, number * 10 + 5))
    run(MONDAY + HOUR)
    services.configure(bank, actor="alice", now=MONDAY + HOUR, max_tokens=200)
    text, size = block_of(bank)
    assert 0 < size == services.count_tokens(text) <= 200


def test_a_longer_idle_time_holds_for_chats_that_wait_already() -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    services.configure(bank, actor="alice", now=MONDAY, idle_minutes=60)
    assert chat_of(bank, "c").due_at == MONDAY + HOUR


def test_the_audit_trail_says_what_changed_from_what_to_what() -> None:
    bank = make_bank()
    services.configure(bank, actor="alice", now=MONDAY, focus="the merger with Globex", max_tokens=500)
    services.configure(bank, actor="alice", now=MONDAY, max_tokens=500)
    event = Event.objects.get(action="configure")
    assert event.detail == {
        "changed": ["focus", "max_tokens"],
        "before": {"focus": "", "max_tokens": 2000},
        "after": {"focus": "the merger with Globex", "max_tokens": 500},
    }

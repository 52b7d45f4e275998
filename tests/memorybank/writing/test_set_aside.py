"""Turns that are set aside stay out of the next summary, and come back."""

import pytest

from memorybank import services
from memorybank.models import Bank, Fact
from tests.support.factories import DAY, HOUR, MINUTE, MONDAY, make_bank, say
from tests.support.factories import run as run_memory

pytestmark = pytest.mark.django_db


@pytest.fixture
def bank() -> Bank:
    return make_bank()


def known(bank: Bank) -> str:
    return "\n".join(Fact.objects.filter(entry__bank=bank).values_list("text", flat=True))


@pytest.mark.parametrize("summarised", [False, True])
def test_a_turn_that_is_set_aside_stays_out_of_memory_until_it_is_brought_back(bank: Bank, summarised: bool) -> None:
    oracle = say(bank, "c", "We decided that the ledger runs on Oracle 23.")
    say(bank, "c", "We decided that the ledger runs on PostgreSQL 17.", at=MONDAY + MINUTE)
    assert services.set_aside(bank, [oracle.pk]) == 1
    if summarised:
        run_memory(MONDAY + HOUR)
        assert "PostgreSQL 17" in known(bank)
        assert "Oracle" not in known(bank)
    assert services.bring_back(bank, [oracle.pk]) == 1
    run_memory(MONDAY + DAY)
    assert known(bank).count("Oracle 23") == 1
    assert known(bank).count("PostgreSQL 17") == 1
    assert services.bring_back(bank, [oracle.pk]) == 0


def test_a_chat_whose_turns_were_all_set_aside_is_summarised_when_they_come_back(bank: Bank) -> None:
    output = say(bank, "c", "We decided that the ledger runs on Oracle 23.")
    services.set_aside(bank, [output.pk])
    run_memory(MONDAY + HOUR)
    assert not known(bank)
    services.bring_back(bank, [output.pk])
    run_memory(MONDAY + DAY)
    assert "Oracle 23" in known(bank)


def test_no_other_bank_is_touched(bank: Bank) -> None:
    output = say(bank, "c", "We decided that the ledger runs on Oracle 23.")
    assert services.set_aside(make_bank(), [output.pk]) == 0

"""Changes during a model call: nothing outdated is written, nothing is lost, nothing is done twice."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F

from memorybank import services
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, Entry, Output
from memorybank.writing import rollup
from memorybank.writing.rollup import roll_up
from memorybank.writing.summarising import summarise_chat
from tests.support.factories import (
    DAY,
    HOUR,
    MINUTE,
    MONDAY,
    chat_of,
    day_of_leaves,
    digests,
    leaf,
    make_bank,
    meanwhile,
    run,
    say,
    sentence,
    shown,
    sound,
    talk,
)

pytestmark = pytest.mark.django_db

# --- during a summary --------------------------------------------------------------------------------


def erase(bank: Bank) -> None:
    """As an erasure does it: what was read before may be written no more."""
    Bank.objects.filter(pk=bank.pk).update(epoch=F("epoch") + 1)


INTERFERENCES: dict[str, Callable[[Bank], object]] = {
    "something was erased": erase,
    "the chat was made private": lambda bank: services.set_audience(
        bank, chat_key="c", readers=(), actor="priya", now=MONDAY
    ),
    "the bank was switched off": lambda bank: services.disable(bank, actor="alice", now=MONDAY),
    "the chat was deleted": lambda bank: Chat.objects.filter(bank=bank).delete(),
    "the bank was deleted": lambda bank: Bank.objects.filter(pk=bank.pk).delete(),
    "the lease ran out and another worker took it": lambda bank: Chat.objects.claim(
        chat_of(bank, "c").pk, MONDAY + 2 * HOUR
    ),
}


@pytest.mark.parametrize("what", INTERFERENCES)
def test_nothing_is_written_if_meanwhile(model: ScriptedLLM, what: str) -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    model.enqueue(meanwhile(lambda: INTERFERENCES[what](bank)))
    assert summarise_chat(chat_of(bank, "c").pk, now=MONDAY + HOUR) is None
    assert not Entry.objects.exists()
    assert not Bank.objects.exists() or sound(bank)


def test_what_was_not_written_is_written_later(model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    model.enqueue(meanwhile(lambda: erase(bank)))
    run(MONDAY + HOUR)
    run(MONDAY + HOUR)
    assert (leaf().output_count, len(model.history)) == (1, 2)


def test_turns_that_arrive_while_the_model_thinks_wait_for_the_next_time(model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    model.enqueue(meanwhile(lambda: talk(bank, "c", [2], at=MONDAY + HOUR)))
    run(MONDAY + HOUR)
    chat = chat_of(bank, "c")
    assert (chat.pending_outputs, chat.due_at, leaf().output_count) == (1, MONDAY + HOUR + 10 * MINUTE, 1)
    assert sound(bank)
    run(MONDAY + 2 * HOUR)
    assert [shown(model, 1), shown(model, 2), leaf().output_count] == [1, 1, 2]


DECISIONS: dict[str, Callable[[Bank, list[int]], object]] = {
    "pinned": lambda bank, ids: services.pin(bank, fact_ids=ids, actor="alice", now=MONDAY),
    "hidden": lambda bank, ids: services.hide(bank, fact_ids=ids, actor="alice", now=MONDAY),
    "edited": lambda bank, ids: services.edit_facts(bank, fact_ids=ids, text="It is late.", actor="alice", now=MONDAY),
}


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_fact_that_a_person_decides_on_while_the_model_replaces_it_stays(model: ScriptedLLM, decision: str) -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    run(MONDAY + HOUR)
    fact = leaf().facts.get()
    talk(bank, "c", [2], at=MONDAY + HOUR)

    def replace(messages: object) -> str:
        DECISIONS[decision](bank, [fact.pk])
        return f"- fact: {sentence(1)} {sentence(2)} [F1] [1]"

    model.enqueue(replace)
    assert summarise_chat(chat_of(bank, "c").pk, now=MONDAY + 3 * HOUR) is None
    run(MONDAY + 3 * HOUR)
    fact.refresh_from_db()
    assert (fact.decided_by_person, chat_of(bank, "c").pending_outputs) == (True, 0)
    assert sound(bank)


def test_a_leaf_rolled_up_while_its_extension_is_written_stays_and_a_new_one_follows(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    for number in range(8):
        talk(bank, f"c{number}", range(number * 10, number * 10 + 4))
    run(MONDAY + HOUR)
    later = MONDAY + 3 * DAY
    talk(bank, "c0", [99], at=later)

    def roll_up() -> None:
        Bank.objects.filter(pk=bank.pk).update(consolidate_at=later)
        services.run(bank=bank, now=later + HOUR)

    model.enqueue(meanwhile(roll_up))
    assert summarise_chat(chat_of(bank, "c0").pk, now=later + HOUR) is None
    assert Entry.objects.filter(chat__key="c0").get().parent_id
    run(later + HOUR)
    assert [entry.output_count for entry in Entry.objects.filter(chat__key="c0").order_by("pk")] == [4, 1]
    assert Output.objects.count() == 33
    assert sound(bank)


# --- during a roll-up ---------------------------------------------------------------------------------


def test_a_leaf_extended_meanwhile_is_not_digested_as_it_was(model: ScriptedLLM) -> None:
    """And the bank is looked at again at once, because what stopped it has changed the plan."""
    bank = make_bank(max_tokens=200)
    day_of_leaves(bank, 0)
    day_of_leaves(bank, 1)
    now = MONDAY + 4 * DAY

    def extend() -> None:
        say(bank, "c0", sentence(99), at=now)
        summarise_chat(chat_of(bank, "c0").pk, now=now, even_if_busy=True)

    model.enqueue(meanwhile(extend))
    assert roll_up(bank.pk, now=now) == 0
    assert digests() == []
    run(now)
    assert [digest.output_count for digest in digests()] == [3, 4]
    assert sound(bank)


@pytest.mark.parametrize("what", ["erased", "lease lost", "deleted"])
def test_nothing_is_written_if_the_ground_has_moved(model: ScriptedLLM, what: str) -> None:
    bank = make_bank(max_tokens=200)
    day_of_leaves(bank, 0)
    now = MONDAY + 2 * DAY
    acts = {
        "erased": lambda: erase(bank),
        "lease lost": lambda: Bank.objects.claim(bank.pk, now + HOUR),
        "deleted": lambda: Bank.objects.filter(pk=bank.pk).delete(),
    }
    model.enqueue(meanwhile(acts[what]))
    services.run(now=now)
    assert digests() == []


def test_a_second_worker_leaves_a_bank_in_work_alone(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    day_of_leaves(bank, 0)
    also: list[int] = []
    model.enqueue(meanwhile(lambda: also.append(roll_up(bank.pk, now=MONDAY + 2 * DAY))))
    assert roll_up(bank.pk, now=MONDAY + 2 * DAY) == 1
    assert also == [0]
    assert len(digests()) == len(model.history) == 1


def test_a_worker_that_took_over_finishes_and_the_late_one_writes_nothing(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    day_of_leaves(bank, 0)
    also: list[int] = []
    model.enqueue(meanwhile(lambda: also.append(roll_up(bank.pk, now=MONDAY + 3 * DAY))))
    assert roll_up(bank.pk, now=MONDAY + 2 * DAY) == 0
    assert (also, len(digests())) == ([1], 1)
    assert sound(bank)


def test_what_is_summarised_as_a_roll_up_ends_is_looked_at_all_the_same(model: ScriptedLLM) -> None:
    """A commit between the last look at the frontier and the release of the lease."""
    bank = make_bank(max_tokens=200)
    say(bank, "c", sentence(1))
    run(MONDAY + HOUR)
    say(bank, "c", sentence(2), at=MONDAY + 2 * HOUR)
    late: list[object] = []

    def first_of_all(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not late and sql.startswith('UPDATE "memorybank_bank"') and "consolidate_at" in sql:
            late.append(None)
            with transaction.atomic():
                late.append(summarise_chat(chat_of(bank, "c").pk, now=MONDAY + 3 * HOUR))
        return execute(sql, params, many, context)

    claimed = Bank.objects.claim(bank.pk, MONDAY + 3 * HOUR)
    assert claimed
    look = rollup._next_check(claimed, MONDAY + 3 * HOUR)
    with connection.execute_wrapper(first_of_all):
        claimed.release(consolidate_at=look)
    assert late[1] is not None
    bank.refresh_from_db()
    assert bank.consolidate_at == MONDAY + 3 * HOUR

"""Memory begins with the turns after it was switched on; earlier ones are included only on request."""

from decimal import Decimal

import pytest

from memorybank import services
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Output
from tests.support.factories import (
    DAY,
    HOUR,
    MINUTE,
    MONDAY,
    block_of,
    chat_of,
    make_bank,
    run,
    say,
    sentence,
    sound,
    tag,
)

pytestmark = pytest.mark.django_db


def switch_on(bank: Bank, *, history: bool = False, now: object = MONDAY + HOUR) -> None:
    services.enable(bank, actor="alice", disclosure_accepted=True, history=history, now=now)  # type: ignore[arg-type]


def known(bank: Bank, number: int) -> bool:
    """Whether anybody is told what has this number."""
    memory = services.prompt_memory(bank, question=sentence(number))
    texts = [memory.block.text, memory.recalled.text, *(hit.text for hit in services.recall(bank, sentence(number)))]
    return any(tag(number) in text for text in texts)


@pytest.mark.usefixtures("no_model")
def test_what_was_said_before_is_covered_without_a_word() -> None:
    bank = make_bank(enabled=False)
    say(bank, "c", sentence(1))
    switch_on(bank)
    say(bank, "c", sentence(2), at=MONDAY + HOUR)
    run(MONDAY + 2 * HOUR)
    assert tag(2) in block_of(bank)[0]
    assert not known(bank, 1)
    assert sound(bank)
    assert bank.events.filter(action="enable").get().detail == {"left_out": 1}


@pytest.mark.usefixtures("no_model")
def test_with_history_all_of_it_is_memory() -> None:
    bank = make_bank(enabled=False)
    say(bank, "c", sentence(1))
    switch_on(bank, history=True)
    run(MONDAY + 2 * HOUR)
    assert tag(1) in block_of(bank)[0]
    assert bank.events.filter(action="enable").get().detail == {"taken_in": 1}


@pytest.mark.usefixtures("no_model")
def test_what_was_said_while_it_was_on_is_not_history_even_if_it_waits() -> None:
    bank = make_bank()
    say(bank, "c", sentence(1))
    services.disable(bank, actor="alice", now=MONDAY)
    say(bank, "c", sentence(2), at=MONDAY + MINUTE)
    switch_on(bank)
    run(MONDAY + 2 * HOUR)
    assert tag(1) in block_of(bank)[0]
    assert not known(bank, 2)


@pytest.mark.usefixtures("no_model")
def test_history_can_be_taken_in_later_and_nothing_is_counted_twice() -> None:
    bank = make_bank(enabled=False)
    say(bank, "c", sentence(1))
    switch_on(bank)
    say(bank, "c", sentence(2), at=MONDAY + HOUR)
    run(MONDAY + 2 * HOUR)
    assert services.count_earlier_turns(bank).turns == 1
    switch_on(bank, history=True, now=MONDAY + DAY)
    assert services.count_earlier_turns(bank).turns == 0
    run(MONDAY + DAY)
    block = block_of(bank)[0]
    assert block.count(tag(1)) == block.count(tag(2)) == 1
    assert known(bank, 1)
    assert sound(bank)


@pytest.mark.usefixtures("no_model")
def test_what_is_imported_once_it_is_on_is_taken_in_however_old() -> None:
    bank = make_bank(enabled=False)
    switch_on(bank)
    say(bank, "c", sentence(1), at=MONDAY - 30 * DAY)
    run(MONDAY + HOUR)
    assert tag(1) in block_of(bank)[0]


def test_a_chat_goes_on_with_what_was_said_before_in_it(model: ScriptedLLM) -> None:
    bank = make_bank(enabled=False)
    say(bank, "c", sentence(1))
    switch_on(bank)
    assert Output.objects.get().predates_memory
    run(MONDAY + 2 * HOUR)
    assert not model.history  # and nobody pays for it
    assert chat_of(bank, "c").pending_outputs == 0


def test_the_preview_counts_what_would_be_taken_in_and_what_it_costs(model: ScriptedLLM, tuned: object) -> None:
    bank = make_bank(enabled=False)
    for number in range(60):
        say(bank, f"c{number % 3}", sentence(number), author=("Priya", "Tom")[number % 2])
    say(bank, "hers", sentence(99))
    services.set_audience(bank, chat_key="hers", readers=(), actor="Priya", now=MONDAY)
    services.opt_out(bank, author="Zoe", actor="Zoe", now=MONDAY)
    say(bank, "c0", sentence(98), author="Zoe")
    free = services.count_earlier_turns(bank)
    assert (free.chats, free.people, free.turns, free.calls, free.cost) == (3, 2, 60, 3, Decimal(0))
    texts = [f"{output.question}{output.answer}[]" for output in Output.objects.filter(chat__private=False)]
    exact = sum(map(services.count_tokens, texts))
    assert abs(free.tokens - exact) < exact / 10
    tuned(PRICES={"summary": (2.0, 8.0)})  # type: ignore[operator]
    cost = services.count_earlier_turns(bank).cost
    assert cost is not None
    assert Decimal("0.005") < cost < Decimal("0.05")


@pytest.mark.usefixtures("no_model")
def test_without_a_model_it_costs_nothing() -> None:
    bank = make_bank(enabled=False)
    say(bank, "c", sentence(1))
    assert (services.count_earlier_turns(bank).calls, services.count_earlier_turns(bank).cost) == (0, None)

"""The monthly budget cap: costs, extraction above the cap, and rebuilding below it."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memorybank import llm, services
from memorybank.exceptions import InvalidInput, LLMUnavailable
from memorybank.llm.scripted import ScriptedLLM
from memorybank.model_calls import budget_cap
from memorybank.models import CAPPED_METHOD, Bank, Chat, Entry, Event, LLMCall, LLMEndpoint
from tests.support.factories import DAY, HOUR, MONDAY, chat_of, leaf, make_bank, note_taker, run, sound, talk

pytestmark = pytest.mark.django_db
APRIL = datetime(2026, 4, 1, 0, 5, tzinfo=UTC)
PRICES = {"summary": (1000, 4000), "chat": (2, 8), "embedding": (0.5, 0)}


@pytest.fixture
def model(settings: Any) -> ScriptedLLM:
    """An obedient model that costs a thousandth of the currency per input token."""
    options = {"BACKEND": "memorybank.llm.scripted.ScriptedLLM", "MODEL": "small"}
    settings.MEMORYBANK = {"LLMS": {"summary": options}, "PRICES": PRICES}
    llm.reset()
    small_model = llm.get("summary")
    assert isinstance(small_model, ScriptedLLM)
    small_model.answer = note_taker
    return small_model


def remember(bank: Bank, chat: str, numbers: range, at: datetime) -> None:
    talk(bank, chat, numbers, at=at)
    run(at + HOUR)


def spend(bank: Bank, at: datetime, purpose: str = "summary", cost: int = 500) -> None:
    LLMCall.objects.create(bank=bank, purpose=purpose, cost=cost, at=at, model="m", outcome="ok")


def test_every_call_has_its_cost(model: ScriptedLLM) -> None:
    bank = make_bank()
    model.enqueue(LLMUnavailable("down"))
    remember(bank, "c1", range(2), MONDAY)
    run(MONDAY + DAY)
    failed, good = LLMCall.objects.order_by("pk")
    assert failed.cost == 0
    assert good.cost == (good.prompt_tokens + 4 * good.completion_tokens) / Decimal(1000)


def test_prices_are_those_of_the_purpose_and_a_useless_answer_is_paid_for(model: ScriptedLLM, settings: Any) -> None:
    settings.MEMORYBANK = {**settings.MEMORYBANK, "PRICES": {"chat": (2, 8), "summary": (0.15, 0.6)}}
    for purpose, expected in (("chat", "10"), ("digest", "0.75"), ("embedding", "0")):
        call = LLMCall(purpose=purpose, prompt_tokens=1_000_000, completion_tokens=1_000_000)
        call.price()
        assert call.cost == Decimal(expected)
    model.enqueue("Sorry, no.")
    remember(make_bank(), "c1", range(2), MONDAY)
    call = LLMCall.objects.get()
    assert (call.outcome, call.cost > 0) == ("unusable", True)  # type: ignore[operator]


def test_at_the_cap_memory_is_extracted_and_says_so_and_the_model_is_not_asked(model: ScriptedLLM) -> None:
    bank = make_bank(monthly_cap=0)
    remember(bank, "c1", range(3), MONDAY)
    assert model.history == []
    assert leaf().method == CAPPED_METHOD
    assert "cap" in leaf().method
    assert Bank.objects.get().capped_at is not None
    assert "ORD-00001" in services.prompt_memory(bank, now=MONDAY + HOUR).block.text
    assert sound(bank)


def test_what_was_spent_this_month_counts_and_answers_to_people_do_not(model: ScriptedLLM) -> None:
    bank, other = make_bank(monthly_cap=100), make_bank()
    spend(bank, MONDAY, purpose="chat")
    spend(other, MONDAY)
    spend(bank, MONDAY - 2 * DAY)
    assert not budget_cap.is_capped(bank, MONDAY)
    spend(bank, MONDAY, purpose="embedding", cost=100)
    assert budget_cap.is_capped(bank, MONDAY)


def test_extracted_memory_is_rebuilt_by_the_model_when_the_next_month_begins(model: ScriptedLLM) -> None:
    bank = make_bank(monthly_cap=400)
    remember(bank, "c1", range(3), MONDAY)
    assert model.history
    paid = len(model.history)
    spend(bank, MONDAY + HOUR)
    remember(bank, "c2", range(10, 13), MONDAY + DAY)
    assert len(model.history) == paid
    assert sorted(method == CAPPED_METHOD for method in Entry.objects.values_list("method", flat=True)) == [False, True]
    run(MONDAY + 20 * DAY)
    assert len(model.history) == paid
    run(APRIL)
    assert len(model.history) == paid + 1
    assert "small" in Entry.objects.get(chat=chat_of(bank, "c2")).method
    assert Bank.objects.get().capped_at is None
    assert not Chat.objects.filter(stale=True).exists()
    assert sound(bank)


def test_extracted_memory_is_rebuilt_when_the_cap_is_raised_and_people_s_decisions_stay(model: ScriptedLLM) -> None:
    bank = make_bank(monthly_cap=0)
    remember(bank, "c1", range(3), MONDAY)
    fact = bank.facts.order_by("pk").first()
    assert fact
    bank.facts.filter(pk=fact.pk).update(pinned=True)
    services.configure(bank, actor="alice", monthly_cap=None, now=MONDAY + HOUR)
    run(MONDAY + 2 * HOUR)
    assert "small" in leaf().method
    assert bank.facts.filter(pk=fact.pk, pinned=True).exists()
    run(MONDAY + 3 * HOUR)
    assert len(model.history) == 1
    assert sound(bank)


def test_turns_that_come_at_the_cap_extend_what_the_model_wrote_and_all_is_made_anew(model: ScriptedLLM) -> None:
    bank = make_bank(monthly_cap=400)
    remember(bank, "c1", range(2), MONDAY)
    spend(bank, MONDAY + HOUR)
    remember(bank, "c1", range(2, 4), MONDAY + DAY)
    assert leaf().method == CAPPED_METHOD
    assert bank.facts.filter(text__contains="ORD-00003").exists()
    run(APRIL)
    assert "small" in leaf().method
    assert sound(bank)


def test_at_the_cap_nothing_is_rolled_up_until_the_model_may_do_it(model: ScriptedLLM) -> None:
    bank = make_bank(monthly_cap=400, max_tokens=200)
    spend(bank, MONDAY)
    for day in range(4):
        remember(bank, f"c{day}", range(day * 10, day * 10 + 6), MONDAY + day * DAY)
    run(MONDAY + 6 * DAY)
    assert not Entry.objects.digests().exists()
    assert not Bank.objects.due_for_consolidation(MONDAY + 7 * DAY).exists()
    run(APRIL)
    assert Entry.objects.digests().exists()
    assert not Entry.objects.filter(method=CAPPED_METHOD).exists()
    assert sound(bank)


def test_a_private_or_switched_off_bank_or_chat_wakes_nobody(model: ScriptedLLM) -> None:
    bank = make_bank(monthly_cap=0)
    remember(bank, "c1", range(3), MONDAY)
    services.set_audience(bank, chat_key="c1", readers=(), actor="bob", now=MONDAY + HOUR)
    run(APRIL)
    assert model.history == []


def test_without_a_cap_or_at_none_a_sweep_asks_no_more_of_anybody(model: ScriptedLLM) -> None:
    make_bank(monthly_cap=5)
    with CaptureQueriesContext(connection) as captured:
        assert budget_cap.resume_below_cap(MONDAY) == 0
    assert len(captured) == 1


def test_an_owner_s_cap_is_asked_for(model: ScriptedLLM, settings: Any) -> None:
    settings.MEMORYBANK = {
        **settings.MEMORYBANK,
        "CAPPED_FOR_BANK": "tests.memorybank.model_calls.test_budget_cap.everybody",
    }
    remember(make_bank(), "c1", range(3), MONDAY)
    assert leaf().method == CAPPED_METHOD


def everybody(bank: Bank, since: datetime) -> bool:
    """A cap hook by which no owner has budget left."""
    return since == datetime(2026, 3, 1, tzinfo=UTC)


def test_a_cap_below_nothing_is_refused_and_a_change_is_on_the_trail() -> None:
    bank = make_bank()
    with pytest.raises(InvalidInput, match="monthly_cap"):
        services.configure(bank, actor="alice", monthly_cap=Decimal("-1"), now=MONDAY)
    services.configure(bank, actor="alice", monthly_cap=Decimal("12.50"), now=MONDAY)
    assert "monthly_cap" in Event.objects.filter(action="configure").get().detail["changed"]


def test_an_endpoint_says_since_when_it_answers(model: ScriptedLLM) -> None:
    bank = make_bank()
    remember(bank, "c1", range(2), MONDAY)
    since = LLMEndpoint.objects.get().up_since
    assert since and since >= MONDAY
    remember(bank, "c2", range(2), MONDAY + DAY)
    assert LLMEndpoint.objects.get().up_since == since
    model.enqueue(LLMUnavailable("down"))
    remember(bank, "c3", range(2), MONDAY + 2 * DAY)
    assert LLMEndpoint.objects.get().up_since is None
    run(MONDAY + 3 * DAY)
    assert LLMEndpoint.objects.get().up_since == MONDAY + 3 * DAY

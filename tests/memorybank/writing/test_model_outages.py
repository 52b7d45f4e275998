"""Model outages: nothing is lost, few calls are made, and everything is caught up afterwards."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memorybank import llm, services
from memorybank.exceptions import LLMMisconfigured, LLMRejected, LLMUnavailable
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import STAND_IN_METHOD, Bank, Chat, Entry, LLMCall, Output
from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.factories import (
    DAY,
    HOUR,
    MINUTE,
    MONDAY,
    block_of,
    chat_of,
    endpoint,
    make_bank,
    note_taker,
    prompt_of,
    run,
    say,
    sound,
    tag,
    talk,
)
from tests.support.openai_server import OpenAIServer
from tests.support.requirements import in_ci
from tests.support.upstream import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

FAILURES: dict[str, Any] = {
    "500": LLMUnavailable("HTTP 500: The server had an error"),
    "429": LLMUnavailable("HTTP 429: Rate limit reached", retry_after=30),
    "empty": LLMRejected("The model returned an empty answer (finish reason: stop)"),
    "garbage": "I would rather talk about the weather today.",
    "401": LLMMisconfigured("HTTP 401: Incorrect API key provided"),
}


def a_day(bank: Bank, day: int) -> None:
    """Two chats that alone are nearly the budget."""
    for number in range(2):
        first = (day * 2 + number) * 4
        talk(bank, f"d{day} c{number}", range(first, first + 4), at=MONDAY + day * DAY + number * HOUR)


def beat(start: Any, *, days: int, every: timedelta) -> None:
    """Sweeps as time passes."""
    for tick in range(int(days * DAY / every)):
        services.run(now=start + tick * every)


@pytest.mark.parametrize("how", ["500", *(pytest.param(how, marks=in_ci) for how in ("429", "empty", "garbage"))])
def test_three_days_of_outage_over_budget_lose_nothing_and_are_made_up_for(model: ScriptedLLM, how: str) -> None:
    """Entries stay, calls are bounded by back-off, and all is covered after recovery."""
    bank = make_bank(max_tokens=200)
    for day in range(3):
        a_day(bank, day)
        run(MONDAY + day * DAY + 6 * HOUR)
    before = set(Entry.objects.values_list("pk", flat=True))
    calls = len(model.history)
    model.answer = FAILURES[how]
    for day in range(3, 6):
        a_day(bank, day)
        beat(MONDAY + day * DAY, days=1, every=HOUR)
        assert sound(bank)
    assert before <= set(Entry.objects.values_list("pk", flat=True))
    assert 0 < block_of(Bank.objects.get())[1] <= 200
    assert len(model.history) - calls <= bound(how)

    model.answer = note_taker
    run(MONDAY + 6 * DAY + 6 * HOUR)
    run(MONDAY + 6 * DAY + 8 * HOUR)
    assert not Chat.objects.filter(pending_outputs__gt=0).exists()
    assert sum(Entry.objects.leaves().values_list("output_count", flat=True)) == Output.objects.count()
    assert not Chat.objects.parked().exists()
    assert sound(bank)


def bound(how: str) -> int:
    """One probe an hour; a bank whose digests are useless is asked for them at a pace of its own."""
    return 3 * 24 * (2 if how in ("empty", "garbage") else 1)


def test_a_day_long_outage_costs_one_probe_an_hour_however_much_waits(model: ScriptedLLM) -> None:
    for number in range(10):
        talk(make_bank(), "c", [number])
    model.answer = LLMUnavailable("HTTP 503")
    beat(MONDAY + HOUR, days=1, every=10 * MINUTE)
    assert 20 <= len(model.history) <= 60
    assert list(Entry.objects.values_list("method", flat=True)) == [STAND_IN_METHOD] * 10


def test_a_server_that_is_only_slow_to_recover_is_not_flooded(model: ScriptedLLM) -> None:
    """The first good answer opens the way, and everybody who waited is served in that very run."""
    for number in range(10):
        talk(make_bank(), "c", [number])
    model.enqueue(LLMUnavailable("HTTP 503"), LLMUnavailable("HTTP 503"))
    assert [run(MONDAY + HOUR + n * 10 * MINUTE).summarised for n in range(3)] == [9, 0, 10]
    assert not Entry.objects.filter(method=STAND_IN_METHOD).exists()


# --- meanwhile ---------------------------------------------------------------------------------------


def lines_of(bank: Bank, number: int) -> int:
    """How many lines of memory tell the sentence of this number as a model's note."""
    return bank.facts.filter(text__contains=tag(number), detail=False).count()


def test_while_the_model_is_down_sentences_are_told_and_recalled_and_then_it_writes_the_notes(
    model: ScriptedLLM,
) -> None:
    bank = make_bank()
    talk(bank, "first", [1, 2])
    talk(bank, "second", [3])
    model.answer = LLMUnavailable("HTTP 503")
    run(MONDAY + HOUR)
    assert len(model.history) == 1, "the other chat is not asked for while the endpoint backs off"
    text, _ = block_of(Bank.objects.get())
    assert all(tag(number) in text for number in (1, 2, 3))
    assert services.recall(bank, f"What about order {tag(2)}?")
    assert all(entry.provisional and entry.stale for entry in Entry.objects.all())
    assert sound(bank)
    asked = len(model.history)

    model.answer = note_taker
    run(MONDAY + 3 * HOUR)
    assert len(model.history) - asked == 2, "one call a chat"
    assert not Entry.objects.filter(provisional=True).exists() and not Chat.objects.filter(stale=True).exists()
    assert [lines_of(bank, number) for number in (1, 2, 3)] == [1, 1, 1]
    assert all(block_of(Bank.objects.get())[0].count(tag(number)) == 1 for number in (1, 2, 3))
    assert sum(Entry.objects.values_list("output_count", flat=True)) == 3
    assert sound(bank)
    run(MONDAY + DAY)
    assert len(model.history) - asked == 2


def test_turns_that_come_during_an_outage_are_told_and_cost_one_call_afterwards(model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    run(MONDAY + HOUR)
    model.answer = LLMUnavailable("HTTP 503")
    for number in (2, 3):
        talk(bank, "c", [number], at=MONDAY + number * HOUR)
        run(MONDAY + number * HOUR + HOUR / 2)
        assert tag(number) in block_of(Bank.objects.get())[0]
        assert sound(bank)
    asked = len(model.history)
    model.answer = note_taker
    talk(bank, "c", [4], at=MONDAY + 5 * HOUR)
    run(MONDAY + 6 * HOUR)
    run(MONDAY + 9 * HOUR)
    assert len(model.history) - asked == 1
    assert [lines_of(bank, number) for number in (1, 2, 3, 4)] == [1, 1, 1, 1]
    assert Entry.objects.get().output_count == 4
    assert sound(bank)


def test_turns_after_a_stand_in_that_was_rolled_up_do_not_wait_for_the_model(model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    model.answer = LLMUnavailable("HTTP 503")
    run(MONDAY + HOUR)
    day = Entry.objects.create(
        bank=bank,
        granularity="day",
        period_start=MONDAY.date(),
        output_count=1,
        first_at=MONDAY,
        last_at=MONDAY,
        method="carried over",
    )
    bank.entries.leaves().absorb_into(day)
    talk(bank, "c", [2], at=MONDAY + DAY)
    run(MONDAY + DAY + HOUR)
    assert tag(2) in block_of(Bank.objects.get())[0]
    assert sound(bank)
    model.answer = note_taker
    run(MONDAY + 2 * DAY)
    run(MONDAY + 3 * DAY)
    assert not Entry.objects.filter(method=STAND_IN_METHOD).exists()
    assert sorted(Entry.objects.leaves().values_list("output_count", flat=True)) == [1, 1]
    assert sound(bank)


def test_erasing_a_chat_during_an_outage_takes_its_stand_in_at_once(model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, "gone", [1])
    talk(bank, "stays", [2])
    model.answer = LLMUnavailable("HTTP 503")
    run(MONDAY + HOUR)
    services.erase(bank, chat="gone", actor="alice", now=MONDAY + 2 * HOUR)
    run(MONDAY + 2 * HOUR)
    assert tag(1) not in block_of(Bank.objects.get())[0]
    assert not bank.facts.filter(text__contains=tag(1)).exists()
    model.answer = note_taker
    run(MONDAY + 5 * HOUR)
    assert [lines_of(bank, number) for number in (1, 2)] == [0, 1]
    assert sound(bank)


# --- who may not stop everybody ----------------------------------------------------------------------


def poisoned(how: Any) -> Callable[[Any], str]:
    """A model that one content always makes fail in this way."""

    def answer(messages: Any) -> str:
        if "POISON" not in prompt_of(messages):
            return note_taker(messages)
        if isinstance(how, Exception):
            raise how
        return str(how)

    return answer


@pytest.mark.parametrize("how", ["garbage", *(pytest.param(how, marks=in_ci) for how in ("500", "401"))])
def test_chats_that_always_fail_never_starve_the_others(model: ScriptedLLM, how: str) -> None:
    """Even if the failure looks like an outage: probes take turns, so a healthy chat gets through."""
    model.answer = poisoned(FAILURES[how])
    bad = [make_bank() for _ in range(4)]
    for bank in bad:
        say(bank, "bad", "The POISON is in this very sentence.")
    healthy = make_bank()
    talk(healthy, "good", [1], at=MONDAY + HOUR)
    beat(MONDAY + 2 * HOUR, days=1, every=HOUR)
    assert chat_of(healthy, "good").pending_outputs == 0
    talk(healthy, "later", [2], at=MONDAY + 2 * DAY)
    beat(MONDAY + 2 * DAY + HOUR, days=1, every=HOUR)
    assert chat_of(healthy, "later").pending_outputs == 0
    assert len(model.history) <= 2 + 2 * 4 * 24
    assert sound(healthy, *bad)


@pytest.mark.parametrize("how", [pytest.param("empty", marks=in_ci), "garbage"])
def test_chats_with_useless_answers_make_no_other_project_wait(model: ScriptedLLM, how: str) -> None:
    model.answer = poisoned(FAILURES[how])
    bad, healthy = make_bank(), make_bank()
    for number in range(12):
        say(bad, f"bad {number}", "The POISON is in this very sentence.")
    run(MONDAY + HOUR)
    talk(healthy, "good", [1], at=MONDAY + HOUR)
    for tick in range(12):
        run(MONDAY + HOUR + tick * MINUTE)
    assert chat_of(healthy, "good").pending_outputs == 0
    assert endpoint().retry_at is None


# --- the real thing ----------------------------------------------------------------------------------


@pytest.fixture
def server(settings: Any) -> Any:
    """A real OpenAI-compatible server on this machine, and the settings that point at it."""
    with OpenAIServer() as running:
        options = {
            "BACKEND": "memorybank.llm.openai_compatible.OpenAICompatibleLLM",
            "BASE_URL": running.base_url,
            "MODEL": "test",
            "TIMEOUT": PROCESS_TIMEOUT_SECONDS,
            "MAX_RETRIES": 0,
        }
        settings.MEMORYBANK = {"LLMS": {"summary": options}}
        llm.reset()
        yield running
        llm.reset()


@pytest.mark.parametrize(
    ("mode", "outcome", "says"),
    [
        ("500", "unavailable", "HTTP 500: The server had an error"),
        ("429", "unavailable", "HTTP 429: Rate limit reached"),
        ("hang", "unavailable", "No answer within 0.2 s"),
        ("empty", "rejected", "The model returned an empty answer"),
        ("garbage", "unusable", "No usable line"),
        ("badjson", "unavailable", "Unreadable answer"),
        ("400", "rejected", "HTTP 400: This model's maximum context length"),
    ],
)
def test_a_real_server_that_fails_loses_nothing_and_is_made_up_for(
    server: OpenAIServer, settings: Any, mode: str, outcome: str, says: str
) -> None:
    if mode == "hang":
        settings.MEMORYBANK["LLMS"]["summary"]["TIMEOUT"] = 0.2
    bank = make_bank()
    talk(bank, "c", [1, 2])
    server.mode = mode
    report = run(MONDAY + HOUR)
    wait_until(lambda: server.calls, "asked")  # who hangs may count the call after it was given up
    assert (report.failed, server.calls, Entry.objects.get().method) == (1, 1, STAND_IN_METHOD)
    call = LLMCall.objects.get()
    assert call.outcome == outcome
    assert says in call.error and says in chat_of(bank, "c").last_error
    assert sound(bank)
    server.mode = "ok"
    run(MONDAY + 2 * HOUR)
    assert (Entry.objects.get().output_count, chat_of(bank, "c").last_error) == (2, "")
    assert sound(bank)


def test_a_real_server_s_wish_to_be_left_alone_is_granted(server: OpenAIServer) -> None:
    talk(make_bank(), "c", [1])
    server.mode, server.retry_after = "429", "7200"
    run(MONDAY + HOUR)
    assert endpoint().retry_at == MONDAY + 3 * HOUR


def test_a_wrong_key_is_not_tried_again_and_again(server: OpenAIServer, settings: Any) -> None:
    """A 401 is not retried like a time-out; it waits for an operator, or an hour."""
    settings.MEMORYBANK["LLMS"]["summary"]["MAX_RETRIES"] = 3
    for number in range(3):
        talk(make_bank(), "c", [number])
    server.mode = "401"
    beat(MONDAY + HOUR, days=1, every=HOUR / 2)
    assert 20 <= server.calls <= 25
    assert set(LLMCall.objects.values_list("outcome", flat=True)) == {"misconfigured"}
    assert not Chat.objects.parked().exists()


def test_a_provider_that_repeats_what_it_was_sent_brings_no_chat_text_into_log_ledger_or_admin(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bank = make_bank()
    with OpenAIServer(mode="echo") as server:
        backend = "memorybank.llm.openai_compatible.OpenAICompatibleLLM"
        options = {
            "BACKEND": backend,
            "BASE_URL": server.base_url,
            "MODEL": "test",
            "TIMEOUT": PROCESS_TIMEOUT_SECONDS,
            "MAX_RETRIES": 0,
        }
        settings.MEMORYBANK = {"LLMS": {"summary": options}}
        llm.reset()
        say(bank, "c1", "Marguerite keeps the Lisbon warehouse keys in her bicycle basket.")
        run(MONDAY + HOUR)
        llm.reset()
        assert "Marguerite" in str(server.requests[0])
    kept = f"{caplog.text} {chat_of(bank, 'c1').last_error} {list(LLMCall.objects.values_list('error', flat=True))}"
    assert "HTTP 400: Invalid request" in kept
    for word in ("Marguerite", "Lisbon", "warehouse", "bicycle", "basket"):
        assert word.casefold() not in kept.casefold()

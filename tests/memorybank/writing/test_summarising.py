"""Summarising a chat: each turn once, under a lease, and nothing outdated is written."""

import re
from datetime import UTC, date, datetime
from typing import Any

import pytest

from memorybank import services
from memorybank.exceptions import LLMRejected, LLMUnavailable
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import STAND_IN_METHOD, Chat, Entry, Fact
from memorybank.writing.summarising import summarise_chat
from tests.support.factories import (
    DAY,
    HOUR,
    MINUTE,
    MONDAY,
    block_of,
    chat_of,
    leaf,
    make_bank,
    note_taker,
    prompt_of,
    run,
    say,
    sentence,
    shown,
    sound,
    tag,
    talk,
)

pytestmark = pytest.mark.django_db


def texts(entry: Entry) -> str:
    return "\n".join(entry.facts.values_list("text", flat=True))


# --- what a leaf is ----------------------------------------------------------------------------------


def test_a_leaf_covers_its_turns_and_its_facts_cite_them(model: ScriptedLLM) -> None:
    bank = make_bank()
    outputs = talk(bank, "c", [1, 2, 3])
    run(MONDAY + HOUR)
    entry = leaf()
    assert (entry.first_output, entry.last_output, entry.output_count) == (outputs[0].sequence, outputs[2].sequence, 3)
    assert (entry.first_at, entry.last_at) == (outputs[0].created_at, outputs[2].created_at)
    assert entry.method.startswith("scripted summarise@")
    assert entry.tokens == sum(entry.facts.values_list("tokens", flat=True)) > 0
    cited = set(entry.facts.values_list("outputs", flat=True))
    assert cited == {output.pk for output in outputs}
    assert sound(bank)


def test_a_leaf_belongs_to_the_day_of_its_newest_turn_in_the_bank_s_zone(model: ScriptedLLM) -> None:
    night = datetime(2026, 3, 28, 23, 30, tzinfo=UTC)  # half past midnight in Berlin, the day the clocks change
    for zone, day in (("UTC", 28), ("Europe/Berlin", 29), ("America/Los_Angeles", 28)):
        talk(make_bank(timezone=zone), "c", [1], at=night)
        run(night + HOUR)
        assert Entry.objects.latest("pk").period_start == date(2026, 3, day)


def test_without_a_model_facts_are_extracted_and_the_leaf_says_so(no_model: None) -> None:
    bank = make_bank()
    talk(bank, "c", [1, 2])
    run(MONDAY + HOUR)
    assert leaf().method == "extractive/1"
    assert tag(1) in texts(leaf())
    assert sound(bank)


def test_a_chat_without_a_word_is_covered_without_asking_anybody(model: ScriptedLLM) -> None:
    bank = make_bank()
    say(bank, "c", "  ", answer="\n")
    run(MONDAY + HOUR)
    assert (leaf().facts.count(), leaf().output_count, model.history) == (0, 1, [])
    assert sound(bank)


def test_nothing_worth_keeping_is_an_answer(model: ScriptedLLM) -> None:
    bank = make_bank()
    model.answer = "- nothing"
    say(bank, "c", "Hi!", answer="Hello!")
    run(MONDAY + HOUR)
    run(MONDAY + DAY)
    assert (leaf().facts.count(), chat_of(bank, "c").pending_outputs, len(model.history)) == (0, 0, 1)


def test_answers_nobody_got_are_passed_over_wherever_they_stand(model: ScriptedLLM) -> None:
    bank = make_bank()
    for number, status in enumerate(["error", "ok", "blocked", "ok", "cancelled"]):
        say(bank, "c", sentence(number), status=status, at=MONDAY + number * MINUTE)
    run(MONDAY + HOUR)
    assert [shown(model, number) for number in range(5)] == [0, 1, 0, 1, 0]
    assert leaf().output_count == 2
    assert sound(bank)


# --- extending ---------------------------------------------------------------------------------------


def test_a_resumed_chat_extends_its_leaf_with_the_new_turns_only(model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, "c", [1, 2])
    run(MONDAY + HOUR)
    talk(bank, "c", [3], at=MONDAY + 2 * HOUR)
    run(MONDAY + 3 * HOUR)
    assert [shown(model, number) for number in (1, 2, 3)] == [1, 1, 1]
    assert (leaf().output_count, leaf().updates) == (3, 1)
    assert all(tag(number) in texts(leaf()) for number in (1, 2, 3))
    assert sound(bank)


def test_a_corrected_fact_gives_way_but_not_one_a_person_has_settled(model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, "c", [1, 2])
    model.enqueue("- fact: The crane is green. [1]\n- fact: The ferry is late. [2]\n- fact: The form is new. [2]")
    run(MONDAY + HOUR)
    Fact.objects.filter(text__startswith="The ferry").update(pinned=True)
    Fact.objects.filter(text__startswith="The form").update(edited_by="alice", text="The form is old.")
    say(bank, "c", "The crane is blue now.", at=MONDAY + 2 * HOUR)
    model.enqueue("- fact: The crane turned blue. [F1,1]")
    run(MONDAY + 3 * HOUR)
    assert "[F2]" not in prompt_of(model.history[-1])
    written = set(leaf().facts.filter(detail=False).values_list("text", flat=True))
    assert written == {"The crane turned blue.", "The ferry is late.", "The form is old."}
    assert sound(bank)


def test_a_leaf_extended_often_is_made_anew_from_its_turns(model: ScriptedLLM, tuned: Any) -> None:
    """flocks: a full rebuild now and then bounds drift. What a person settled stays."""
    tuned(REBUILD_AFTER_UPDATES=2)
    bank = make_bank()
    for number in range(5):
        talk(bank, "c", [number], at=MONDAY + number * HOUR)
        run(MONDAY + number * HOUR + 30 * MINUTE)
        if number == 0:
            Fact.objects.update(pinned=True)
    assert [shown(model, number) for number in range(5)] == [2, 2, 2, 1, 1]
    assert (leaf().updates, leaf().output_count) == (1, 5)
    assert leaf().facts.filter(pinned=True).exists()
    assert sound(bank)


def test_a_leaf_too_long_to_be_read_at_once_is_extended_for_ever(model: ScriptedLLM, tuned: Any) -> None:
    tuned(REBUILD_AFTER_UPDATES=1, TURNS_PER_SUMMARY=3)
    bank = make_bank()
    for number in range(10):
        talk(bank, "c", [number], at=MONDAY + number * HOUR)
        run(MONDAY + number * HOUR + 30 * MINUTE)
        assert sound(bank)
    assert (chat_of(bank, "c").pending_outputs, leaf().output_count) == (0, 10)


def test_more_turns_than_one_summary_reads_are_read_in_several_at_once(model: ScriptedLLM, tuned: Any) -> None:
    tuned(TURNS_PER_SUMMARY=4, DUE_AFTER_TURNS=2)
    bank = make_bank()
    talk(bank, "c", range(10))
    run(MONDAY + HOUR)
    assert [shown(model, number) for number in range(10)] == [1] * 10
    assert leaf().output_count == 10
    assert sound(bank)


def test_a_long_chat_reaches_the_model_turn_by_turn_exactly_once(model: ScriptedLLM) -> None:
    """100 turns as they come; resumed after its roll-up, only the new turns."""
    bank = make_bank(max_tokens=200)
    for number in range(0, 100, 10):
        talk(bank, "c", range(number, number + 10), at=MONDAY + number * MINUTE)
        run(MONDAY + (number + 9) * MINUTE)
    run(MONDAY + DAY)
    assert [shown(model, number) for number in range(100)] == [1] * 100
    run(MONDAY + 9 * DAY)
    assert leaf().parent_id
    calls = len(model.history)
    talk(bank, "c", range(100, 105), at=MONDAY + 10 * DAY)
    run(MONDAY + 10 * DAY + HOUR)
    assert len(model.history) == calls + 1
    assert re.findall(r"ORD-\d+", prompt_of(model.history[-1])) == [tag(number) for number in range(100, 105)]
    assert [entry.output_count for entry in Entry.objects.leaves().order_by("pk")] == [100, 5]
    assert sound(bank)


def test_a_long_chat_read_at_once_reaches_the_model_exactly_once_too(model: ScriptedLLM, tuned: Any) -> None:
    tuned(CHUNK_FROM_TOKENS=1500, CHUNK_TOKENS=1500, INPUT_TOKENS=1500)
    bank = make_bank()
    talk(bank, "c", range(200))
    run(MONDAY + DAY)
    assert [shown(model, number) for number in range(200)] == [1] * 200
    assert leaf().output_count == 200
    assert sound(bank)


# --- failing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["", "Sorry, no.", "- fact: It costs 4711 euros. [1]", "- fact: The crane. [9]"])
def test_for_an_answer_without_one_valid_line_sentences_stand_in_and_it_is_asked_for_again(
    model: ScriptedLLM, answer: str
) -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    model.enqueue(answer)
    report = run(MONDAY + HOUR)
    assert (report.failed, leaf().method, chat_of(bank, "c").attempts) == (1, STAND_IN_METHOD, 1)
    assert sound(bank)
    run(MONDAY + 2 * HOUR)
    assert (leaf().provisional, leaf().method[:8], chat_of(bank, "c").attempts) == (False, "scripted", 0)
    assert sound(bank)


def test_a_chat_without_a_usable_answer_pauses_longer_each_time_and_is_extracted(model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    model.answer = "Sorry, no."
    pauses, now = [], MONDAY + HOUR
    for attempt in range(1, 5):
        run(now)
        chat = chat_of(bank, "c")
        assert (chat.attempts, chat.last_error.startswith("No usable line")) == (attempt, True)
        assert chat.due_at
        pauses.append((chat.due_at - now).total_seconds())
        now = chat.due_at
    assert all(30 * 2**n <= pause <= 60 * 2**n for n, pause in enumerate(pauses))
    run(now)
    assert (leaf().provisional, chat_of(bank, "c").parked_at, len(model.history)) == (True, None, 5)
    assert sound(bank)
    run(now + DAY)
    assert len(model.history) == 5


def test_a_parked_chat_is_tried_again_when_somebody_asks(model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    Chat.objects.update(parked_at=MONDAY, attempts=5, due_at=None)
    assert services.retry_parked(bank, actor="alice", now=MONDAY + DAY) == 1
    run(MONDAY + DAY)
    assert leaf().output_count == 1
    assert bank.events.filter(action="retry").count() == 1


def test_an_outage_parks_nobody_however_long_it_lasts(model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    model.answer = LLMUnavailable("HTTP 503")
    for hours in range(1, 49):
        run(MONDAY + hours * HOUR)
    assert chat_of(bank, "c").parked_at is None
    model.answer = note_taker
    run(MONDAY + 51 * HOUR)
    assert leaf().output_count == 1


def test_asked_for_on_demand_the_model_s_complaint_reaches_the_one_who_asked(model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    model.enqueue(LLMRejected("HTTP 400: policy"))
    with pytest.raises(LLMRejected, match="HTTP 400: policy"):
        services.summarise_now(bank, chat_key="c", now=MONDAY)
    report = services.summarise_now(bank, chat_key="c", now=MONDAY)
    assert report.summarised == 1
    assert tag(1) in block_of(bank)[0]
    assert services.summarise_now(bank, chat_key="c", now=MONDAY).summarised == 0


def test_a_late_delivery_of_a_task_does_nothing(model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    chat = chat_of(bank, "c").pk
    assert summarise_chat(chat, now=MONDAY + HOUR)
    assert summarise_chat(chat, now=MONDAY + HOUR) is None
    talk(bank, "c", [2], at=MONDAY + HOUR)
    assert summarise_chat(chat, now=MONDAY + HOUR) is None  # not idle yet
    assert summarise_chat(chat + 1000, now=MONDAY + HOUR) is None
    assert len(model.history) == 1


# --- truth over time -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_model")
def test_of_an_overtaken_fact_no_maimed_part_remains() -> None:
    bank = make_bank()
    say(bank, "old", "Design is dragging a bit, so the customer portal launches on June 23, 2026.")
    say(bank, "new", "The launch of the customer portal is moved from June 23 to July 1.", at=MONDAY + HOUR)
    run(MONDAY + DAY)
    [overtaken] = chat_of(bank, "old").entries.get().facts.all()
    assert "July 1" in overtaken.superseded_by.text
    assert sound(bank)

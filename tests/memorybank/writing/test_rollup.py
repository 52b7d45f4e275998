"""Rolling up: digests of closed periods from leaf facts; nothing is lost or counted twice."""

import re
from datetime import timedelta
from typing import Any

import pytest

from memorybank import services
from memorybank.exceptions import LLMRejected, LLMUnavailable
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, Entry, Fact, Granularity
from memorybank.writing import rollup
from tests.support.factories import (
    DAY,
    HOUR,
    MONDAY,
    add_fact,
    add_leaf,
    block_of,
    day_of_leaves,
    digests,
    kept_by,
    make_bank,
    note_taker,
    prompt_of,
    run,
    say,
    sentence,
    sound,
    tag,
)

pytestmark = pytest.mark.django_db


def compress(bank: Bank, now: Any) -> int:
    return rollup.roll_up(bank.pk, now=now)


def test_a_closed_day_becomes_a_digest_that_cites_its_leaf_facts(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    leaves = day_of_leaves(bank, 0)
    assert compress(bank, MONDAY + 2 * DAY) == 1
    [digest] = digests()
    assert {leaf.pk for leaf in digest.children.all()} == {leaf.pk for leaf in leaves}
    assert (digest.output_count, digest.first_at, digest.last_at) == (4, MONDAY, MONDAY)
    assert digest.method.startswith("scripted digest@")
    cited = set(digest.facts.exclude(sources=None).values_list("sources", flat=True))
    assert cited <= set(Fact.objects.filter(entry__in=leaves).values_list("pk", flat=True))
    assert "the notes of the day 2026-03-02" in prompt_of(model.history[0])
    assert sound(bank)


def test_what_a_digest_lost_is_counted_for_whoever_looks_after_the_bank(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    day_of_leaves(bank, 0)
    text = sentence(0)
    model.answer = f"- fact: {text} [1]\n- fact: The crane lifts 77777 tons. [2]\n- left out [3,4]"
    compress(bank, MONDAY + 2 * DAY)
    lost = services.statistics(bank)
    assert (lost.dropped_lines, lost.left_out) == (1, 2)


def test_nothing_rolls_up_while_memory_fits_the_budget_and_a_quarter(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=2000)
    for day in range(5):
        day_of_leaves(bank, day)
    assert Entry.objects.count() == 20
    assert compress(bank, MONDAY + 90 * DAY) == 0
    assert (digests(), model.history) == ([], [])


def test_detail_beside_a_model_s_notes_puts_no_pressure_on_memory() -> None:
    bank = make_bank(max_tokens=200)
    leaves, sizes = day_of_leaves(bank, 0), {}
    Fact.objects.update(detail=True)
    for leaf in leaves:
        noted = add_fact(leaf, sentence(1000 + leaf.pk), position=9)
        Entry.objects.filter(pk=leaf.pk).update(tokens=leaf.tokens + noted.tokens, method="model")
        sizes[leaf.pk] = noted.tokens
    assert {node.id: node.tokens for node in bank.entries.all().frontier()} == sizes


def test_a_day_is_not_digested_just_before_the_last_of_its_chats_is_summarised(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    day_of_leaves(bank, 0)
    day_of_leaves(bank, 1)
    say(bank, "late", sentence(1), at=MONDAY)
    now = MONDAY + 3 * DAY
    assert (compress(bank, now), model.history) == (0, [])
    bank.refresh_from_db()
    assert bank.consolidate_at == now + rollup.RECHECK_DELAY  # whatever becomes of the chat
    run(now)
    first = digests()[0]
    assert (first.period_start, first.output_count) == (MONDAY.date(), 5)
    assert len(model.history) == 1 + len(digests())
    assert sound(bank)


def test_it_stops_as_soon_as_memory_fits_the_oldest_days_first(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=600)
    for day in range(4):
        day_of_leaves(bank, day)
    model.answer = lambda messages: note_taker(messages).splitlines()[0]
    done = compress(bank, MONDAY + 5 * DAY)
    assert 0 < done < 4
    assert [digest.period_start for digest in digests()] == [(MONDAY + n * DAY).date() for n in range(done)]
    live = sum(Entry.objects.live().values_list("tokens", flat=True))
    assert live <= 600


def test_all_granularities_together_lose_nothing_and_digest_every_period_once(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    for day in range(0, 84, 2):
        day_of_leaves(bank, day, chats=2, facts=2)
        run(MONDAY + day * DAY + HOUR)
    run(MONDAY + 140 * DAY)
    assert {entry.granularity for entry in Entry.objects.live()} == {Granularity.BACKGROUND, Granularity.MONTH}
    assert sum(entry.output_count for entry in Entry.objects.live()) == 84
    assert len(model.history) <= 42 + 12 + 3
    assert sound(bank)
    calls = len(model.history)
    run(MONDAY + 400 * DAY)
    assert len(model.history) == calls


def test_a_small_period_s_digest_stands_for_its_facts_without_a_call_and_without_a_copy(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    day_of_leaves(bank, 0, chats=1, facts=2)
    day_of_leaves(bank, 30, chats=4, facts=3)
    assert compress(bank, MONDAY + 3 * DAY) == 1
    [digest] = digests()
    assert digest.method == "carried over"
    assert [Fact.objects.get(pk=pk).text for pk in kept_by(digest)] == [sentence(0), sentence(1)]
    assert digest.tokens == sum(entry.tokens for entry in digest.children.all())
    assert Fact.objects.filter(text=sentence(0)).count() == 1 and not digest.facts.exists()
    assert model.history == []


def test_of_facts_that_say_the_same_a_digest_stands_for_the_first(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    first, second = (add_leaf(bank, key, [sentence(1)], at=MONDAY) for key in "ab")
    day_of_leaves(bank, 30, chats=4, facts=3)
    assert compress(bank, MONDAY + 3 * DAY) == 1
    [digest] = digests()
    assert (kept_by(digest), digest.tokens) == ([first.facts.get().pk], second.tokens)


def test_a_digest_of_digests_is_made_from_what_those_keep(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    for day in range(3):
        day_of_leaves(bank, day, chats=1, facts=2)
    day_of_leaves(bank, 40, chats=5)
    compress(bank, MONDAY + 20 * DAY)
    [week] = digests("week")
    shown = [*kept_by(week), *(cited for fact in week.facts.all() for cited in fact.citations)]
    texts = set(Fact.objects.filter(pk__in=shown).values_list("text", flat=True))
    assert texts and texts <= {sentence(day * 100 + n) for day in range(3) for n in range(2)}
    assert sound(bank)


def test_digests_are_made_from_leaf_facts_never_from_digest_prose(model: ScriptedLLM) -> None:
    """Wording drifts at most once."""
    bank = make_bank(max_tokens=200)
    model.answer = lambda messages: "- fact: Much was said about cranes and ferries, as ever. [1,2,3,4,5,6]"
    for day in range(3):
        day_of_leaves(bank, day)
    Entry.objects.update(method="a model")
    compress(bank, MONDAY + 5 * DAY)
    assert len(digests()) == 3
    before = len(model.history)
    day_of_leaves(bank, 40, chats=5)
    compress(bank, MONDAY + 20 * DAY)
    [week] = model.history[before:]
    assert "as ever" not in prompt_of(week)
    days = re.findall(r"^\[\d+\] \((\d+) March 2026\)", prompt_of(week), re.M)
    assert days == ["2"] * 16 + ["3"] * 16 + ["4"] * 16  # also what the days did not tell


def test_facts_move_with_the_tree_and_lines_of_absorbed_digests_leave_the_running(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    model.answer = "- fact: Much was said about cranes and ferries, as ever. [1,2,3,4,5,6]"
    leaves = [leaf.pk for leaf in day_of_leaves(bank, 0)]
    tiers = Fact.objects.filter(entry__in=leaves).values_list("tier", flat=True).order_by().distinct()
    assert list(tiers) == [Granularity.CONVERSATION.tier]
    compress(bank, MONDAY + 2 * DAY)
    [day] = digests()
    assert (list(tiers.all()), day.facts.get().tier) == ([Granularity.DAY.tier], Granularity.DAY.tier)
    day_of_leaves(bank, 1)
    compress(bank, MONDAY + 20 * DAY)
    assert (list(tiers.all()), day.facts.get().tier) == ([Granularity.WEEK.tier], None)
    assert sound(bank)


def test_a_straggler_folds_in_by_one_re_derivation_of_the_digest_that_stands(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    day_of_leaves(bank, 0)
    compress(bank, MONDAY + 2 * DAY)
    late = add_leaf(bank, "late", [sentence(77)], at=MONDAY + HOUR)
    day_of_leaves(bank, 3)
    assert compress(bank, MONDAY + 3 * DAY) == 1
    late.refresh_from_db()
    [digest] = digests()
    assert (late.parent_id, digest.output_count) == (digest.pk, 5)
    assert tag(77) in prompt_of(model.history[-1]) and tag(0) in prompt_of(model.history[-1])
    assert len(model.history) == 2
    assert sound(bank)


def test_a_straggler_of_a_month_long_digested_folds_into_the_month(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    for day in range(4):
        day_of_leaves(bank, day)
    run(MONDAY + 100 * DAY)
    [month] = Entry.objects.live()
    add_leaf(bank, "late", [sentence(999)], at=MONDAY)
    day_of_leaves(bank, 99)
    run(MONDAY + 100 * DAY + HOUR)
    assert Entry.objects.get(chat__key="late").parent_id == month.pk
    assert Entry.objects.get(pk=month.pk).output_count == 17
    assert sound(bank)


def test_facts_a_person_hid_or_a_chat_keeps_private_are_not_digested(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    leaves = day_of_leaves(bank, 0, chats=4)
    Fact.objects.filter(entry=leaves[0]).update(hidden=True)
    Fact.objects.filter(entry=leaves[1]).update(quarantine="reads like an instruction")
    Chat.objects.filter(pk=leaves[2].chat_id).update(private=True)
    compress(bank, MONDAY + 2 * DAY)
    cited = set(digests()[0].facts.values_list("sources", flat=True)) or set(kept_by(digests()[0]))
    assert cited and cited <= set(leaves[3].facts.values_list("pk", flat=True))


def test_too_many_facts_are_digested_in_parts_each_shown_once(model: ScriptedLLM, tuned: Any) -> None:
    tuned(DIGEST_INPUT_TOKENS=400)
    bank = make_bank(max_tokens=1000)
    day_of_leaves(bank, 0, chats=20, facts=4)
    compress(bank, MONDAY + 2 * DAY)
    prompts = [prompt_of(call) for call in model.history]
    assert len(prompts) > 4
    assert [sum(tag(n) in prompt for prompt in prompts) for n in range(80)] == [1] * 80
    assert len(digests()) == 1


@pytest.mark.parametrize("how", ["no model", "nothing"])
def test_without_words_of_a_model_a_digest_is_the_best_facts_that_fit(
    model: ScriptedLLM, settings: Any, how: str
) -> None:
    model.answer = "- nothing"
    if how == "no model":
        settings.MEMORYBANK = {}
    bank = make_bank(max_tokens=200)
    leaves = day_of_leaves(bank, 0, chats=5)
    compress(bank, MONDAY + 2 * DAY)
    [digest] = digests()
    assert digest.method == "extractive/1"
    assert 0 < len(kept_by(digest)) < 15
    assert set(kept_by(digest)) <= set(Fact.objects.filter(entry__in=leaves).values_list("pk", flat=True))
    assert not digest.facts.exists()
    assert sound(bank)


# --- failing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", [LLMUnavailable("HTTP 503"), LLMRejected("HTTP 400"), "Sorry, no."])
def test_a_failure_keeps_the_sources_shows_the_best_fit_and_is_tried_again_later(
    model: ScriptedLLM, problem: Any
) -> None:
    bank = make_bank(max_tokens=200)
    day_of_leaves(bank, 0)
    model.answer = problem
    report = run(MONDAY + 2 * DAY)
    assert (report.failed, report.rolled_up, Entry.objects.live().count()) == (1, 0, 4)
    bank.refresh_from_db()
    assert bank.last_error and bank.consolidate_at and bank.consolidate_at > MONDAY + 2 * DAY
    assert 0 < block_of(bank)[1] <= 200
    model.answer = note_taker
    run(MONDAY + 2 * DAY + HOUR)
    assert len(digests()) == 1
    bank.refresh_from_db()
    assert (bank.attempts, bank.last_error) == (0, "")


def test_what_was_digested_before_the_failure_stands(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    for day in range(3):
        day_of_leaves(bank, day)
    model.enqueue(note_taker, LLMUnavailable("HTTP 503"))
    with pytest.raises(LLMUnavailable):
        compress(bank, MONDAY + 5 * DAY)
    assert [digest.period_start for digest in digests()] == [MONDAY.date()]
    assert sound(bank)


def test_a_failing_bank_is_asked_for_less_and_less_often(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    day_of_leaves(bank, 0)
    model.answer = "Sorry, no."
    for minutes in range(0, 24 * 60, 10):
        services.run(now=MONDAY + 2 * DAY + timedelta(minutes=minutes))
    assert 20 <= len(model.history) <= 55

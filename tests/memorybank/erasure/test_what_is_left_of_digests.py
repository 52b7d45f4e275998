"""After an erasure the other lines of a written digest stand until a model has rewritten it, even if it fails."""

import re

import pytest

from memorybank import llm, services
from memorybank.exceptions import LLMUnavailable
from memorybank.llm.scripted import Answer, ScriptedLLM
from memorybank.models import Bank, Chat, Entry, Fact, FactOutput, Output
from tests.support.factories import (
    DAY,
    HOUR,
    MONDAY,
    add_fact,
    day_of_leaves,
    digests,
    make_bank,
    note_taker,
    run,
    say,
    sound,
)

pytestmark = pytest.mark.django_db

NOW = MONDAY + 90 * DAY + 2 * HOUR
WORD = "quokkaberry"
TRUCKS = ("Omar drives the orange truck to Lisbon.", "Ines drives the yellow truck to Porto.")
SECRET = f"The {WORD} contract was signed on Friday for 7731904 euro."


def written_month() -> tuple[Bank, Output, dict[int, str]]:
    """A bank with a month that a model wrote; the turn to forget, and the lines that do not rest on it."""
    bank = make_bank(max_tokens=400)
    erased = say(bank, "contract", SECRET)
    say(bank, "contract", TRUCKS[0], at=MONDAY + HOUR)
    for number in range(8):
        say(bank, f"other{number}", f"{TRUCKS[1]} That is trip number {4410 + number}.", at=MONDAY + number * HOUR)
    for day in (0, 1, 8, 35, 70):
        run(MONDAY + day * DAY + 3 * HOUR)
    day_of_leaves(bank, 90, chats=8)
    run(MONDAY + 90 * DAY + HOUR)
    [month] = digests("month")
    gone = FactOutput.objects.filter(output=erased).values("fact")
    lines = month.facts.exclude(sources__in=gone).order_by("position")
    assert month.method.startswith("scripted") and 1 < len(lines) < month.facts.count()
    return bank, erased, dict(lines.values_list("pk", "text"))


def add_shared_note(bank: Bank) -> Entry:
    """Let the leaf have a note that rests on both its turns, so that forgetting one makes it stale; return the leaf."""
    leaf = Entry.objects.leaves().get(chat__key="contract")
    turns = list(Output.objects.filter(chat=leaf.chat).values_list("pk", flat=True))
    note = add_fact(leaf, "The contract and the truck are one matter.", position=50, citations=turns)
    Fact.objects.filter(pk=note.pk).update(tier=list(leaf.upwards())[-1].tier)
    return leaf


def forget(bank: Bank, output: Output) -> None:
    services.erase(bank, output=output.pk, actor="priya", now=NOW)


def month_lines() -> dict[int, str]:
    [month] = digests("month")
    return dict(month.facts.order_by("position").values_list("pk", "text"))


def block(bank: Bank) -> str:
    return services.prompt_memory(Bank.objects.get(pk=bank.pk), now=NOW).block.text


def in_block(bank: Bank, lines: dict[int, str]) -> set[str]:
    """The statements of these lines, without their dates, that stand in the block."""
    return {line.rpartition(") ")[2] for line in lines.values()} & set(re.findall(r"[A-Z][^.)]+\.", block(bank)))


def test_the_other_lines_stand_where_no_model_is_configured_any_more(model: ScriptedLLM) -> None:
    bank, erased, lines = written_month()
    shown = in_block(bank, lines)
    with llm.using("summary", None):
        forget(bank, erased)
        run(NOW)
        run(NOW + HOUR)
    assert month_lines() == lines
    assert shown and in_block(bank, lines) >= shown
    assert WORD not in block(bank)
    assert not Entry.objects.filter(stale=True).exists() and not Chat.objects.filter(stale=True).exists()
    assert sound(bank)


def test_without_a_model_pages_say_that_a_summary_waits_for_one(model: ScriptedLLM) -> None:
    bank, erased, lines = written_month()
    [month] = digests("month")
    facts = FactOutput.objects.filter(output__chat__key="contract").values_list("fact", flat=True)
    shared = add_fact(month, "Contract and truck: one matter.", position=90, citations=list(facts))
    Fact.objects.filter(pk=shared.pk).update(tier=month.tier)
    calls = len(model.history)
    with llm.using("summary", None):
        forget(bank, erased)
        run(NOW)
        assert services.count_stale_entries(bank) == 1
    say(bank, "later", "A new pump came.", at=NOW)
    run(NOW + DAY)
    assert lines.keys().isdisjoint(month_lines()) and len(model.history) > calls
    assert services.count_stale_entries(bank) == 0
    assert sound(bank)


def test_what_others_said_of_a_lost_line_is_told_until_a_model_writes_again(model: ScriptedLLM) -> None:
    bank, erased, _ = written_month()
    [month] = digests("month")
    facts = list(FactOutput.objects.filter(output__chat__key="contract").values_list("fact", flat=True))
    month.facts.filter(sources__in=facts).delete()
    shared = add_fact(month, "Contract and truck: one matter.", position=90, citations=facts)
    Fact.objects.filter(pk=shared.pk).update(tier=month.tier)
    with llm.using("summary", None):
        forget(bank, erased)
        run(NOW)
        assert "orange truck to Lisbon" in block(bank).partition("Further detail:")[0] and WORD not in block(bank)
    assert sound(bank)
    say(bank, "later", "A new pump came.", at=NOW)
    run(NOW + DAY)
    assert not digests("month")[0].kept.exists() and sound(bank)


@pytest.mark.parametrize("answer", [LLMUnavailable("down"), "Sorry, no.", "- nothing"])
def test_the_other_lines_stand_while_the_model_fails(model: ScriptedLLM, answer: Answer) -> None:
    bank, erased, lines = written_month()
    model.answer = answer
    shown = in_block(bank, lines)
    forget(bank, erased)
    for day in range(3):
        run(NOW + day * HOUR)
    assert lines.items() <= month_lines().items()
    assert shown and in_block(bank, lines) >= shown
    assert sound(bank)


def test_the_other_lines_stand_when_the_model_fails_between_notes_and_digest(model: ScriptedLLM) -> None:
    bank, erased, lines = written_month()
    shared = add_shared_note(bank)
    forget(bank, erased)
    model.enqueue("- fact: The truck to Lisbon is orange, Omar drives [1]")
    model.answer = LLMUnavailable("down")
    run(NOW)
    assert Fact.objects.filter(entry=shared, text__contains="The truck to Lisbon").exists()
    assert month_lines() == lines
    assert sound(bank)
    model.answer = note_taker
    run(NOW + DAY)
    assert lines.keys().isdisjoint(month_lines())
    assert not Entry.objects.filter(stale=True).exists()
    assert sound(bank)


def test_the_other_lines_stand_at_the_cap_and_are_rewritten_below_it(model: ScriptedLLM) -> None:
    bank, erased, lines = written_month()
    services.configure(bank, actor="alice", monthly_cap=0, now=NOW)
    before = len(model.history)
    add_shared_note(bank)
    forget(bank, erased)
    for day in range(3):
        run(NOW + day * HOUR)
    assert len(model.history) == before
    assert month_lines() == lines
    assert sound(bank)
    services.configure(bank, actor="alice", monthly_cap=None, now=NOW + 3 * DAY)
    run(NOW + 3 * DAY)
    assert len(model.history) > before
    assert not Entry.objects.filter(stale=True).exists() and not Chat.objects.filter(stale=True).exists()
    assert sound(bank)


def test_new_turns_of_the_chat_are_remembered_beside_the_other_lines(model: ScriptedLLM) -> None:
    bank, erased, lines = written_month()
    add_shared_note(bank)
    forget(bank, erased)
    say(bank, "contract", "The green ferry to Madeira costs 88 euro.", at=NOW)
    with llm.using("summary", None):
        run(NOW + HOUR)
        run(NOW + DAY)
    assert month_lines() == lines
    assert "Madeira" in block(bank)
    assert sound(bank)


def test_a_line_stands_only_if_its_sources_have_all_its_words(model: ScriptedLLM) -> None:
    """The model had read what is gone, and may have told it in other words."""
    bank, erased, lines = written_month()
    [month] = digests("month")
    source = month.facts.get(pk=min(lines)).citations[:1]
    own = add_fact(month, Fact.objects.get(pk=source[0]).text, position=90, citations=source)
    other = add_fact(month, "Somebody signed for a large sum.", position=91, citations=source)
    with llm.using("summary", None):
        forget(bank, erased)
        run(NOW)
    assert own.pk in month_lines()
    assert other.pk not in month_lines()
    assert sound(bank)

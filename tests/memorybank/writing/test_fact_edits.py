"""A person's decisions about facts outrank the model: hidden facts stay hidden, whatever is derived again."""

import json
from datetime import datetime
from typing import Any

import pytest
from django.test import override_settings
from hypothesis import given, settings
from hypothesis import strategies as st

from memorybank import llm, services
from memorybank.exceptions import InvalidInput, LLMUnavailable
from memorybank.language.sentences.splitting import with_full_stop
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Entry, Fact, Output
from tests.support.factories import (
    DAY,
    HOUR,
    MONDAY,
    add_fact,
    add_leaf,
    block_of,
    day_of_leaves,
    digests,
    make_bank,
    note_taker,
    run,
    say,
    sound,
    stored_text,
    talk,
)
from tests.support.scripted_model import SCRIPTED

pytestmark = pytest.mark.django_db

CRANE, FERRY = "The zanzibar crane is orange since Friday.", "The ferry to Lisbon sails every Tuesday."


def visible_text(bank: Bank) -> str:
    """All that leaves a bank: block, notes, hits, and what an export holds of memory."""
    notes = services.prompt_memory(bank, question="Which crane is orange, and when does the ferry sail?").recalled.text
    hits = [hit.text for hit in services.recall(bank, "orange zanzibar crane and the Lisbon ferry")]
    rows = [row for row in services.export(bank, actor="alice") if row["type"] in ("fact", "entry")]
    return "\n".join([block_of(bank)[0], stored_text(bank), notes, *hits, json.dumps(rows, default=str)])


def digested() -> tuple[Bank, Fact]:
    """A day's digest, and its line that rests on both facts."""
    bank = make_bank()
    leaves = [add_leaf(bank, f"c{n}", [text], at=MONDAY) for n, text in enumerate((CRANE, FERRY))]
    times = {"first_at": MONDAY, "last_at": MONDAY, "period_start": MONDAY.date()}
    digest = Entry.objects.create(bank=bank, granularity="day", output_count=2, method="test", **times)
    bank.entries.filter(pk__in=[leaf.pk for leaf in leaves]).absorb_into(digest)
    cited = list(Fact.objects.order_by("pk").values_list("pk", flat=True))
    line = add_fact(digest, "A zanzibar crane is orange and a ferry sails.", citations=cited)
    Bank.objects.touch(bank.pk)
    run(MONDAY + HOUR)
    return bank, line


@pytest.mark.usefixtures("no_model")
def test_a_hidden_fact_is_in_no_block_note_hit_or_export_of_memory_and_comes_back() -> None:
    bank = make_bank()
    for number, text in enumerate((CRANE, FERRY)):
        say(bank, f"c{number}", text, answer="")
    run(MONDAY + HOUR)
    fact = Fact.objects.get(text=CRANE)
    assert visible_text(bank).count("zanzibar") > 3
    assert services.hide(bank, fact_ids=[fact.pk], actor="alice", now=MONDAY + HOUR) == 1
    assert "zanzibar" not in visible_text(bank) and "ferry" in visible_text(bank)
    run(MONDAY + 2 * HOUR)
    assert "zanzibar" not in visible_text(bank)

    assert services.restore(bank, fact_ids=[fact.pk], actor="alice", now=MONDAY + 2 * HOUR) == 1
    run(MONDAY + 3 * HOUR)
    assert CRANE in block_of(bank)[0]
    assert sound(bank)


@pytest.mark.usefixtures("no_model")
def test_a_digest_s_line_is_hidden_with_what_it_rests_on_and_brings_it_back() -> None:
    bank, line = digested()
    alone = Fact.objects.get(text=FERRY)
    services.hide(bank, fact_ids=[line.pk], actor="alice", now=MONDAY + HOUR)
    run(MONDAY + 2 * HOUR)
    assert block_of(bank)[0] == "" and set(Fact.objects.values_list("hidden", flat=True)) == {True}

    services.hide(bank, fact_ids=[alone.pk], actor="alice", now=MONDAY + HOUR)  # for its own sake
    services.restore(bank, fact_ids=[line.pk], actor="alice", now=MONDAY + HOUR)
    run(MONDAY + 3 * HOUR)
    assert set(Fact.objects.filter(hidden=True)) == {alone}
    assert CRANE in block_of(bank)[0] and "ferry" not in block_of(bank)[0]
    assert sound(bank)


@pytest.mark.usefixtures("no_model")
def test_what_two_hidden_lines_rest_on_stays_hidden_until_both_are_back() -> None:
    bank, line = digested()
    crane = Fact.objects.get(text=CRANE)
    other = add_fact(digests()[0], "Something is orange.", position=1, citations=[crane.pk])
    services.hide(bank, fact_ids=[line.pk, other.pk], actor="alice")
    services.restore(bank, fact_ids=[line.pk], actor="alice")
    crane.refresh_from_db()
    assert (crane.hidden, crane.hidden_with) == (True, other)
    services.restore(bank, fact_ids=[other.pk], actor="alice")
    assert not Fact.objects.filter(hidden=True).exists()


def test_a_chat_made_anew_does_not_bring_back_what_was_hidden(model: ScriptedLLM, tuned: Any) -> None:
    tuned(REBUILD_AFTER_UPDATES=0)
    bank = make_bank()
    say(bank, "c", CRANE, answer="")
    model.enqueue("- fact: The zanzibar crane is orange. [1]")
    run(MONDAY + HOUR)
    services.hide(bank, fact_ids=list(Fact.objects.values_list("pk", flat=True)), actor="alice", now=MONDAY + HOUR)
    say(bank, "c", FERRY, at=MONDAY + 2 * HOUR, answer="")
    model.enqueue("- fact: Orange is what the zanzibar crane is. [1]\n- fact: The ferry to Lisbon sails. [2]")
    run(MONDAY + DAY)
    assert "zanzibar" not in visible_text(bank) and "ferry" in block_of(bank)[0]
    assert sound(bank)


def test_of_another_bank_nothing_is_hidden_and_the_trail_names_rows_not_words() -> None:
    bank, elsewhere = make_bank(), make_bank()
    fact = add_leaf(bank, "c", [CRANE], at=MONDAY).facts.get()
    with pytest.raises(Fact.DoesNotExist):
        services.hide(elsewhere, fact_ids=[fact.pk], actor="charlie")
    services.hide(bank, fact_ids=[fact.pk], actor="alice")
    assert services.hide(bank, fact_ids=[fact.pk], actor="alice") == 0
    services.restore(bank, fact_ids=[fact.pk], actor="bob")
    trail = bank.events.filter(action__in=["hide", "show"]).values_list("actor", "action", "detail")
    assert list(trail) == [("bob", "show", {"facts": [fact.pk]}), ("alice", "hide", {"facts": [fact.pk]})]


# --- pinned, put right, written by hand --------------------------------------------------------------


@pytest.mark.usefixtures("no_model")
def test_a_pinned_fact_is_in_the_block_whatever_it_is_worth_until_it_is_unpinned() -> None:
    bank = make_bank(max_tokens=200)
    for day in range(3):
        day_of_leaves(bank, day)
    run(MONDAY + 4 * DAY)
    shown = {pk for line in services.prompt_memory(bank).block.lines for pk in line.facts}
    worst = Fact.objects.exclude(pk__in=shown)[0]
    assert services.pin(bank, fact_ids=[worst.pk], actor="alice", now=MONDAY + 4 * DAY) == 1
    assert worst.text in block_of(bank)[0]  # at once
    assert services.pin(bank, fact_ids=[worst.pk], actor="alice") == 0
    assert services.unpin(bank, fact_ids=[worst.pk], actor="bob", now=MONDAY + 4 * DAY) == 1
    assert worst.text not in block_of(bank)[0]
    assert list(bank.events.values_list("actor", "action")[:2]) == [("bob", "unpin"), ("alice", "pin")]
    assert sound(bank)


def test_a_pinned_line_of_a_digest_outlives_the_digest(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    model.answer = lambda messages: f"- fact: Several orders {'and then some more orders ' * 9}were looked at. [1,2,3]"
    for day in range(3):
        day_of_leaves(bank, day)
    run(MONDAY + 4 * DAY)
    line = digests()[0].facts.get()
    services.pin(bank, fact_ids=[line.pk], actor="alice", now=MONDAY + 4 * DAY)
    for day in range(3, 9):
        day_of_leaves(bank, day)
    run(MONDAY + 60 * DAY)
    line.refresh_from_db()
    assert line.entry.parent_id and line.text in block_of(bank)[0]
    assert sound(bank)
    services.unpin(bank, fact_ids=[line.pk], actor="alice", now=MONDAY + 60 * DAY)
    assert sound(bank)


@pytest.mark.usefixtures("no_model")
def test_an_edited_fact_says_who_corrects_whom_and_keeps_what_was_said() -> None:
    bank = make_bank()
    say(bank, "c", CRANE, answer="")
    run(MONDAY + HOUR)
    fact = Fact.objects.get()
    assert services.edit_facts(
        bank, fact_ids=[fact.pk], text="Bremen painted it green.\n", actor="alice", now=MONDAY + HOUR
    )
    fact.refresh_from_db()
    assert (fact.text, fact.speaker, fact.edited_by) == ("Bremen painted it green.", "alice, correcting Priya", "alice")
    assert (fact.original, fact.original_speaker, len(fact.citations)) == (CRANE, "Priya", 1)
    memory = services.prompt_memory(bank, question="Which zanzibar crane is orange?")
    assert "alice, correcting Priya: Bremen painted it green." in memory.block.text
    assert "orange" not in memory.block.text + memory.recalled.text + stored_text(bank)
    hits = [hit.text for hit in services.recall(bank, "Which zanzibar crane is orange?")]
    assert hits and not any("orange" in hit for hit in hits)
    assert not services.edit_facts(bank, fact_ids=[fact.pk], text=fact.text, actor="bob")
    assert services.edit_facts(bank, fact_ids=[fact.pk], text=CRANE, actor="bob", now=MONDAY + HOUR)  # takes it back
    fact.refresh_from_db()
    assert (fact.text, fact.speaker, fact.edited_by, fact.original) == (CRANE, "Priya", "", "")
    assert CRANE in block_of(bank)[0]
    assert list(bank.events.values_list("actor", "detail")[:1]) == [("bob", {"facts": [fact.pk], "retyped": True})]
    assert sound(bank)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("kind", Fact.Kind.values)
@pytest.mark.parametrize("texts", [(CRANE, "Which crane?", "A crane."), ("Which crane?", "A crane.", "Whose crane?")])
def test_a_line_whose_edit_is_undone_has_its_kind_back(kind: str, texts: tuple[str, ...]) -> None:
    bank = make_bank()
    fact = add_leaf(bank, "c", [texts[0]], at=MONDAY).facts.get()
    Fact.objects.update(kind=kind)
    for _ in range(2):
        for text in texts[1:]:
            services.edit_facts(bank, fact_ids=[fact.pk], text=text, actor="alice")
        services.restore_original(bank, fact_ids=[fact.pk], actor="alice")
        fact.refresh_from_db()
        assert (fact.text, fact.kind) == (texts[0], kind)


VALVES = "Valve A opens at 4 bar.", "Valve B opens at 4 bar."
PLACES = "Anna signed the lease in Oslo.", "Anna signed the lease in Bergen."
ROOMS = "The kitchen walls are painted red.", "The hallway walls are painted red."


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(("one", "other"), [VALVES, PLACES, VALVES[::-1], PLACES[::-1]])
def test_a_decision_on_one_of_two_alike_lines_leaves_the_other(one: str, other: str) -> None:
    bank = make_bank()
    say(bank, "valves", f"{one} {other}", at=MONDAY, answer="")
    run(MONDAY + HOUR)
    edited, sibling = Fact.objects.get(text=one), Fact.objects.get(text=other)
    changed = one.replace("4", "6").replace("the lease", "a contract")
    services.edit_facts(bank, fact_ids=[edited.pk], text=changed, actor="alice", now=MONDAY + HOUR)
    sibling.refresh_from_db()
    assert sibling.superseded_by is None
    [hit] = services.recall(bank, other, kinds=["output"])
    assert (changed in hit.text, one in hit.text, other in hit.text) == (True, False, True)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(("one", "other"), [VALVES, PLACES, ROOMS])
def test_a_hidden_line_leaves_another_that_differs_in_one_word(one: str, other: str) -> None:
    bank = make_bank()
    say(bank, "valves", f"{one} {other}", at=MONDAY, answer="")
    run(MONDAY + HOUR)
    services.hide(bank, fact_ids=[Fact.objects.get(text=one).pk], actor="alice", now=MONDAY + HOUR)
    [hit] = services.recall(bank, other, kinds=["output"])
    assert (one in hit.text, other in hit.text) == (False, True)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    "again", ["Tom's zanzibar salary is 5000 euros a month!", "TOM'S zanzibar salary is 5000 euros a month."]
)
def test_a_hidden_line_is_not_recalled_from_where_it_is_repeated(again: str) -> None:
    bank, said = make_bank(), "Tom's zanzibar salary is 5000 euros a month."
    say(bank, "salary", f"{said} {again}", at=MONDAY, answer="")
    run(MONDAY + HOUR)
    for fact in Fact.objects.filter(text__contains="zanzibar"):
        services.hide(bank, fact_ids=[fact.pk], actor="alice", now=MONDAY + HOUR)
    assert services.recall(bank, "zanzibar salary", kinds=["output"]) == []
    assert "zanzibar" not in services.prompt_memory(bank, question="What is Tom's zanzibar salary?").recalled.text


@pytest.mark.parametrize(
    ("hidden", "draft"),
    [
        ("The zanzibar audit is on 9 June.", "The zanzibar audit is on the 9th of June."),
        ("Tom gets a zanzibar salary of 5k euros a month.", "Tom gets a zanzibar salary of 5,000 euros a month."),
        ("The zanzibar audit is on Tuesday 9 June 2026.", "The zanzibar audit is on Tuesday 2026-06-09."),
    ],
)
def test_a_hidden_line_does_not_come_back_in_another_notation(
    hidden: str, draft: str, model: ScriptedLLM, tuned: Any
) -> None:
    tuned(REBUILD_AFTER_UPDATES=0)
    bank = make_bank()
    say(bank, "audit", hidden, answer="")
    model.enqueue(f"- fact: {hidden} [1]")
    run(MONDAY + HOUR)
    services.hide(bank, fact_ids=list(Fact.objects.values_list("pk", flat=True)), actor="alice", now=MONDAY + HOUR)
    say(bank, "audit", "The ferry to Lisbon sails every Tuesday.", at=MONDAY + 2 * HOUR, answer="")
    model.enqueue(f"- fact: {draft} [1]\n- fact: The ferry to Lisbon sails. [2]")
    run(MONDAY + DAY)
    assert "zanzibar" not in visible_text(bank)


def test_a_note_of_the_sentence_beside_a_hidden_one_is_written(model: ScriptedLLM) -> None:
    bank, said = make_bank(), "{} a year in the harbour office."
    hidden, other = said.format("Anna earns 84,000 euro"), said.format("Tom earns 62,000 euro")
    model.answer = LLMUnavailable("HTTP 500")
    say(bank, "salaries", f"{hidden} {other}", answer="")
    run(MONDAY + HOUR)
    services.hide(bank, fact_ids=[Fact.objects.get(text=hidden).pk], actor="alice", now=MONDAY + HOUR)
    note = "Tom earns 62,000 euro in the harbour office."
    model.answer = f"- fact: {note} [1]\n- fact: In the harbour office, Anna earns 84,000. [1]"
    run(MONDAY + DAY)
    notes = Fact.objects.filter(detail=False).values_list("text", flat=True)
    assert list(notes) == [note]


@pytest.mark.usefixtures("no_model")
def test_an_edited_line_of_a_digest_stands_for_what_it_was_made_of() -> None:
    bank, line = digested()
    say(bank, "fresh", "Hello there.", at=MONDAY + HOUR, answer="")
    right = "The zanzibar crane is green and a ferry sails."
    services.edit_facts(bank, fact_ids=[line.pk], text=right, actor="alice", now=MONDAY + HOUR)
    crane = Fact.objects.get(text=CRANE)
    assert crane.superseded_by == line
    memory = services.prompt_memory(bank, question="Which zanzibar crane is orange?")
    assert right in memory.block.text and "orange" not in memory.block.text + memory.recalled.text
    run(MONDAY + 2 * HOUR)
    assert right in block_of(bank)[0]
    services.edit_facts(bank, fact_ids=[line.pk], text=line.text, actor="alice", now=MONDAY + HOUR)
    crane.refresh_from_db()
    assert crane.superseded_by is None
    assert sound(bank)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("text", ["", " \n", "…", "x" * 1001])
def test_what_cannot_be_a_fact_is_refused_and_changes_nothing(text: str) -> None:
    bank = make_bank()
    fact = add_leaf(bank, "c", [CRANE], at=MONDAY).facts.get()
    for write in (
        lambda: services.edit_facts(bank, fact_ids=[fact.pk], text=text, actor="alice"),
        lambda: services.add_fact(bank, text=text, actor="alice"),
    ):
        with pytest.raises(InvalidInput, match="text: "):
            write()
    assert (Fact.objects.get().text, Output.objects.count()) == (CRANE, 1)


@pytest.mark.usefixtures("no_model")
def test_a_fact_by_hand_is_told_cited_found_and_its_author_s() -> None:
    bank = make_bank()
    fact = services.add_fact(bank, text="The zanzibar crane belongs to Bremen.", actor="alice", now=MONDAY)
    assert "2 March 2026 alice: The zanzibar crane belongs to Bremen." in block_of(bank)[0]
    assert (fact.edited_by, fact.pinned, fact.entry.method) == ("alice", True, "by hand")
    [output] = services.explain(bank, fact_id=fact.pk, actor="alice").outputs
    assert (output.author, output.question) == ("alice", fact.text)
    assert fact.text in [hit.text for hit in services.recall(bank, "Whose is the zanzibar crane?")]
    assert bank.events.filter(action="add").get().detail == {"facts": [fact.pk]}
    run(MONDAY + DAY)
    assert sound(bank)
    fact.entry.chat.delete()  # type: ignore[union-attr]
    assert "zanzibar" not in visible_text(bank)


@pytest.mark.usefixtures("no_model")
def test_by_hand_secrets_are_masked_rules_for_the_model_pass_and_a_bank_that_is_off_takes_nothing() -> None:
    bank = make_bank()
    rule = "The assistant must never mention the Lisbon outage to customers."
    services.add_fact(bank, text=rule, actor="alice", now=MONDAY)
    fact = services.add_fact(bank, text="The door code is 4711#99.", actor="alice", now=MONDAY)
    services.edit_facts(bank, fact_ids=[fact.pk], text="The password is hunter2Summer!", actor="alice", now=MONDAY)
    assert rule in block_of(bank)[0]
    assert (
        "4711#99" not in visible_text(bank) and "hunter2" not in visible_text(bank) and "redacted" in block_of(bank)[0]
    )
    services.disable(bank, actor="alice", now=MONDAY)
    with pytest.raises(InvalidInput, match="off"):
        services.add_fact(bank, text=FERRY, actor="alice", now=MONDAY)
    assert Output.objects.count() == 2


@pytest.mark.usefixtures("no_model")
def test_what_is_masked_later_is_masked_in_what_was_said_first_too() -> None:
    bank = make_bank()
    fact = add_leaf(bank, "c", ["We call it Kestrel-Quartz-77 at home."], at=MONDAY).facts.get()
    services.edit_facts(bank, fact_ids=[fact.pk], text="It has a name.", actor="alice", now=MONDAY)
    say(bank, "d", "The password is Kestrel-Quartz-77.", at=MONDAY + HOUR)
    run(MONDAY + DAY)
    fact.refresh_from_db()
    assert "Kestrel" not in fact.original and "redacted" in fact.original


# --- whatever is derived anew ------------------------------------------------------------------------

DECISIONS = st.lists(st.tuples(st.sampled_from(["pin", "edit", "hide", "add"]), st.integers(0, 30)), max_size=6)


@pytest.mark.long
@pytest.mark.any_database
@settings(max_examples=settings.default.max_examples // 8)  # each is three months
@given(before=DECISIONS, between=DECISIONS, scripted=st.booleans())
def test_no_human_word_is_lost_by_deriving_anew(
    before: list[tuple[str, int]], between: list[tuple[str, int]], scripted: bool
) -> None:
    """Chats go on and are summarised anew, stragglers come, digests are made and absorbed: what was decided holds."""
    options = {"LLMS": {"summary": SCRIPTED}} if scripted else {}
    with override_settings(MEMORYBANK={**options, "REBUILD_AFTER_UPDATES": 0}):
        llm.reset()
        if isinstance(built := llm.get("summary"), ScriptedLLM):
            built.answer = note_taker
        bank = make_bank(max_tokens=300)
        decided: dict[int, tuple[str, str]] = {}
        for round_, choices in enumerate((before, between, [])):
            for chat in range(4):
                talk(bank, f"c{chat % 3}", [round_ * 10 + chat], at=MONDAY + (round_ * 9 + chat) * DAY)
            run(MONDAY + (round_ * 9 + 8) * DAY)
            decide(bank, choices, decided, MONDAY + (round_ * 9 + 8) * DAY)
        run(MONDAY + 90 * DAY)
        assert sound(bank)
        text, whole = block_of(bank, now=MONDAY + 200 * DAY)[0], visible_text(bank)
        for pk, (what, wording) in decided.items():
            fact = Fact.objects.get(pk=pk)
            assert fact.text == wording and fact.citations
            assert fact.hidden == (what == "hide") and (what != "edit" or (fact.edited_by and fact.original))
            assert fact.tier is not None
            if what == "hide":
                assert wording not in whole
            elif what == "edit":
                assert with_full_stop(fact.original) not in text  # a pinned sentence may go on where a note was cut
    llm.reset()


def decide(bank: Bank, choices: list[tuple[str, int]], decided: dict[int, tuple[str, str]], now: datetime) -> None:
    """Each choice, of a fact that nobody has decided about."""
    for number, (what, which) in enumerate(choices):
        free = Fact.objects.filter(bank=bank, tier__isnull=False, hidden=False).exclude(pk__in=decided)
        facts = list(free.filter(superseded_by=None).order_by("pk"))
        if what == "add":
            fact = services.add_fact(bank, text=f"Note {number} of {now:%d %B}: buy rope.", actor="alice", now=now)
        elif facts:
            fact = facts[which % len(facts)]
            if what == "edit":
                text = f"Nobody knows what {number} was about on {now:%d %B}."
                services.edit_facts(bank, fact_ids=[fact.pk], text=text, actor="alice", now=now)
            else:
                getattr(services, what)(bank, fact_ids=[fact.pk], actor="alice", now=now)
        else:
            continue
        decided[fact.pk] = (what, Fact.objects.get(pk=fact.pk).text)

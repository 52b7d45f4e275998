"""What people decide about facts outranks the model: hidden stays hidden, whatever is derived anew."""

import json

import pytest

from memorybank import services
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Entry, Fact

from .factories import (
    DAY,
    HOUR,
    MONDAY,
    add_fact,
    add_leaf,
    block_of,
    digests,
    make_bank,
    run,
    say,
    sound,
    stored_text,
)

pytestmark = pytest.mark.django_db

CRANE, FERRY = "The zanzibar crane is orange since Friday.", "The ferry to Lisbon sails every Tuesday."


def told(bank: Bank) -> str:
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
    assert told(bank).count("zanzibar") > 3
    assert services.hide(bank, fact_ids=[fact.pk], actor="alice", now=MONDAY + HOUR) == 1
    assert "zanzibar" not in told(bank) and "ferry" in told(bank)
    run(MONDAY + 2 * HOUR)
    assert "zanzibar" not in told(bank)

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


def test_a_chat_made_anew_does_not_bring_back_what_was_hidden(model: ScriptedLLM, settings: object) -> None:
    settings.MEMORYBANK = {**settings.MEMORYBANK, "REBUILD_AFTER_UPDATES": 0}  # type: ignore[attr-defined]
    bank = make_bank()
    say(bank, "c", CRANE, answer="")
    model.enqueue("- fact: The zanzibar crane is orange. [1]")
    run(MONDAY + HOUR)
    services.hide(bank, fact_ids=list(Fact.objects.values_list("pk", flat=True)), actor="alice", now=MONDAY + HOUR)
    say(bank, "c", FERRY, at=MONDAY + 2 * HOUR, answer="")
    model.enqueue("- fact: Orange is what the zanzibar crane is. [1]\n- fact: The ferry to Lisbon sails. [2]")
    run(MONDAY + DAY)
    assert "zanzibar" not in told(bank) and "ferry" in block_of(bank)[0]
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

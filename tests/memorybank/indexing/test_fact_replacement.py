"""Outdated facts are superseded whichever chat is summarised first, at a cost independent of history."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memorybank import services
from memorybank.core.turns import ASSISTANT_SPEAKER
from memorybank.indexing import document_writer
from memorybank.indexing.fact_replacement import MAX_COMPARED_FACTS, supersede, supersede_again
from memorybank.models import Bank, Chat, Fact, FactOutput, SearchDocument
from tests.support.factories import DAY, HOUR, MONDAY, add_leaf, cover, make_bank, say, sentence

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_model")]

OLD, NEW = "The launch of the portal is on 3 May.", "The launch of the portal is moved from 3 May to 17 May."


def fact_of(bank: Bank, chat: str, text: str, **more: Any) -> Fact:
    """The one fact of a chat that is summarised and indexed."""
    fact = add_leaf(bank, chat, [text], at=more.pop("at", MONDAY), **more).facts.get()
    document_writer.reindex(bank)
    return fact


def replaced(*facts: Fact) -> list[int | None]:
    """What each of them is replaced by now."""
    return [Fact.objects.get(pk=fact.pk).superseded_by_id for fact in facts]


def test_an_older_fact_of_another_chat_gives_way() -> None:
    bank, elsewhere = make_bank(), make_bank()
    old, other, theirs = fact_of(bank, "a", OLD), fact_of(bank, "b", sentence(1)), fact_of(elsewhere, "a", OLD)
    new = fact_of(bank, "c", NEW, at=MONDAY + HOUR)
    supersede(bank, [new])
    assert replaced(old, other, theirs) == [new.pk, None, None]


def test_a_state_gives_way_to_what_ended_it_and_both_stay_traceable() -> None:
    bank, elsewhere = make_bank(), make_bank()
    texts = "Leo still has access to the vault.", "Leo's access to the vault was revoked."
    old, theirs = fact_of(bank, "a", texts[0]), fact_of(elsewhere, "a", texts[0])
    ended = fact_of(bank, "b", texts[1], at=MONDAY + HOUR)
    later = fact_of(bank, "c", texts[0], at=MONDAY + DAY)
    supersede(bank, [ended])
    assert replaced(old, theirs, later) == [ended.pk, None, None]
    assert list(bank.facts.visible()) == [ended, later]
    notes = services.render(bank, budget=0, recall_budget=300, question="Who has access to the vault?").recalled.text
    assert (notes.count("still has access"), notes.count("revoked")) == (1, 1)


def test_a_value_for_now_gives_way_to_another_by_what_its_turn_is_about() -> None:
    bank = make_bank()
    say(bank, "a", "When does Maple launch?", answer="The current answer is July 10.", at=MONDAY)
    leaf = add_leaf(bank, "a", ["The current answer is July 10."], at=MONDAY + HOUR)
    turn = bank.chats.get(key="a").outputs.earliest("pk")
    FactOutput.objects.filter(fact__entry=leaf).update(output=turn)
    new = fact_of(bank, "b", "Maple moves from July 10 to July 31, 2026.", at=MONDAY + DAY)
    supersede(bank, [new])
    assert replaced(leaf.facts.get()) == [new.pk]


def test_an_older_fact_of_a_chat_that_is_not_indexed_yet_gives_way() -> None:
    bank = make_bank()
    old = fact_of(bank, "a", OLD)
    SearchDocument.objects.all().delete()
    Chat.objects.update(indexed_through=0, index_due=True)
    new = fact_of(bank, "c", NEW, at=MONDAY + HOUR)
    supersede(bank, [new])
    assert replaced(old) == [new.pk]


def test_an_older_fact_of_the_same_chat_gives_way_but_nothing_newer() -> None:
    bank = make_bank()
    facts = add_leaf(bank, "a", [OLD, NEW, OLD], at=MONDAY).facts.order_by("position")
    supersede(bank, [facts[1]])
    assert replaced(*facts) == [facts[1].pk, None, None]


def test_an_older_fact_gives_way_although_it_is_written_after_its_replacement() -> None:
    bank, elsewhere = make_bank(), make_bank()
    fact_of(elsewhere, "a", NEW, at=MONDAY + HOUR)
    new, theirs = fact_of(bank, "a", NEW, at=MONDAY + HOUR), fact_of(elsewhere, "b", sentence(1), at=MONDAY)
    late = fact_of(bank, "b", OLD, at=MONDAY - DAY)
    since = fact_of(bank, "c", OLD, at=MONDAY + DAY)
    for fact in (late, since, theirs):
        supersede(fact.bank, [fact])
    assert replaced(late, since, theirs) == [new.pk, None, None]


def test_an_ended_state_gives_way_although_it_is_written_after_its_end() -> None:
    bank = make_bank()
    ended = fact_of(bank, "a", "Leo's access to the vault was revoked.", at=MONDAY + HOUR)
    late = fact_of(bank, "b", "Leo still has access to the vault.", at=MONDAY - DAY)
    supersede(bank, [late])
    assert replaced(late) == [ended.pk]


def test_a_fact_gives_way_to_the_first_that_is_neither_quarantined_nor_hidden() -> None:
    bank = make_bank()
    newer = [fact_of(bank, key, NEW, at=MONDAY + HOUR) for key in "abcd"]
    Fact.objects.filter(pk=newer[0].pk).update(quarantine="reads like an instruction")
    Fact.objects.filter(pk=newer[1].pk).update(hidden=True)
    late = fact_of(bank, "e", OLD, at=MONDAY - DAY)
    supersede(bank, [late])
    assert replaced(late) == [newer[2].pk]


@pytest.mark.usefixtures("no_model")
def test_a_chat_that_is_read_anew_brings_back_nothing_that_was_over() -> None:
    bank = make_bank()
    say(bank, "a", OLD, answer="")
    say(bank, "b", NEW, answer="", at=MONDAY + DAY)
    cover(bank)
    before = services.render(bank).text
    for private in (True, False):
        services.set_audience(bank, chat_key="a", readers=() if private else None, actor="alice", now=MONDAY + 2 * DAY)
    cover(bank)
    assert list(bank.facts.visible().values_list("text", flat=True)) == [NEW]
    assert services.render(bank).text == before


@pytest.mark.parametrize("settled", [{"pinned": True}, {"edited_by": "alice"}])
def test_what_a_person_settled_stands(settled: dict[str, Any]) -> None:
    bank = make_bank()
    old, new = fact_of(bank, "a", OLD, **settled), fact_of(bank, "b", NEW)
    supersede(bank, [new])
    assert replaced(old) == [None]


def test_a_fact_that_is_held_back_leaves_what_it_replaces_to_the_next() -> None:
    bank = make_bank()
    old = fact_of(bank, "a", OLD)
    held, new = (fact_of(bank, key, NEW, at=MONDAY + HOUR) for key in "bc")
    Fact.objects.filter(pk=held.pk).update(quarantine="reads like an instruction")
    held.refresh_from_db()
    supersede(bank, [held, new])
    assert replaced(old) == [new.pk]


def test_the_values_of_one_commit_are_looked_for_together_however_long_the_history() -> None:
    bank = make_bank()
    other = "We write invoices with PostgreSQL 16 instead of MySQL 8."

    def queries(*facts: Fact) -> int:
        with CaptureQueriesContext(connection) as captured:
            supersede(bank, list(facts))
        return len(captured)

    first = queries(fact_of(bank, "a", NEW))
    for number in range(30):
        fact_of(bank, f"c{number}", sentence(number), at=MONDAY + number * DAY)
    facts = fact_of(bank, "b", NEW), fact_of(bank, "d", other)
    assert queries(*facts) - len(facts) <= first <= 6
    assert queries(fact_of(bank, "e", sentence(99), at=MONDAY + 99 * DAY)) == 1


def two_changes(**more: Any) -> tuple[Bank, Fact, list[Fact]]:
    """A fact, and two chats that say the same of what replaced it; the first of them ended it."""
    bank = make_bank()
    say(bank, "a", OLD, answer="")
    for number, key in enumerate("bc", start=1):
        say(bank, key, NEW, answer="", at=MONDAY + number * DAY, **more)
    cover(bank)
    old, *changes = bank.facts.filter(entry__chat__isnull=False).order_by("said_on")
    assert replaced(old) == [changes[0].pk]
    return bank, old, changes


@pytest.mark.parametrize("done", ["erased", "private", "hidden"])
def test_what_two_chats_replaced_does_not_come_back_when_one_of_them_goes(done: str) -> None:
    bank, old, (first, second) = two_changes()
    if done == "erased":
        services.erase(bank, chat="b", actor="alice")
    elif done == "private":
        services.set_audience(bank, chat_key="b", readers=("alice",), actor="alice")
    else:
        services.hide(bank, fact_ids=[first.pk], actor="alice")
    assert replaced(old) == [second.pk]
    assert OLD not in services.render(bank).text


def test_what_a_single_chat_replaced_comes_back_when_it_goes() -> None:
    bank, old, _changes = two_changes()
    for chat in "bc":
        services.erase(bank, chat=chat, actor="alice")
    assert replaced(old) == [None]


def test_what_a_turn_replaced_stays_so_when_another_turn_of_its_chat_says_the_same() -> None:
    bank, old, (first, second) = two_changes()
    services.erase(bank, output=first.citations[0], actor="alice")
    assert replaced(old) == [second.pk]


def test_what_an_edited_line_replaces_follows_from_its_new_words() -> None:
    bank, old, (first, second) = two_changes()
    for fact in (first, second):
        services.edit_facts(bank, fact_ids=[fact.pk], text="The audit moves to the 17th.", actor="alice")
    assert replaced(old) == [None]
    services.edit_facts(bank, fact_ids=[second.pk], text="The launch goes from 3 May to 27 May.", actor="alice")
    assert replaced(old) == [second.pk]
    services.restore_original(bank, fact_ids=[first.pk], actor="alice")
    assert (replaced(old), replaced(first)) == ([second.pk], [None])


def test_a_line_whose_original_words_are_restored_is_replaced_again() -> None:
    bank, old, (first, _second) = two_changes()
    services.edit_facts(bank, fact_ids=[old.pk], text="The launch of the portal is on 9 May.", actor="alice")
    assert replaced(old) == [None]
    services.restore_original(bank, fact_ids=[old.pk], actor="alice")
    assert replaced(old) == [first.pk]


def test_a_line_that_is_no_longer_pinned_is_replaced_again() -> None:
    bank = make_bank()
    old, new = fact_of(bank, "a", OLD), fact_of(bank, "b", NEW, at=MONDAY + HOUR)
    supersede(bank, [new])
    services.pin(bank, fact_ids=[old.pk], actor="alice")
    assert replaced(old) == [None]
    services.unpin(bank, fact_ids=[old.pk], actor="alice")
    assert replaced(old) == [new.pk]


def test_it_compares_the_facts_of_many_chats_with_later_changes_at_once() -> None:
    bank = make_bank()
    olds = [fact_of(bank, f"a{number}", f"The launch of portal number P{number} is on 3 May.") for number in range(5)]
    news = [
        fact_of(bank, f"b{n}", f"The launch of portal number P{n} is moved from 3 May to 17 May.", at=MONDAY + DAY)
        for n in range(5)
    ]
    for new in news:
        supersede(bank, [new])
    assert replaced(*olds) == [new.pk for new in news]
    Fact.objects.filter(pk__in=[old.pk for old in olds]).update(superseded_by=None)
    with CaptureQueriesContext(connection) as captured:
        supersede_again(bank, [old.pk for old in olds])
    assert replaced(*olds) == [new.pk for new in news]
    assert len(captured) == 2 + len(olds)  # the facts, later changes, and an update for each change


@pytest.mark.parametrize(
    ("question", "ends"),
    [
        ("Draft an email about a delay.", False),
        ("Draft an email which says that 17 May would be nice.", False),
        ("Would 17 May be better?", False),
        ("We have a new date: 17 May.", True),
        ("Good news. The new date is 17 May. Can you tell the clinics?", True),
    ],
)
def test_what_only_the_assistant_says_ends_nothing_that_a_person_said(question: str, ends: bool) -> None:
    bank = make_bank()
    say(bank, "a", OLD, answer="")
    say(bank, "b", question, answer=NEW, at=MONDAY + DAY)
    cover(bank)
    old, new = bank.facts.get(text=OLD), bank.facts.get(text=NEW)
    assert new.speaker == ASSISTANT_SPEAKER
    assert replaced(old) == [new.pk if ends else None]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My rent is 900 euro.", "My rent went from 900 euro to 950 euro."),
        ("My desk is in Room 12.", "My desk moved from Room 12 to Room 14."),
        ("Mein Urlaub beginnt am 3. Juni.", "Mein Urlaub wurde vom 3. Juni auf den 9. Juni verschoben."),
        ("Mi turno empieza el 3 de mayo.", "Mi turno cambió del 3 de mayo al 9 de mayo."),
    ],
)
def test_nobody_ends_what_another_said_of_themselves(older: str, newer: str) -> None:
    bank = make_bank()
    for day, (chat, text, author) in enumerate((("a", older, "Priya"), ("b", newer, "Omar"), ("c", newer, "Priya"))):
        say(bank, chat, text, answer="", author=author, at=MONDAY + day * DAY)
        cover(bank)
    [first, of_another, own] = bank.facts.order_by("pk")
    assert replaced(first, of_another, own) == [own.pk, None, None]


def test_many_changes_after_an_old_fact_do_not_keep_a_newer_one_from_its_own() -> None:
    bank = make_bank()
    oldest = fact_of(bank, "a", "The launch of Maple is on 4 May.", at=MONDAY - 30 * DAY)
    moves = [f"The audit of Cedar moved from {n} tons to {n + 1} tons." for n in range(MAX_COMPARED_FACTS + 1)]
    add_leaf(bank, "c", moves, at=MONDAY - 20 * DAY)
    old, new = fact_of(bank, "b", OLD), fact_of(bank, "d", NEW, at=MONDAY + DAY)
    supersede_again(bank, [oldest.pk, old.pk])
    assert replaced(oldest, old) == [None, new.pk]

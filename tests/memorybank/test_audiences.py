"""Whom memory is for: a private chat's facts, its search documents and its leaves, for its readers and nobody else."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memorybank import services
from memorybank.core.quotes import Quotes
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, BlockLineVersion, Chat, Entry, Fact, FactSource, StoredBlock
from tests.support.factories import block_of, day_of_leaves, make_bank, run

pytestmark = pytest.mark.django_db

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
ANN, BEN, CLEO = "key-of-ann", "key-of-ben", "key-of-cleo"
VIEWERS = {"ann": ANN, "ben": BEN, "cleo": CLEO, "nobody": services.NOBODY}
SALARY = "The salary of the new surgeon is 91,500 euro from 1 June."
CRANE = "The harbour crane is replaced on 14 May by Liebmann."
MERGER = "The merger with Falkenried is signed on 3 July in Bremen."


def bank_with_chats(**readers: list[str] | None) -> Bank:
    """A chat a name, private for these readers, each with one turn; all are remembered."""
    bank = Bank.objects.create()
    services.enable(bank, actor="owner", disclosure_accepted=True, now=MONDAY)
    for key, people in readers.items():
        say(bank, key, WORDS[key], private=people is not None, readers=people or ())
    return remembered(bank)


OLD, NEW = "The launch of the portal is on 3 May.", "The launch of the portal is moved from 3 May to 17 May."
WORDS = {"crane": CRANE, "salary": SALARY, "merger": MERGER}


def say(bank: Bank, key: str, question: str, *, at: datetime = MONDAY, **audience: Any) -> None:
    services.record(
        bank, chat_key=key, author="ann", question=question, answer="Noted.", created_at=at, now=at, **audience
    )


def remembered(bank: Bank, now: datetime = MONDAY + HOUR) -> Bank:
    services.run(bank=bank, now=now)
    bank.refresh_from_db()
    assert not services.find_violations(bank)
    return bank


def seen_by(bank: Bank, viewer: str, word: str) -> set[str]:
    """The doors through which this person meets a word."""
    doors: dict[str, Any] = {
        "block": services.prompt_memory(bank, now=MONDAY + DAY).block.text,
        "fresh block": services.render(bank, now=MONDAY + DAY).text,
        "history": list(BlockLineVersion.objects.readable().filter(bank=bank).values_list("text", flat=True)),
        "facts": list(services.browse(bank, viewer=viewer).values_list("text", flat=True)),
        "recall": [hit.text for hit in services.recall(bank, word, viewer=viewer, now=MONDAY + DAY)],
        "search": [fact.text for fact in services.search_facts(bank, word, viewer=viewer, now=MONDAY + DAY)],
        "export": list(services.export(bank, actor="owner", viewer=viewer, now=MONDAY + DAY)),
        "entries": [list(entry.facts.values_list("text")) for entry in services.entries_of(bank, viewer=viewer)],
    }
    return {door for door, text in doors.items() if word.casefold() in str(text).casefold()}


PERSONAL_DOORS = {"facts", "recall", "search", "export", "entries"}
EVERY_DOOR = {*PERSONAL_DOORS, "block", "fresh block", "history"}


@pytest.mark.parametrize(
    ("people", "readers"), [([ANN], {"ann"}), ([ANN, BEN], {"ann", "ben"}), ([], set()), (None, set(VIEWERS))]
)
def test_a_chat_is_remembered_for_its_readers_and_nobody_else(people: list[str] | None, readers: set[str]) -> None:
    bank = bank_with_chats(crane=None, salary=people)
    for name, viewer in VIEWERS.items():
        doors = EVERY_DOOR if people is None else PERSONAL_DOORS if name in readers else set()
        assert seen_by(bank, viewer, "surgeon") == doors, name
        assert seen_by(bank, viewer, "Liebmann") == EVERY_DOOR


def test_without_readers_nothing_is_made_of_a_private_chat(model: ScriptedLLM) -> None:
    bank = bank_with_chats(salary=[])
    assert not model.history
    assert not Entry.objects.exists()
    services.set_audience(bank, chat_key="salary", readers=[ANN], actor="ann", now=MONDAY + HOUR)
    model.enqueue("- fact: The salary of the new surgeon is 91,500 euro from 1 June. [1]")
    remembered(bank, MONDAY + 2 * HOUR)
    assert seen_by(bank, ANN, "surgeon") == PERSONAL_DOORS


def test_what_others_may_not_read_changes_no_figure_of_what_they_find() -> None:
    """Scores depend on how rare words are: a private chat must not be felt there."""
    bank = bank_with_chats(crane=None, merger=None)
    before = services.recall(bank, "the crane of Liebmann", now=MONDAY + DAY)
    figures = services.statistics(bank).facts, services.statistics(bank).entries
    for number in range(5):
        say(bank, f"s{number}", f"Liebmann and the crane again: {SALARY}", private=True, readers=[BEN])
    remembered(bank, MONDAY + 2 * HOUR)
    assert services.recall(bank, "the crane of Liebmann", now=MONDAY + DAY) == before
    assert services.recall(bank, "the crane of Liebmann", viewer=ANN, now=MONDAY + DAY) == before
    assert services.recall(bank, "the crane of Liebmann", viewer=BEN, now=MONDAY + DAY) != before
    assert (services.statistics(bank).facts, services.statistics(bank).entries) == figures


def test_narrowing_takes_a_chat_out_at_once_and_keeps_what_people_decided() -> None:
    bank = bank_with_chats(crane=None, salary=None)
    [fact] = Fact.objects.filter(text__contains="surgeon")
    services.pin(bank, fact_ids=[fact.pk], actor="ann", now=MONDAY + HOUR)
    services.edit_facts(bank, fact_ids=[fact.pk], text="The surgeon gets 92,000 euro.", actor="ann", now=MONDAY + HOUR)
    services.set_audience(bank, chat_key="salary", readers=[ANN], actor="ann", now=MONDAY + 2 * HOUR)
    for viewer in (BEN, services.NOBODY):
        assert seen_by(bank, viewer, "surgeon") == set()
    remembered(bank, MONDAY + 3 * HOUR)
    fact.refresh_from_db()
    assert (fact.pinned, fact.text, fact.tier) == (True, "The surgeon gets 92,000 euro.", None)
    assert seen_by(bank, ANN, "92,000") == {"facts", "search", "export", "entries"}
    assert seen_by(bank, BEN, "92,000") == seen_by(bank, services.NOBODY, "92,000") == set()
    services.set_audience(bank, chat_key="salary", readers=None, actor="ann", now=MONDAY + 4 * HOUR)
    remembered(bank, MONDAY + 5 * HOUR)
    assert "92,000 euro" in block_of(bank)[0]
    assert Fact.objects.get(pk=fact.pk).pinned


def test_a_dry_run_says_what_would_go_and_changes_nothing() -> None:
    bank = bank_with_chats(crane=None, salary=None)
    before = block_of(bank)
    services.set_audience(bank, chat_key="salary", readers=[ANN], actor="ann", dry_run=True, now=MONDAY + HOUR)
    assert block_of(Bank.objects.get(pk=bank.pk)) == before
    assert services.readers_of(Chat.objects.get(key="salary")) is None
    assert not bank.events.filter(action="private").exists()


@pytest.mark.parametrize("marked", [False, True])
def test_a_pin_outlasts_a_private_spell_even_if_an_answer_quotes_what_is_private(marked: bool) -> None:
    bank = bank_with_chats(crane=None, salary=None)
    chat = Chat.objects.get(key="salary")
    chat.outputs.update(quotes_private=marked)
    [fact] = Fact.objects.filter(text__contains="surgeon")
    services.pin(bank, fact_ids=[fact.pk], actor="ann", now=MONDAY + HOUR)
    for hours, readers in enumerate(([ANN], [ANN, BEN], [ANN], None), 2):
        services.set_audience(bank, chat_key="salary", readers=readers, actor="ann", now=MONDAY + hours * HOUR)
        remembered(bank, MONDAY + hours * HOUR + HOUR / 2)
        assert Fact.objects.get(pk=fact.pk).pinned
    assert "surgeon" in block_of(bank)[0]


@pytest.mark.parametrize("said", ["answer", "messages"])
@pytest.mark.parametrize(
    ("corrected", "stays"), [("The crane stands in hall 8.", True), ("Hall 8, 91,500 euro.", False)]
)
def test_a_correction_outlasts_an_answer_that_quotes_what_became_private(
    corrected: str, stays: bool, said: str
) -> None:
    bank = bank_with_chats(salary=None)
    question, quotes = "The crane stands in hall 3.", Quotes(chats=frozenset(["salary"]))
    answer: dict[str, Any] = (
        {"answer": SALARY}
        if said == "answer"
        else {"answer": "", "messages": [{"role": "assistant", "content": SALARY}]}
    )
    services.record(
        bank, chat_key="hall", author="ben", question=question, quotes=quotes, created_at=MONDAY, now=MONDAY, **answer
    )
    remembered(bank)
    [fact] = Fact.objects.filter(entry__chat__key="hall", text__contains="hall 3")
    services.edit_facts(bank, fact_ids=[fact.pk], text=corrected, actor="ben", now=MONDAY + HOUR)
    services.set_audience(bank, chat_key="salary", readers=[ANN], actor="ann", now=MONDAY + 2 * HOUR)
    assert Chat.objects.get(key="hall").outputs.get().quotes_private
    remembered(bank, MONDAY + 3 * HOUR)
    assert seen_by(bank, services.NOBODY, "91,500") == set()
    assert (corrected in block_of(bank)[0], question in block_of(bank)[0]) == (stays, not stays)


def test_the_pin_of_a_digests_line_passes_to_what_it_rested_on(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    day_of_leaves(bank, 0)
    model.answer = "- fact: The crane and the ferry were discussed. [1,5]\n- fact: The roster is settled. [9]"
    run(MONDAY + 2 * DAY)
    line = Fact.objects.filter(entry__chat=None).earliest("pk")
    services.pin(bank, fact_ids=[line.pk], actor="ann", now=MONDAY + 2 * DAY)
    sources = list(line.sources.all())
    key = sources[0].entry.chat.key if sources[0].entry.chat else ""
    services.set_audience(bank, chat_key=key, readers=[ANN], actor="ann", now=MONDAY + 2 * DAY)
    assert not Fact.objects.filter(pk=line.pk).visible_to(ANN).exists()
    assert all(Fact.objects.get(pk=source.pk).pinned for source in sources)
    run(MONDAY + 4 * DAY)
    assert not Fact.objects.filter(pk=line.pk).exists()
    assert all(Fact.objects.get(pk=source.pk).pinned for source in sources)
    assert not services.find_violations(Bank.objects.get(pk=bank.pk))


def test_leaving_somebody_out_is_felt_at_once_and_letting_somebody_in_soon() -> None:
    bank = bank_with_chats(salary=[ANN, BEN])
    services.set_audience(bank, chat_key="salary", readers=[ANN, CLEO], actor="ann", now=MONDAY + 2 * HOUR)
    assert seen_by(bank, BEN, "surgeon") == set()
    remembered(bank, MONDAY + 3 * HOUR)
    assert seen_by(bank, BEN, "surgeon") == set()
    assert seen_by(bank, CLEO, "surgeon") == PERSONAL_DOORS


def test_a_digest_gives_back_what_a_private_chat_had_put_into_it(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    day_of_leaves(bank, 0)
    model.answer = "- fact: The crane and the ferry were discussed. [1,5]\n- fact: The roster is settled. [9]"
    run(MONDAY + 2 * DAY)
    assert Fact.objects.filter(entry__chat=None).exists()
    own = set(
        Fact.objects.filter(entry__chat__key=(key := Chat.objects.earliest("pk").key)).values_list("pk", flat=True)
    )
    services.set_audience(bank, chat_key=key, readers=[ANN], actor="ann", now=MONDAY + 2 * DAY)
    for now in (MONDAY + 2 * DAY, MONDAY + 4 * DAY, MONDAY + 40 * DAY):
        run(now)
        assert not services.find_violations(Bank.objects.get(pk=bank.pk))
        assert Entry.objects.get(chat__key=key).parent is None
        assert not FactSource.objects.filter(source__in=own).exists()
        assert not own & {
            fact for stored in StoredBlock.objects.all() for line in stored.packed.lines for fact in line.facts
        }
    assert set(Fact.objects.visible_to(ANN).filter(pk__in=own).values_list("pk", flat=True)) == own


def test_a_newer_fact_replaces_only_for_those_who_may_read_it() -> None:
    bank = Bank.objects.create()
    services.enable(bank, actor="owner", disclosure_accepted=True, now=MONDAY)
    say(bank, "old", OLD)
    say(bank, "new", NEW, at=MONDAY + DAY)
    remembered(bank, MONDAY + 2 * DAY)
    assert OLD not in block_of(bank)[0]
    services.set_audience(bank, chat_key="new", readers=[ANN], actor="ann", now=MONDAY + 2 * DAY)
    remembered(bank, MONDAY + 3 * DAY)
    assert OLD in block_of(bank)[0]
    assert NEW not in block_of(bank)[0]
    visible = Fact.objects.visible(viewer=ANN).visible_to(ANN).values_list("text", flat=True)
    assert OLD not in list(visible)
    services.set_audience(bank, chat_key="new", readers=None, actor="ann", now=MONDAY + 3 * DAY)
    remembered(bank, MONDAY + 4 * DAY)
    assert OLD not in block_of(bank)[0]


def test_a_private_fact_replaces_nothing_that_others_read() -> None:
    bank = Bank.objects.create()
    services.enable(bank, actor="owner", disclosure_accepted=True, now=MONDAY)
    say(bank, "old", OLD)
    remembered(bank)
    say(bank, "new", NEW, at=MONDAY + DAY, private=True, readers=[ANN])
    say(bank, "mine", OLD, at=MONDAY + DAY, private=True, readers=[ANN])
    remembered(bank, MONDAY + 2 * DAY)
    assert Fact.objects.get(entry__chat__key="old").superseded_by is None
    say(bank, "mine too", NEW, at=MONDAY + 3 * DAY, private=True, readers=[ANN])
    remembered(bank, MONDAY + 4 * DAY)
    assert Fact.objects.filter(entry__chat__key="mine", superseded_by__entry__chat__key="mine too").exists()


def test_new_chats_are_private_where_the_owner_wants_it() -> None:
    bank = Bank.objects.create()
    services.enable(bank, actor="owner", disclosure_accepted=True, now=MONDAY)
    services.configure(bank, actor="owner", new_chats_private=True, now=MONDAY)
    say(bank, "crane", CRANE, readers=[ANN])
    say(bank, "salary", SALARY)
    say(bank, "merger", MERGER, private=False)
    created = services.create_chat(bank, key="empty", readers=[BEN])
    assert services.readers_of(created) == {BEN}
    readers = {chat.key: services.readers_of(chat) for chat in Chat.objects.exclude(key="empty")}
    assert readers == {"crane": {ANN}, "salary": set(), "merger": None}
    remembered(bank)
    assert seen_by(bank, services.NOBODY, "crane") == seen_by(bank, services.NOBODY, "surgeon") == set()


@pytest.mark.parametrize("flaw", ["parent", "tier", "words", "line"])
def test_the_check_finds_what_is_for_others(flaw: str) -> None:
    bank = bank_with_chats(crane=None, salary=[ANN])
    leaf = Entry.objects.get(chat__key="salary")
    if flaw == "parent":
        digest = Entry.objects.create(
            bank=bank,
            granularity="day",
            period_start=leaf.period_start,
            output_count=1,
            first_at=MONDAY,
            last_at=MONDAY,
        )
        Entry.objects.filter(pk=leaf.pk).update(parent=digest)
    elif flaw == "tier":
        leaf.facts.update(tier=0)
    elif flaw == "words":
        for document in bank.documents.all():
            words = document.words.split(" ")
            bank.documents.filter(pk=document.pk).update(words=" ".join([words[0], *words[2:]]))
    else:
        BlockLineVersion.objects.filter(bank=bank).update(chats=["salary"])
    assert {violation.invariant for violation in services.find_violations(bank)} & {"I9", "I2"}

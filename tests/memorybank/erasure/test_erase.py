"""What is erased is nowhere, what others said is still there, and nothing that was under way brings it back."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, Entry, Erasure, Event, Fact, MaskedValue, Output, SearchDocument
from memorybank.services import ErasureReceipt
from memorybank.writing.rollup import roll_up
from memorybank.writing.summarising import summarise_chat
from tests.support.factories import (
    DAY,
    HOUR,
    MINUTE,
    MONDAY,
    add_fact,
    chat_of,
    day_of_leaves,
    digests,
    kept_by,
    make_bank,
    meanwhile,
    run,
    say,
    sentence,
    sound,
    tag,
    undone,
)
from tests.support.requirements import IS_CI
from tests.support.word_search import places, visible_text

pytestmark = pytest.mark.django_db

WORD, NUMBER, EMAIL = "quokkaberry", "7731904", "zelda.quokka@example.org"
CANARIES = (WORD, NUMBER, "zelda.quokka")
SECRET = f"The {WORD} contract was signed on Friday for {NUMBER} euro; ask {EMAIL} about the annexes."
OTHER_MESSAGE = "The night ferry to Lisbon sails from pier nine every Tuesday."


def planted(bank: Bank, chat: str = "zelda", *, at: Any = MONDAY, beside: str = "") -> Output:
    """A chat with the canaries in it; ``beside`` is what somebody else says there, before and after."""
    if beside:
        say(bank, chat, beside, author="Omar", at=at - MINUTE)
    secret = say(
        bank, chat, SECRET, author="Zelda", at=at, title=f"About {WORD}", messages=[{"role": "user", "content": SECRET}]
    )
    if beside:
        later = "The oak warehouse has to be painted in signal orange before spring."
        say(bank, chat, later, author="Omar", at=at + MINUTE)
    return secret


def gone(bank: Bank) -> bool:
    """Whether no canary is left; where one is, in the assertion's message."""
    assert [(word, where) for word in CANARIES for where in places(word)] == []
    assert [word for word in CANARIES if word in visible_text(bank, f"{WORD} {NUMBER} contract")] == []
    return sound(bank)


def to_a_month(bank: Bank, *, beside: str = "") -> None:
    """The canaries, rolled up to a month together with what others said."""
    planted(bank, beside=beside)
    for number in range(8):
        say(bank, f"other{number}", sentence(number), at=MONDAY + number * HOUR)
    say(bank, "next day", sentence(8), at=MONDAY + DAY)
    for day in (0, 1, 8, 35, 70):
        run(MONDAY + day * DAY + HOUR)
    day_of_leaves(bank, 90, chats=8)
    run(MONDAY + 90 * DAY + HOUR)
    assert [len(digests(granularity)) for granularity in ("day", "week", "month")] == [2, 1, 1]


def by_chat(bank: Bank, **options: Any) -> ErasureReceipt:
    return services.erase(bank, chat="zelda", actor="alice", now=MONDAY + 91 * DAY, **options)


def by_author(bank: Bank, **options: Any) -> ErasureReceipt:
    return services.erase(bank, author="Zelda", actor="alice", now=MONDAY + 91 * DAY, **options)


def by_output(bank: Bank, **options: Any) -> ErasureReceipt:
    output = Output.objects.get(author="Zelda")
    return services.erase(bank, output=output.pk, actor="alice", now=MONDAY + 91 * DAY, **options)


def all_of_it(bank: Bank, **options: Any) -> ErasureReceipt:
    return services.erase_everything(bank, actor="alice", now=MONDAY + 91 * DAY, **options)


WAYS: dict[str, Callable[..., ErasureReceipt]] = {"chat": by_chat, "author": by_author, "output": by_output}


def ids_of(chat: str) -> list[int]:
    return list(Output.objects.filter(chat__key=chat).order_by("pk").values_list("pk", flat=True))


def fact_of(output: int) -> Fact:
    return next(fact for fact in Fact.objects.filter(entry__chat__isnull=False) if output in fact.citations)


# --- nothing is left --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_model")
def test_the_walk_finds_a_word_wherever_it_is() -> None:
    bank = make_bank(max_tokens=200)
    planted(bank)
    run(MONDAY + HOUR)
    fields = {where.rpartition(".")[0] or where.split()[0] for where in places(WORD)}
    expected = {"Output", "Chat", "Fact", "StoredBlock", "SearchDocument"}
    assert {f"memorybank.{name}" for name in expected} | {"index"} <= fields
    assert WORD in visible_text(bank, WORD)


@pytest.mark.usefixtures("no_model")
def test_nothing_is_left_after_a_month(subtests: pytest.Subtests) -> None:
    bank = make_bank(max_tokens=200)
    to_a_month(bank)
    assert places(WORD)
    for way, erase in {**WAYS, "everything": all_of_it}.items():
        with subtests.test(way=way), undone():
            erase(Bank.objects.get(pk=bank.pk))
            assert gone(bank)
            run(MONDAY + 91 * DAY)
            assert gone(bank)
            assert (tag(3) in visible_text(bank, tag(3))) == (way != "everything")


def test_nothing_is_left_where_a_model_wrote(model: ScriptedLLM, subtests: pytest.Subtests) -> None:
    bank = make_bank(max_tokens=200)
    to_a_month(bank)
    [month] = digests("month")
    cited = kept_by(month)[:1] or [Fact.objects.filter(entry__chat__key="other1").earliest("pk").pk]
    add_fact(month, f"Others speak of the {WORD}, too.", position=90, citations=cited)  # it had read the neighbours
    ways = WAYS if IS_CI else {"author": by_author}  # each is tried without a model in every run
    for way, erase in ways.items():
        with subtests.test(way=way), undone():
            erase(Bank.objects.get(pk=bank.pk))
            assert gone(bank)
            run(MONDAY + 91 * DAY)
            assert gone(bank)
            assert all(tag(number) in visible_text(bank, tag(number)) for number in range(8))


@pytest.mark.usefixtures("no_model")
def test_what_others_said_in_the_same_chat_stays() -> None:
    bank = make_bank(max_tokens=2000)
    planted(bank, beside=OTHER_MESSAGE)
    run(MONDAY + HOUR)
    services.erase(bank, author="Zelda", actor="alice", now=MONDAY + DAY)
    assert gone(bank)
    memory = services.prompt_memory(Bank.objects.get(pk=bank.pk), question="When does the ferry sail?")
    assert "Lisbon" in memory.block.text and "warehouse" in memory.block.text
    assert services.recall(bank, "ferry to Lisbon")


@pytest.mark.parametrize("beside", ["The night ferry sails from pier nine.", "The night ferry carries annexes."])
def test_a_corrected_statement_stays_out_when_another_turn_is_erased(model: ScriptedLLM, beside: str) -> None:
    """Unless it had words of that turn: then nothing may keep it."""
    bank = make_bank()
    say(bank, "ferry", "The night ferry sails from pier nine.", author="Omar", at=MONDAY - MINUTE)
    secret = say(bank, "ferry", SECRET, author="Zelda", at=MONDAY)
    model.answer = f"- fact: {beside} [1]\n- fact: Zelda says it is late. [1]"
    run(MONDAY + HOUR)
    fact = Fact.objects.get(text=beside)
    services.edit_facts(bank, fact_ids=[fact.pk], text="It was cancelled last winter.", actor="Omar", now=MONDAY)
    services.erase(bank, output=secret.pk, actor="Zelda", now=MONDAY + 2 * HOUR)
    fact.refresh_from_db()
    assert (fact.text, fact.original) == ("It was cancelled last winter.", "" if "annexes" in beside else beside)
    model.answer = "- fact: The night ferry sails from pier nine. [1]"
    run(MONDAY + DAY)
    texts = " ".join(Fact.objects.values_list("text", flat=True))
    assert "Zelda says it is late." not in texts  # so the leaf was written anew
    assert ("pier nine" in texts) is ("annexes" in beside)


def test_what_others_said_in_the_same_chat_is_written_anew_by_the_model(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=2000)
    planted(bank, beside=OTHER_MESSAGE)
    model.enqueue("- fact: A ferry goes, says Omar, who likes it [1]\n- decision: Warehouse orange [3]\n- fact: It [2]")
    run(MONDAY + HOUR)
    receipt = services.erase(bank, author="Zelda", actor="alice", now=MONDAY + DAY)
    assert (receipt.counts["summaries_to_mend"], receipt.counts["calls"]) == (1, 1)
    assert gone(bank)
    before = len(model.history)
    run(MONDAY + DAY)
    assert len(model.history) == before + 1
    assert WORD not in model.history[-1][-1]["content"] and "Lisbon" in model.history[-1][-1]["content"]
    assert not Entry.objects.filter(stale=True).exists() and not Chat.objects.filter(stale=True).exists()
    assert gone(bank)
    run(MONDAY + 2 * DAY)
    assert len(model.history) == before + 1


def test_digests_above_are_made_anew_once(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=400)
    to_a_month(bank, beside=OTHER_MESSAGE)
    both = [fact_of(pk).pk for pk in ids_of("zelda")[:2]]
    week, month = digests("week")[0], digests("month")[0]
    for digest in (week, month):
        fact = add_fact(digest, "Omar and Zelda spoke of Lisbon.", position=90, citations=both)
        Fact.objects.filter(pk=fact.pk).update(tier=digest.tier if digest is month else None)
    now = MONDAY + 90 * DAY + HOUR
    of_hers = Fact.objects.filter(source_links__source__in=[fact_of(pk).pk for pk in ids_of("zelda")[:1]]).distinct()
    lines = of_hers.count()
    assert lines > 2
    receipt = services.erase(bank, author="Zelda", actor="alice", now=now)
    assert [receipt.counts[item] for item in ("digest_lines", "digests_to_mend")] == [lines, 2]
    before = len(model.history)
    run(now)
    assert not Entry.objects.filter(stale=True).exists()
    assert len(model.history) - before == receipt.counts.get("calls", 0)
    assert all(tag(number) in visible_text(bank, tag(number)) for number in range(8))
    assert gone(bank) and "Lisbon" in visible_text(bank, "ferry to Lisbon")


@pytest.mark.usefixtures("no_model")
def test_turns_that_wait_are_erased_as_well() -> None:
    bank = make_bank()
    planted(bank, beside=OTHER_MESSAGE)
    services.erase(bank, author="Zelda", actor="alice", now=MONDAY)
    assert gone(bank)
    assert chat_of(bank, "zelda").pending_outputs == 2
    run(MONDAY + HOUR)
    assert "Lisbon" in visible_text(bank, "ferry to Lisbon")


# --- nothing comes back -----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_worker_that_had_started_writes_nothing(model: ScriptedLLM, way: str) -> None:
    bank = make_bank()
    planted(bank, beside=OTHER_MESSAGE)
    model.enqueue(meanwhile(lambda: WAYS[way](bank)))
    assert summarise_chat(chat_of(bank, "zelda").pk, now=MONDAY + HOUR) is None
    assert gone(bank)


@pytest.mark.parametrize("way", WAYS)
def test_a_roll_up_that_had_started_writes_nothing(model: ScriptedLLM, way: str) -> None:
    bank = make_bank(max_tokens=200)
    planted(bank)
    run(MONDAY + HOUR)
    day_of_leaves(bank, 0)
    model.enqueue(meanwhile(lambda: WAYS[way](bank)))
    assert roll_up(bank.pk, now=MONDAY + 2 * DAY) == 0
    assert gone(bank)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("way", [*WAYS, "everything"])
def test_importing_it_again_brings_nothing_back(way: str) -> None:
    bank = make_bank()
    new = [
        services.NewOutput("zelda", "Zelda", SECRET, MONDAY, key="k1"),
        services.NewOutput("o", "Omar", OTHER_MESSAGE, MONDAY, key="k2"),
    ]
    assert all(services.record_many(bank, new, now=MONDAY))
    {**WAYS, "everything": all_of_it}[way](bank)
    assert services.record_many(bank, new, now=MONDAY + 92 * DAY) == [None, None]
    with pytest.raises(InvalidInput, match="erased"):
        services.record(bank, chat_key="zelda", author="Zelda", question=SECRET, created_at=MONDAY, key="k1")
    assert gone(bank)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("way", [*WAYS, "everything"])
def test_what_is_said_afterwards_is_remembered(way: str) -> None:
    bank = make_bank()
    planted(bank)
    {**WAYS, "everything": all_of_it}[way](bank)
    say(bank, "zelda", OTHER_MESSAGE, author="Zelda", at=MONDAY + 92 * DAY)
    run(MONDAY + 93 * DAY)
    assert "Lisbon" in visible_text(bank, "ferry to Lisbon")


@pytest.mark.usefixtures("no_model")
def test_an_answer_that_comes_after_the_erasure_is_not_kept() -> None:
    bank = make_bank()
    output = say(bank, "zelda", SECRET, author="Zelda", status="pending")
    services.erase(bank, author="Zelda", actor="alice", now=MONDAY)
    with pytest.raises(InvalidInput, match="erased"):
        services.complete(bank, output, answer=f"About the {WORD} …", now=MONDAY)
    assert gone(bank)


# --- one half of a turn -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("erased", ["Zelda", "Omar"])
def test_of_talk_between_people_the_other_half_stays(erased: str) -> None:
    bank = make_bank()
    new = [
        services.NewOutput("c", "Zelda", SECRET, MONDAY, answer=OTHER_MESSAGE, answered_by="Omar", key="1"),
        services.NewOutput("c", "Omar", OTHER_MESSAGE, MONDAY + MINUTE, answer=SECRET, answered_by="Zelda", key="2"),
    ]
    services.record_many(bank, new, now=MONDAY + HOUR)
    run(MONDAY + 2 * HOUR)
    receipt = services.erase(bank, author=erased, actor="alice", now=MONDAY + DAY)
    assert (receipt.counts["halves_of_turns"], receipt.counts.get("turns", 0)) == (2, 0)
    everything = visible_text(bank, "ferry to Lisbon, quokkaberry contract")
    assert [("Lisbon" in everything), (WORD in everything)] == [erased == "Zelda", erased == "Omar"]
    assert erased != "Zelda" or gone(bank)
    assert sound(bank)


# --- masked values ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_model")
def test_a_masked_value_is_forgotten_unless_somebody_else_told_it_too() -> None:
    bank = make_bank()
    say(bank, "zelda", f"My address is {EMAIL} and our account is omar.lisbon@example.org.", author="Zelda")
    say(bank, "omar", "Write to omar.lisbon@example.org about the ferry.", author="Omar")
    run(MONDAY + HOUR)
    assert MaskedValue.objects.filter(bank=bank).count() == 2
    receipt = services.erase(bank, author="Zelda", actor="alice", now=MONDAY + DAY)
    assert receipt.counts["masked_values"] == MaskedValue.objects.filter(bank=bank).count() == 1


# --- the receipt ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_model")
def test_a_dry_run_says_what_goes_and_changes_nothing(subtests: pytest.Subtests) -> None:
    bank = make_bank(max_tokens=200)
    to_a_month(bank, beside=OTHER_MESSAGE)
    tables = (Output, Fact, Entry, SearchDocument, MaskedValue, Erasure, Event)
    before = [list(table.objects.order_by("pk").values()) for table in tables]
    for way, erase in {**WAYS, "everything": all_of_it}.items():
        with subtests.test(way=way), undone():
            dry = erase(Bank.objects.get(pk=bank.pk), dry_run=True)
            assert [list(table.objects.order_by("pk").values()) for table in tables] == before
            real = erase(Bank.objects.get(pk=bank.pk))
            assert (dry.counts, dry.epoch, dry.id) == (real.counts, real.epoch, None)
            assert real.counts["turns"] == before_and_after(before[0])


def before_and_after(before: list[Any]) -> int:
    return len(before) - Output.objects.count()


@pytest.mark.usefixtures("no_model")
def test_the_receipt_holds_counts_and_who_asked_and_no_word() -> None:
    bank = make_bank()
    planted(bank)
    run(MONDAY + HOUR)
    receipt = services.erase(bank, author="Zelda", actor="alice", now=MONDAY + DAY)
    stored, event = Erasure.objects.get(), Event.objects.filter(action="erase").get()
    assert (stored.pk, stored.kind, stored.asked_by, stored.at) == (receipt.id, "author", "alice", MONDAY + DAY)
    assert stored.epoch == receipt.epoch == Bank.objects.get(pk=bank.pk).epoch
    assert stored.counts["turns"] == event.detail["turns"] == 1
    assert "Zelda" not in f"{list(Erasure.objects.values())} {event.detail} {receipt.as_dict()}"
    assert not places("zelda")


@pytest.mark.parametrize("named", [{"chat": "none"}, {"author": "Nobody"}, {"author": ""}, {"output": 10**9}])
def test_what_is_not_there_is_said_and_nothing_happens(named: dict[str, Any]) -> None:
    bank = make_bank()
    other = make_bank()
    planted(other)
    with pytest.raises(InvalidInput):
        services.erase(bank, actor="alice", **named)
    assert not Erasure.objects.exists() and Bank.objects.get(pk=bank.pk).epoch == 0


@pytest.mark.parametrize("named", [{}, {"chat": "zelda", "author": "Zelda"}])
def test_an_erasure_names_exactly_one_thing(named: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="one of"):
        services.erase(make_bank(), actor="alice", **named)


@pytest.mark.usefixtures("no_model")
def test_another_bank_keeps_what_it_has() -> None:
    bank, other = make_bank(), make_bank()
    for item in (bank, other):
        planted(item)
    run(MONDAY + HOUR)
    services.erase(bank, author="Zelda", actor="alice", now=MONDAY + DAY)
    assert WORD in visible_text(other, WORD) and WORD not in visible_text(bank, WORD)
    subjects = {Erasure.digest(item, ("author", "Zelda")) for item in (bank, other)}
    assert len(subjects) == 2


@pytest.mark.parametrize("target", [{"chat": "c"}, {"author": "Priya"}, {"output": 0}, {}])
def test_an_erased_turn_is_refused_by_its_id_whatever_its_time_is_said_to_be(target: dict[str, Any]) -> None:
    bank = make_bank()
    turn = say(bank, "c", "The crane is orange.", key="m-1")
    if not target:
        services.erase_everything(bank, actor="alice", now=MONDAY + HOUR)
    else:
        named = {"output": turn.pk} if "output" in target else target
        services.erase(bank, actor="alice", now=MONDAY + HOUR, **named)
    with pytest.raises(InvalidInput):
        say(bank, "c", "The crane is orange.", key="m-1", at=MONDAY + DAY)
    say(bank, "c", "The crane is yellow now.", key="m-2", at=MONDAY + DAY)
    assert [receipt.counts["turns"] for receipt in services.erasures_of(bank)] == [1]


def test_a_turn_from_a_clock_that_is_ahead_is_refused_and_erased_again_after_a_restore() -> None:
    bank, ahead = make_bank(), MONDAY + timedelta(minutes=2)
    say(bank, "c", "The crane is orange.", at=ahead, now=MONDAY)
    services.erase(bank, author="Priya", actor="alice", now=MONDAY)
    with pytest.raises(InvalidInput):
        say(bank, "c", "The crane is orange.", at=ahead, now=MONDAY)
    rows = list(services.receipts(bank))
    Erasure.objects.all().delete()  # as in a backup from before the erasure
    say(bank, "c", "The crane is orange.", at=ahead, now=MONDAY)
    assert services.replay(bank, rows, actor="alice", now=MONDAY).undecided == []
    assert not Output.objects.exists()


def test_what_a_program_recorded_as_a_person_s_words_goes_with_the_person_and_stays_away() -> None:
    bank = make_bank()
    say(bank, "c", "My surgery is in May.", author="bob, via CI")
    say(bank, "d", "The crane is orange.", author="bobby, via CI")
    services.erase(bank, author="bob", actor="alice", now=MONDAY + HOUR)
    assert [turn.author for turn in Output.objects.all()] == ["bobby, via CI"]
    with pytest.raises(InvalidInput):
        say(bank, "c", "My surgery is in May.", author="bob, via CI")


@pytest.mark.parametrize(
    ("title", "kept"),
    [("Zorblax and the ferry", "The Zorblaxian coast has a ferry."), ("The ferry and Zorbl", "The ferry and Zorbl")],
)
def test_a_title_has_an_erased_word_unless_another_turn_has_all_of_it(title: str, kept: str) -> None:
    """The last word of a title may be cut, so that its beginning is enough."""
    bank = make_bank()
    erased = say(bank, "ships", "The Zorblax is a ferry.", title=title)
    say(bank, "ships", "The Zorblaxian coast has a ferry.", at=MONDAY + MINUTE)
    services.erase(bank, output=erased.pk, actor="owner", now=MONDAY + HOUR)
    assert chat_of(bank, "ships").title == kept

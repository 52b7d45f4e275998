"""Who is left out, what is private and what is too old holds where turns enter and where memory is shown."""

from typing import Any

import pytest

from memorybank import services, tasks
from memorybank.exceptions import InvalidInput
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, Entry, Event, Fact, Output, SearchDocument
from memorybank.writing.rollup import roll_up
from memorybank.writing.summarising import summarise_chat
from tests.support.factories import (
    DAY,
    HOUR,
    MINUTE,
    MONDAY,
    add_fact,
    chat_of,
    digests,
    leaf,
    make_bank,
    meanwhile,
    run,
    say,
    sound,
)
from tests.support.word_search import places

from .test_erase import NUMBER, OTHER_MESSAGE, SECRET, WORD, planted, to_a_month

pytestmark = pytest.mark.django_db

#: Where a turn itself is kept. Everything else was made of it.
TURN_COLUMNS = {"memorybank.Output.question", "memorybank.Output.messages", "memorybank.Chat.title"}


def derived(*words: str) -> set[str]:
    """Where these words are besides the turns in which they were said."""
    return {where for word in words or (WORD, NUMBER) for where in places(word)} - TURN_COLUMNS


# --- a private chat ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_model")
def test_making_a_chat_private_erases_what_came_from_it() -> None:
    bank = make_bank(max_tokens=200)
    to_a_month(bank)
    assert derived()
    services.set_audience(bank, chat_key="zelda", readers=(), actor="zelda", now=MONDAY + 91 * DAY)
    assert not derived() and WORD not in memory_text(bank)
    assert places(WORD)  # her own chat still has it
    run(MONDAY + 92 * DAY)
    assert not derived() and sound(bank)


def memory_text(bank: Bank) -> str:
    """All that a model is told."""
    memory = services.prompt_memory(Bank.objects.get(pk=bank.pk), question=f"{WORD} contract {NUMBER}")
    return memory.block.text + memory.recalled.text


@pytest.mark.usefixtures("no_model")
def test_made_public_again_a_chat_is_read_as_if_it_were_new() -> None:
    bank = make_bank()
    planted(bank)
    run(MONDAY + HOUR)
    for private in (True, False):
        services.set_audience(bank, chat_key="zelda", readers=() if private else None, actor="zelda", now=MONDAY + DAY)
    assert (chat_of(bank, "zelda").pending_outputs, derived()) == (1, set())
    run(MONDAY + DAY)
    assert WORD in memory_text(bank) and sound(bank)


def test_a_digest_written_beside_a_chat_that_became_private_loses_what_it_may_have_of_it(model: ScriptedLLM) -> None:
    bank = make_bank(max_tokens=200)
    to_a_month(bank)
    other = Fact.objects.filter(entry__chat__key="other1").earliest("pk")
    add_fact(digests("month")[0], f"They, too, speak of the {WORD}.", position=90, citations=[other.pk])
    services.set_audience(bank, chat_key="zelda", readers=(), actor="zelda", now=MONDAY + 91 * DAY)
    assert not derived() and sound(bank)


# --- a person who is left out -----------------------------------------------------------------------------


@pytest.mark.usefixtures("no_model")
def test_who_opts_out_is_in_no_memory_and_the_others_are() -> None:
    bank = make_bank()
    planted(bank, beside=OTHER_MESSAGE)
    run(MONDAY + HOUR)
    services.opt_out(bank, author="Zelda", actor="zelda", now=MONDAY + DAY)
    assert not derived() and "Lisbon" in memory_text(bank)
    assert Output.objects.filter(author="Zelda").exists() and chat_of(bank, "zelda").title
    say(bank, "zelda", SECRET, author="Zelda", at=MONDAY + DAY)
    say(bank, "more", SECRET, author="Zelda", at=MONDAY + DAY)
    say(bank, "more", SECRET, author="Zelda, via CI", at=MONDAY + DAY)
    run(MONDAY + 2 * DAY)
    assert not derived() and sound(bank)
    assert chat_of(bank, "more").pending_outputs == 0
    assert [event.action for event in Event.objects.filter(actor="zelda")] == ["opt_out"]


@pytest.mark.usefixtures("no_model")
def test_who_opts_in_again_is_remembered_from_then_on() -> None:
    bank = make_bank()
    services.opt_out(bank, author="Zelda", actor="zelda", now=MONDAY)
    planted(bank)
    services.opt_out(bank, author="Zelda", out=False, actor="zelda", now=MONDAY + DAY)
    say(bank, "zelda", OTHER_MESSAGE, author="Zelda", at=MONDAY + 2 * DAY)
    run(MONDAY + 3 * DAY)
    assert not derived() and "Lisbon" in memory_text(bank)


def test_no_model_reads_the_words_of_who_is_left_out(model: ScriptedLLM) -> None:
    bank = make_bank()
    services.opt_out(bank, author="Zelda", actor="zelda", now=MONDAY)
    planted(bank, beside=OTHER_MESSAGE)
    run(MONDAY + HOUR)
    assert "Lisbon" in str(model.history) and WORD not in str(model.history)


def test_a_worker_that_had_read_her_words_writes_nothing(model: ScriptedLLM) -> None:
    bank = make_bank()
    planted(bank)
    model.enqueue(meanwhile(lambda: services.opt_out(bank, author="Zelda", actor="zelda", now=MONDAY + HOUR)))
    assert summarise_chat(chat_of(bank, "zelda").pk, now=MONDAY + HOUR) is None
    assert not derived()


def test_an_empty_name_cannot_opt_out() -> None:
    with pytest.raises(InvalidInput, match="author"):
        services.opt_out(make_bank(), author="", actor="alice")


# --- what is too old --------------------------------------------------------------------------------------


def keeping(**days: int) -> Bank:
    """The canaries and what others said, a month deep, in a bank that keeps for so many days."""
    bank = make_bank(max_tokens=200)
    to_a_month(bank)
    services.configure(bank, actor="alice", now=MONDAY + 91 * DAY, **days)
    return bank


@pytest.mark.usefixtures("no_model")
def test_turns_that_are_too_old_lose_their_words_and_memory_keeps_its_own() -> None:
    bank = keeping(keep_turns_days=30)
    run(MONDAY + 91 * DAY)
    own = {"Fact.text", "StoredBlock.text", "StoredBlock.lines", "BlockLineVersion.text"}
    assert set(places(WORD)) <= {f"memorybank.{name}" for name in own}
    assert Fact.objects.filter(text__contains=WORD).exists() and sound(bank)
    assert not Output.objects.with_words().filter(created_at__lt=MONDAY + 61 * DAY).exists()
    assert not SearchDocument.objects.filter(said_at__lt=MONDAY + 61 * DAY).exists()
    assert chat_of(bank, "other1").title == ""


@pytest.mark.usefixtures("no_model")
def test_memory_that_is_too_old_goes_in_every_form_and_turns_stay() -> None:
    bank = keeping(keep_memory_days=30)
    run(MONDAY + 91 * DAY)
    assert not derived() and set(places(WORD)) <= TURN_COLUMNS
    assert not Fact.objects.filter(said_on__lt=(MONDAY + 60 * DAY).date()).exists()
    assert Fact.objects.exists() and sound(bank)


@pytest.mark.usefixtures("no_model")
def test_what_comes_late_and_is_too_old_is_no_memory_either() -> None:
    bank = keeping(keep_memory_days=30)
    run(MONDAY + 91 * DAY)
    say(bank, "late", SECRET, at=MONDAY, now=MONDAY + 91 * DAY)
    run(MONDAY + 92 * DAY)
    assert not derived() and sound(bank)


@pytest.mark.usefixtures("no_model")
def test_what_is_pinned_grows_old_as_well_and_a_bank_that_is_off_is_looked_at() -> None:
    bank = keeping(keep_memory_days=30)
    Fact.objects.filter(text__contains=WORD).update(pinned=True)
    services.disable(bank, actor="alice")
    run(MONDAY + 91 * DAY)
    assert not derived()


@pytest.mark.usefixtures("no_model")
def test_a_bank_is_looked_at_once_a_day_and_a_settled_one_writes_nothing() -> None:
    bank = keeping(keep_turns_days=30, keep_memory_days=30)
    run(MONDAY + 91 * DAY)
    before = Bank.objects.get(pk=bank.pk)
    run(MONDAY + 91 * DAY + HOUR)
    run(MONDAY + 92 * DAY)
    after = Bank.objects.get(pk=bank.pk)
    assert (after.epoch, after.expire_at) == (before.epoch, MONDAY + 93 * DAY)
    [event] = Event.objects.filter(actor="retention")
    assert event.action == "erase" and event.detail["facts"] > 0


@pytest.mark.usefixtures("no_model")
def test_the_sweep_of_the_worker_sees_to_it(settings: Any) -> None:
    settings.CELERY_TASK_ALWAYS_EAGER = True
    bank = make_bank()
    planted(bank)
    run(MONDAY + HOUR)
    services.configure(bank, actor="alice", now=MONDAY + HOUR, keep_turns_days=1, keep_memory_days=1)
    tasks.expire.apply()
    assert not places(WORD)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("days", [0, 36_501, -1])
def test_days_are_within_limits(days: int) -> None:
    with pytest.raises(InvalidInput, match="keep_turns_days"):
        services.configure(make_bank(), actor="alice", keep_turns_days=days)


@pytest.mark.usefixtures("no_model")
def test_a_leaf_of_old_and_new_turns_keeps_what_was_quoted_and_nobody_can_read_again() -> None:
    """When it is made anew after an erasure, and the words of one of its turns have expired."""
    bank = make_bank()
    say(bank, "c", OTHER_MESSAGE, author="Omar", at=MONDAY)
    planted(bank, "c", at=MONDAY + MINUTE)
    say(bank, "c", "The oak warehouse is to be painted orange.", author="Vera", at=MONDAY + 3 * MINUTE)
    run(MONDAY + HOUR)
    Output.objects.filter(author="Omar").update(question="", answer="")
    services.erase(bank, author="Zelda", actor="alice", now=MONDAY + DAY)
    Entry.objects.update(stale=True)
    Chat.objects.update(stale=True, due_at=MONDAY)
    run(MONDAY + DAY)
    assert any("Lisbon" in fact.text for fact in leaf().facts.all()) and not places(WORD)
    assert roll_up(bank.pk, now=MONDAY + DAY) == 0 and sound(bank)

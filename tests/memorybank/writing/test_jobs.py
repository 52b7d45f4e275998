"""Jobs that a person requests: any sweep does them, and their percentage never falls."""

from typing import Any

import pytest

from memorybank import services
from memorybank.exceptions import InvalidInput, LLMRejected, LLMUnavailable
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, Entry, Event, Fact, Job
from memorybank.worker import WorkLoop, consolidate
from tests.support.factories import (
    DAY,
    HOUR,
    MINUTE,
    MONDAY,
    add_fact,
    make_bank,
    note_taker,
    run,
    say,
    sentence,
    sound,
    talk,
)

pytestmark = pytest.mark.django_db

JobKind = Job.Kind


def ask(bank: Bank, kind: Job.Kind, at: Any = MONDAY) -> Job:
    return services.request_job(bank, kind, actor="alice", now=at)


def percent(job: Job) -> int:
    job.refresh_from_db()
    return job.percent


def work(bank: Bank, at: Any) -> list[tuple[int, bool]]:
    """Do piece after piece, as a worker does; after each, how far the bank's newest job is."""
    seen = []
    for now in (at, at + MINUTE / 6):  # a bank that was settled just now rests
        shift = WorkLoop()
        while piece := shift.next(now):
            shift.do(piece, now=now)
            job = bank.jobs.latest("pk")
            seen.append((job.percent, job.finished_at is not None))
    return seen


@pytest.mark.usefixtures("no_model")
def test_summarise_now_takes_all_that_wait_and_counts_them() -> None:
    bank = make_bank()
    for number in range(4):
        say(bank, f"c{number}", sentence(number))
    services.set_audience(bank, chat_key="c3", readers=(), actor="bob", now=MONDAY)
    job = ask(bank, JobKind.SUMMARISE)
    assert (job.total, job.percent, job.finished_at) == (3, 0, None)
    seen = work(bank, MONDAY + MINUTE)
    assert [item for item in seen if not item[1]] == sorted(item for item in seen if not item[1])
    assert {33, 66} <= {done for done, _ in seen}
    assert seen[-1] == (100, True)
    assert Chat.objects.filter(pending_outputs=0).count() == 3 and sound(bank)
    assert Event.objects.get(action="summarise").actor == "alice"


@pytest.mark.usefixtures("no_model")
def test_who_asks_twice_asks_for_one_job_and_nothing_to_do_is_done_at_once() -> None:
    bank = make_bank()
    first, again, other = ask(bank, JobKind.SUMMARISE), ask(bank, JobKind.SUMMARISE), ask(bank, JobKind.COMPRESS)
    assert first == again != other
    run(MONDAY)
    assert (percent(first), percent(other)) == (100, 100)
    assert ask(bank, JobKind.SUMMARISE) != first


@pytest.mark.usefixtures("no_model")
def test_some_chats_are_hurried_alone_and_a_job_takes_what_has_come_since() -> None:
    bank = make_bank()
    for number in range(3):
        say(bank, f"c{number}", sentence(number))
    one, other = (Chat.objects.get(key=key).pk for key in ("c0", "c1"))
    job = services.request_job(bank, JobKind.SUMMARISE, chats=[one], actor="alice", now=MONDAY)
    assert job.total == 1
    assert services.request_job(bank, JobKind.SUMMARISE, chats=[other], actor="bob", now=MONDAY + MINUTE / 2).total == 2
    work(bank, MONDAY + MINUTE)
    assert percent(job) == 100
    assert Chat.objects.get(pending_outputs=1).key == "c2"


@pytest.mark.usefixtures("no_model")
def test_memory_that_is_off_does_nothing() -> None:
    with pytest.raises(InvalidInput, match="off"):
        ask(make_bank(enabled=False), JobKind.COMPRESS)
    assert not Job.objects.exists()


def test_while_the_model_is_down_sentences_end_the_job_and_the_notes_follow(model: ScriptedLLM) -> None:
    bank = make_bank()
    for number in range(2):
        say(bank, f"c{number}", sentence(number))
    job = ask(bank, JobKind.SUMMARISE)
    model.enqueue(LLMUnavailable("HTTP 503"))
    work(bank, MONDAY)
    assert percent(job) == 100 and job.finished_at is not None
    assert Chat.objects.waiting().count() == 2
    work(bank, MONDAY + HOUR)
    assert not Chat.objects.waiting().exists()


def test_a_chat_that_fails_was_tried_and_ends_the_job(model: ScriptedLLM) -> None:
    bank = make_bank()
    say(bank, "c1", sentence(1))
    job = ask(bank, JobKind.SUMMARISE)
    model.enqueue(LLMRejected("HTTP 400"))
    work(bank, MONDAY)
    assert percent(job) == 100 and job.finished_at is not None
    assert Chat.objects.failing().count() == 1


def test_parked_chats_are_tried_again(model: ScriptedLLM) -> None:
    bank = make_bank()
    say(bank, "c1", sentence(1))
    Chat.objects.update(parked_at=MONDAY, due_at=None, attempts=5)
    job = ask(bank, JobKind.RETRY)
    assert job.total == 1
    work(bank, MONDAY)
    assert percent(job) == 100 and not Chat.objects.parked().exists()


@pytest.fixture
def pressed(model: ScriptedLLM) -> Bank:
    """Three days of chats, more than fits, all summarised and rolled up."""
    bank = make_bank(max_tokens=200)
    for number in range(9):
        talk(bank, f"c{number}", range(number * 10, number * 10 + 4), at=MONDAY + number % 3 * DAY)
    run(MONDAY + 5 * DAY)
    assert bank.entries.digests().live().count() >= 2
    return bank


def test_rebuild_makes_live_digests_anew_and_keeps_what_people_wrote(pressed: Bank, model: ScriptedLLM) -> None:
    digest = pressed.entries.digests().live().earliest("pk")
    leaf_fact = Fact.objects.filter(entry__parent=digest).earliest("pk")
    mine = add_fact(digest, "Alice wrote this.", citations=[leaf_fact.pk])
    Fact.objects.filter(pk=mine.pk).update(edited_by="alice", edited_at=MONDAY)
    stray = add_fact(digest, sentence(97), citations=[leaf_fact.pk])
    job = ask(pressed, JobKind.REBUILD, MONDAY + 5 * DAY)
    assert job.total == pressed.entries.digests().live().count()
    consolidate(pressed.pk, now=MONDAY + 5 * DAY)
    assert percent(job) == 100
    assert not Entry.objects.filter(stale=True).exists()
    assert Fact.objects.filter(pk=mine.pk, text="Alice wrote this.").exists()
    assert not Fact.objects.filter(pk=stray.pk).exists()
    assert sound(pressed)


def test_rebuild_goes_on_after_a_failure_where_it_was(pressed: Bank, model: ScriptedLLM) -> None:
    asked = 0

    def second_fails(*args: Any) -> str:
        nonlocal asked
        asked += 1
        if asked == 2:
            raise LLMUnavailable("HTTP 503")
        return note_taker(*args)

    time = MONDAY + 5 * DAY
    job, model.answer = ask(pressed, JobKind.REBUILD, time), second_fails
    work(pressed, time)
    half = percent(job)
    assert 0 < half < 100 and job.finished_at is None
    work(pressed, time + HOUR)
    assert percent(job) == 100


def test_compress_now_says_when_nothing_more_can_be_done(pressed: Bank) -> None:
    job = ask(pressed, JobKind.COMPRESS, MONDAY + 5 * DAY)
    work(pressed, MONDAY + 5 * DAY)
    assert percent(job) == 100


def test_at_the_cap_nothing_a_model_wrote_is_thrown_away(pressed: Bank) -> None:
    Bank.objects.update(monthly_cap=0)
    with pytest.raises(InvalidInput, match="cap"):
        ask(pressed, JobKind.REBUILD)
    assert not Entry.objects.filter(stale=True).exists()

"""The worker: what is due, for which bank, how much of it, and how little work when nothing is."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memorybank import services, tasks
from memorybank.exceptions import LLMUnavailable
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, Entry, Granularity, StoredBlock
from memorybank.services import RunReport
from memorybank.worker import WorkLoop
from memorybank.writing import work_queue
from tests.support.factories import (
    DAY,
    HOUR,
    MINUTE,
    MONDAY,
    add_leaf,
    chat_of,
    make_bank,
    meanwhile,
    note_taker,
    refusing,
    run,
    say,
    sentence,
    sound,
    talk,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("model")]


def due(now: datetime) -> list[str]:
    """What a worker would find, one after the other."""
    kinds: dict[int, str] = {}
    while chat_id := work_queue.next_chat(now, exclude=kinds):
        kinds[chat_id] = Chat.objects.get(pk=chat_id).key
    return list(kinds.values())


def summarised(now: datetime) -> list[str]:
    """Keys of the chats that a run summarises, in its order."""
    run(now)
    return list(Entry.objects.leaves().order_by("pk").values_list("chat__key", flat=True))


def first_of(bank: Bank) -> int:
    return bank.chats.order_by("pk").values_list("pk", flat=True)[0]


def work_at(now: datetime) -> RunReport:
    """What one worker does until it finds nothing more to do."""
    loop = WorkLoop()
    while item := loop.next(now):
        loop.do(item, now=now)
    return loop.report


def versions(bank: Bank) -> tuple[int, int]:
    """Of the memory, and of the block that is stored."""
    bank.refresh_from_db()
    return bank.version, max(bank.blocks.values_list("version", flat=True))


def queries_of_a_sweep(now: datetime) -> int:
    with CaptureQueriesContext(connection) as captured:
        services.run(now=now)
    return len(captured)


# --- what is due -------------------------------------------------------------------------------------


def test_a_chat_is_due_when_it_has_been_idle_long_enough_and_not_a_minute_earlier() -> None:
    bank = make_bank(idle_minutes=10)
    say(bank, "c", sentence(1))
    assert due(MONDAY + 9 * MINUTE) == []
    assert due(MONDAY + 10 * MINUTE) == ["c"]


def test_a_chat_is_due_again_when_it_has_new_turns_and_never_otherwise(model: ScriptedLLM) -> None:
    bank = make_bank()
    say(bank, "c", sentence(1))
    run(MONDAY + HOUR)
    assert due(MONDAY + 300 * DAY) == []
    say(bank, "c", sentence(2), at=MONDAY + DAY)
    assert due(MONDAY + DAY + HOUR) == ["c"]


def test_a_bank_with_a_zone_that_this_machine_does_not_know_has_the_days_of_utc(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bank = make_bank(timezone="Mars/Arsia_Mons")
    say(bank, "c", sentence(1), at=MONDAY.replace(hour=23))
    report = work_at(MONDAY + DAY)
    assert (report.failed, chat_of(bank, "c").pending_outputs) == (0, 0)
    assert Entry.objects.leaves().get().period_start == MONDAY.date()
    assert [record.levelname for record in caplog.records if "Mars/Arsia_Mons" in record.getMessage()] == ["WARNING"]


def test_twenty_new_turns_are_due_though_people_are_still_writing() -> None:
    bank = make_bank()
    talk(bank, "c", range(20))
    assert due(MONDAY + 19 * MINUTE) == ["c"]


@pytest.mark.parametrize(
    "why",
    [
        {"private": True},
        {"leased_until": MONDAY + HOUR + 10 * MINUTE},
        {"due_at": MONDAY + DAY},
        {"parked_at": MONDAY, "due_at": None},
    ],
)
def test_private_leased_failing_and_parked_chats_are_not_due(why: dict[str, Any]) -> None:
    say(make_bank(), "c", sentence(1))
    Chat.objects.update(**why)
    assert due(MONDAY + HOUR) == []


def test_a_chat_whose_work_always_outlives_its_lease_is_parked(model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, "long", [1])
    moments = iter(range(1, 100))

    def slow(messages: Any) -> str:
        """Answers when the lease has run out and another worker has taken the chat up."""
        began = MONDAY + next(moments) * HOUR
        if began < MONDAY + 20 * HOUR:
            services.run(now=began)
        return note_taker(messages)

    model.answer = slow
    services.run(now=MONDAY + 30 * MINUTE)
    chat = chat_of(bank, "long")
    assert len(model.history) == 5
    assert chat.parked_at and "longer than its lease" in chat.last_error
    assert not Entry.objects.exists()
    model.answer = note_taker
    assert services.retry_parked(bank, actor="alice", now=MONDAY + DAY) == 1
    run(MONDAY + DAY)
    assert (chat_of(bank, "long").attempts, Entry.objects.count()) == (0, 1)


def test_a_dead_worker_s_chat_is_due_again_when_its_lease_has_run_out() -> None:
    say(make_bank(), "c", sentence(1))
    Chat.objects.claim(Chat.objects.get().pk, MONDAY + HOUR)
    assert due(MONDAY + HOUR + 14 * MINUTE) == []
    assert due(MONDAY + HOUR + 15 * MINUTE) == ["c"]


def test_the_lease_of_a_dead_machine_whose_clock_was_ahead_does_not_count() -> None:
    say(make_bank(), "c", sentence(1))
    Chat.objects.claim(Chat.objects.get().pk, MONDAY + 30 * HOUR)
    assert due(MONDAY + HOUR) == ["c"]
    Chat.objects.claim(Chat.objects.get().pk, MONDAY + HOUR + 10 * MINUTE)  # one whose clock is a little ahead
    assert due(MONDAY + HOUR) == []


# --- fairness ----------------------------------------------------------------------------------------


def test_banks_take_turns() -> None:
    for name, chats in (("a", 9), ("b", 2), ("c", 1)):
        bank = make_bank()
        for number in range(chats):
            say(bank, f"{name}{number}", sentence(1), at=MONDAY + number * MINUTE)
    order = "a0 b0 c0 a1 b1 a2 a3 a4 a5 a6 a7 a8"
    assert summarised(MONDAY + HOUR) == order.split()


def test_a_bank_with_a_thousand_due_chats_delays_the_one_of_another_by_no_more_than_a_round() -> None:
    """Also if that falls due when the workers are in the midst of the thousand; the sweep sees that it has."""
    busy, quiet = make_bank(), make_bank()
    time = MONDAY - DAY
    Chat.objects.bulk_create(
        Chat(bank=busy, key=f"c{n}", due_at=time, pending_outputs=1, last_output_at=time) for n in range(1000)
    )
    assert work_queue.queue_due_banks(MONDAY + HOUR)
    assert [work_queue.next_chat(MONDAY + HOUR) for _ in range(3)] == [first_of(busy)] * 3  # nobody claims it here
    say(quiet, "one", sentence(1), at=MONDAY)
    assert work_queue.queue_due_banks(MONDAY + HOUR)
    assert [work_queue.next_chat(MONDAY + HOUR) for _ in range(4)] == [first_of(busy), first_of(quiet)] * 2


def test_one_sweep_in_the_foreground_does_whatever_is_due(model: ScriptedLLM) -> None:
    bank = make_bank()
    for number in range(25):
        say(bank, f"c{number}", sentence(number))
    report = services.run(now=MONDAY + HOUR)
    assert (report.summarised, report.due, len(model.history)) == (25, 0, 25)


def test_untried_chats_come_before_failing_ones() -> None:
    bank = make_bank()
    for key in ("failing", "new"):
        say(bank, key, sentence(1))
    Chat.objects.filter(key="failing").update(attempts=1)
    assert summarised(MONDAY + HOUR) == ["new", "failing"]


def test_a_failing_chat_of_one_bank_waits_for_the_untried_ones_of_all() -> None:
    """After an outage the first chat shows whether the model is well again: it had better be a good one."""
    first, second = make_bank(), make_bank()
    say(first, "failing", sentence(1))
    say(second, "new", sentence(2), at=MONDAY + MINUTE)
    Chat.objects.filter(key="failing").update(attempts=1)
    assert summarised(MONDAY + HOUR) == ["new", "failing"]


def test_a_run_for_one_bank_leaves_the_others_alone() -> None:
    mine, other = make_bank(), make_bank()
    for bank in (mine, other):
        say(bank, "c", sentence(1))
    report = run(MONDAY + HOUR, bank=mine)
    assert (report.summarised, report.due, report.llm_calls) == (1, 0, 1)
    assert not other.entries.exists()


def test_one_bad_chat_never_stops_the_others(model: ScriptedLLM) -> None:
    """lyra: a report of what was summarised and what failed; idempotent and resumable."""
    model.answer = refusing("POISON")
    bank, other = make_bank(), make_bank()
    say(bank, "bad", "The POISON is in this very sentence.")
    for number in range(12):
        say(bank, f"c{number}", sentence(number), at=MONDAY + MINUTE)
    say(other, "c", sentence(20), at=MONDAY + MINUTE)
    seen: list[tuple[int, int]] = []
    report = run(MONDAY + HOUR, progress=lambda report: seen.append((report.summarised, report.failed)))
    assert (report.summarised, chat_of(bank, "bad").attempts) == (13, 1)
    assert seen == sorted(seen)
    assert report.llm_calls == len(model.history)
    assert report.prompt_tokens > report.completion_tokens > 0
    assert sound(bank, other)


def test_one_bank_s_failing_roll_up_never_stops_another_s(model: ScriptedLLM) -> None:
    banks = [make_bank(max_tokens=200) for _ in range(2)]
    for index, bank in enumerate(banks):
        for number in range(4):
            word = "POISON" if index == 0 else "harbour"
            add_leaf(bank, f"c{number}", [f"{word} {sentence(number * 4 + n)}" for n in range(4)], at=MONDAY)
    model.answer = refusing("POISON")
    report = run(MONDAY + 3 * DAY)
    assert (report.rolled_up, report.failed) == (1, 1)
    assert [bank.entries.digests().count() for bank in banks] == [0, 1]


def test_a_failing_chat_does_not_end_a_run(model: ScriptedLLM) -> None:
    model.answer = refusing("POISON")
    bank = make_bank()
    say(bank, "bad", "The POISON is in this very sentence.")
    say(bank, "good", sentence(1), at=MONDAY + MINUTE)
    assert run(MONDAY + HOUR).summarised == 1


# --- what workers do between two sweeps -------------------------------------------------------------------


def test_a_worker_goes_on_until_nothing_is_due(model: ScriptedLLM) -> None:
    banks = [make_bank() for _ in range(3)]
    for number in range(30):
        say(banks[number % 3], f"c{number}", sentence(number))
    report = work_at(MONDAY + HOUR)
    assert (report.summarised, len(model.history), due(MONDAY + HOUR)) == (30, 30, [])


def test_a_worker_takes_nothing_while_the_model_is_down(model: ScriptedLLM) -> None:
    for number in range(3):
        say(make_bank(), f"c{number}", sentence(number))
    model.enqueue(LLMUnavailable("down"))
    assert (work_at(MONDAY + HOUR).failed, len(model.history)) == (1, 1)
    assert not work_queue.queue_due_banks(MONDAY + HOUR)


def test_a_worker_takes_a_chat_in_whose_midst_another_is_for_no_work(model: ScriptedLLM) -> None:
    bank = make_bank()
    say(bank, "c", sentence(1))
    also: list[int] = []
    model.enqueue(meanwhile(lambda: also.append(work_at(MONDAY + HOUR).summarised)))
    assert (work_at(MONDAY + HOUR).summarised, also, len(model.history)) == (1, [0], 1)


def test_a_busy_bank_s_block_is_stored_once_every_few_seconds_and_once_after_the_last_change() -> None:
    bank = make_bank()
    stored = set()
    for second in range(20):
        now = MONDAY + HOUR + timedelta(seconds=second)
        say(bank, f"c{second}", sentence(second))
        assert work_at(now).summarised == 1
        stored.add(versions(bank)[1])
    assert len(stored) == 4
    assert work_queue.seconds_until_rested(now) == 1
    work_at(now + timedelta(seconds=1))
    version, block_version = versions(bank)
    assert version == block_version
    assert work_queue.seconds_until_rested(now + timedelta(seconds=1)) is None


def test_while_chats_are_due_a_worker_settles_one_bank_in_between_and_the_others_after_them() -> None:
    banks = [make_bank() for _ in range(3)]
    for bank in banks:
        say(bank, "before", sentence(1))
        say(bank, "now", sentence(2), at=MONDAY + DAY)
    run(MONDAY + HOUR)
    Bank.objects.update(consolidate_at=MONDAY + DAY, consolidated_at=None)
    loop, now, done = WorkLoop(), MONDAY + DAY + HOUR, ""
    while item := loop.next(now):
        done += "bank " if item.bank_id else "chat "
        loop.do(item, now=now)
    assert done.split() == ["bank", "chat", "chat", "chat", "bank", "bank"]
    assert all(len(set(versions(bank))) == 1 for bank in banks[1:])


def test_a_bank_that_was_settled_in_the_future_is_settled_now() -> None:
    """Somebody tried out ``run_memory --now`` with a day to come; workers do not wait for it."""
    bank = make_bank()
    say(bank, "c", sentence(1))
    run(MONDAY + 30 * DAY)
    say(bank, "c", sentence(2), at=MONDAY + DAY)
    work_at(MONDAY + DAY + HOUR)
    version, block_version = versions(bank)
    assert version == block_version


# --- economy -----------------------------------------------------------------------------------------


def test_a_settled_system_costs_a_sweep_the_same_few_queries_however_long_its_history() -> None:
    bank = make_bank(max_tokens=200)
    for number in range(3):
        say(bank, f"c{number}", sentence(number))
    run(MONDAY + HOUR)
    little = queries_of_a_sweep(MONDAY + 90 * DAY)
    for number in range(20):
        say(bank, f"more{number}", sentence(number), at=MONDAY + number * DAY)
    run(MONDAY + 400 * DAY)
    assert queries_of_a_sweep(MONDAY + 401 * DAY) <= little <= 13


def test_the_pick_reads_one_chat_however_many_are_due_or_are_being_written() -> None:
    bank, other = make_bank(), make_bank()
    for item in (bank, other):
        Chat.objects.bulk_create(
            Chat(bank=item, key=f"c{n}", due_at=MONDAY + n * HOUR, pending_outputs=1) for n in range(500)
        )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    assert "chat_untried_in_bank" in Chat.objects.due(MONDAY).untried().filter(bank=bank)[:1].explain()


def test_a_sweep_with_nothing_to_do_asks_a_few_questions_and_starts_nobody() -> None:
    bank = make_bank(max_tokens=200)
    for number in range(5):
        say(bank, f"c{number}", sentence(number))
    run(MONDAY + HOUR)
    tasks.sweep()  # the first one makes the row that says when the last one was
    with CaptureQueriesContext(connection) as captured:
        tasks.sweep()
    assert len(captured) == 2


def test_reports_read_no_chat_but_parked_ones_to_count_those() -> None:
    bank = make_bank()
    Chat.objects.bulk_create(Chat(bank=bank, key=f"c{number}") for number in range(200))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    for parked in (Chat.objects.parked(), Chat.objects.filter(bank=bank).parked()):
        assert "chat_parked" in parked.order_by().values("bank").explain()


def test_reports_add_up() -> None:
    both = RunReport(summarised=1, failed=2, due=5) + RunReport(summarised=2, parked=1, due=3)
    assert (both.summarised, both.failed, both.parked, both.due) == (3, 2, 1, 3)


def test_a_month_of_work_costs_hardly_more_calls_than_there_are_things_to_write(model: ScriptedLLM) -> None:
    """Each settled chat summarised once, each period digested once, then silence."""
    banks = [make_bank(max_tokens=300) for _ in range(2)]
    chats, days = 3, 7
    for day in range(days):
        for bank in banks:
            for number in range(chats):
                first = (day * chats + number) * 2
                talk(bank, f"d{day} c{number}", range(first, first + 2), at=MONDAY + day * DAY + number * HOUR)
        for hours in (4, 16):
            run(MONDAY + day * DAY + hours * HOUR)
    end = MONDAY + 14 * DAY
    run(end)
    periods = Entry.objects.exclude(granularity=Granularity.CONVERSATION).count()
    assert periods > len(banks) * days * 0.7
    assert len(model.history) <= 1.05 * (len(banks) * chats * days + periods)
    assert Entry.objects.leaves().count() == len(banks) * chats * days
    assert sound(*banks)
    calls, blocks = len(model.history), list(StoredBlock.objects.order_by("pk").values_list("bank", "text"))
    again = run(end)
    assert (again.llm_calls, again.summarised, again.rolled_up, len(model.history)) == (0, 0, 0, calls)
    assert list(StoredBlock.objects.order_by("pk").values_list("bank", "text")) == blocks
    assert all(blocks)

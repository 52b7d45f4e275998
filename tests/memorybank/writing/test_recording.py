"""Recording an output: one short transaction, no model call, and only text that every database can store."""

from datetime import datetime
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, Output
from memorybank.services import NewOutput
from memorybank.writing import recording
from memorybank.writing.recording import CHAT_COUNT_FIELDS
from tests.support.factories import (
    DAY,
    HOUR,
    MINUTE,
    MONDAY,
    block_of,
    chat_of,
    make_bank,
    refusing,
    run,
    say,
    sentence,
    sound,
    tag,
    talk,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_model")]


def test_a_turn_waits_until_its_chat_has_been_idle() -> None:
    bank = make_bank(idle_minutes=15)
    say(bank, "c", "We ship on Friday.", at=MONDAY)
    say(bank, "c", "At noon.", at=MONDAY + MINUTE)
    chat = chat_of(bank, "c")
    assert (chat.pending_outputs, chat.last_output_at) == (2, MONDAY + MINUTE)
    assert chat.due_at == MONDAY + 16 * MINUTE


def test_many_waiting_turns_are_due_though_the_chat_is_not_idle() -> None:
    bank = make_bank()
    talk(bank, "c", range(19))
    assert chat_of(bank, "c").due_at == MONDAY + 28 * MINUTE
    output = say(bank, "c", "And on it goes.", at=MONDAY + 19 * MINUTE)
    assert chat_of(bank, "c").due_at == output.created_at


def test_the_same_key_in_the_same_chat_is_recorded_once() -> None:
    bank = make_bank()
    first = say(bank, "c", "We ship on Friday.", key="42")
    assert say(bank, "c", "We ship on Friday.", key="42").pk == first.pk
    assert say(bank, "another", "We ship on Friday.", key="42").pk != first.pk
    assert say(make_bank(), "c", "We ship on Friday.", key="42").pk != first.pk
    assert chat_of(bank, "c").pending_outputs == 1


@pytest.mark.parametrize("status", ["pending", "error", "stopped", "blocked", "cancelled"])
def test_an_answer_nobody_got_is_kept_but_does_not_wait_for_a_summary(status: str) -> None:
    bank = make_bank()
    say(bank, "c", "Tell me everything.", status=status)
    assert Output.objects.get().status == status
    assert (chat_of(bank, "c").pending_outputs, chat_of(bank, "c").due_at) == (0, None)


def test_a_refusal_leaves_the_callers_transaction_and_any_other_error_rolls_it_back() -> None:
    bank = make_bank()
    say(bank, "erased", "We ship on Friday.")
    services.erase(bank, chat="erased", actor="alice", now=MONDAY)
    with transaction.atomic():
        say(bank, "c", "At noon.")
        with pytest.raises(InvalidInput, match="erased"):
            say(bank, "erased", "We ship on Friday.")
    assert Output.objects.count() == 1
    with transaction.atomic():
        say(bank, "c", "By ferry.")
        with pytest.raises(IntegrityError):
            services.record(bank, chat_key="d", author="Priya", question="Where?", begun_by=None)  # type: ignore[arg-type]
        with pytest.raises(TransactionManagementError):
            Output.objects.count()
    assert Output.objects.count() == 1


def test_an_old_turn_recorded_late_does_not_make_the_chat_older() -> None:
    bank = make_bank()
    say(bank, "c", "Today.", at=MONDAY)
    say(bank, "c", "Imported from last week.", at=MONDAY - 7 * DAY, now=MONDAY)
    assert chat_of(bank, "c").last_output_at == MONDAY


def test_a_bank_that_is_off_records_and_waits_and_makes_nothing_of_it(model: ScriptedLLM) -> None:
    """RESTai: off by default; nothing is summarised or shown while off."""
    bank = make_bank(enabled=False)
    talk(bank, "c", range(30))
    run(MONDAY + DAY)
    assert (chat_of(bank, "c").pending_outputs, chat_of(bank, "c").due_at) == (30, None)
    assert model.history == []
    assert block_of(bank) == ("", 0)
    assert services.render(bank).text == ""


@pytest.mark.parametrize(
    ("field", "wrong", "says"),
    [
        ("chat_key", " ", "chat: must not be empty"),
        ("chat_key", "k" * 201, "201 characters, at most 200"),
        ("chat_key", "a\x00b", "NUL"),
        ("key", "half \ud800", "surrogate"),
        ("author", None, "author: must be text, not NoneType"),
        ("question", 7, "question: must be text, not int"),
        ("answer", "x" * 1_000_001, "answer: 1,000,001 characters, at most 1,000,000"),
        ("status", "maybe", "status: must be one of ok, error"),
        ("messages", {"role": "user"}, "messages: must be a list"),
        ("messages", ["x" * 1_000_001], "messages: 1,000,0"),
        ("messages", [float("nan")], "messages: cannot be stored as JSON"),
        ("messages", [object()], "messages: cannot be stored as JSON"),
        ("created_at", datetime(2026, 3, 2), "created_at: has no time zone"),  # noqa: DTZ001
        ("created_at", MONDAY + HOUR, "is in the future"),
        ("created_at", "yesterday", "created_at: must be a time"),
    ],
)
def test_bad_input_is_refused_by_name_and_changes_nothing(field: str, wrong: Any, says: str) -> None:
    bank = make_bank()
    fields = {"chat_key": "c", "author": "Priya", "question": "?", "created_at": MONDAY, "now": MONDAY, field: wrong}
    with pytest.raises(InvalidInput, match=says.replace("(", r"\(")):
        services.record(bank, **fields)
    assert not Chat.objects.exists()


def test_a_clock_a_little_ahead_of_ours_is_believed() -> None:
    bank = make_bank()
    assert say(bank, "c", "Hello.", at=MONDAY + 4 * MINUTE, now=MONDAY).pk


def test_what_no_database_can_hold_is_replaced_not_refused() -> None:
    bank = make_bank()
    messages = [{"role": "tool", "content": "NUL \x00 and half a pair \ud800"}]
    say(bank, "c", "NUL \x00", answer="half \udfff", messages=messages, title="T\x00")
    output = Output.objects.get()
    assert (output.question, output.answer) == ("NUL \ufffd", "half ?")
    assert output.messages == [{"role": "tool", "content": "NUL \ufffd and half a pair ?"}]
    assert chat_of(bank, "c").title == "T\ufffd"
    run(MONDAY + HOUR)
    assert sound(bank)


def test_a_deleted_project_is_named_as_the_reason() -> None:
    bank = make_bank()
    Bank.objects.filter(pk=bank.pk).delete()
    with pytest.raises(InvalidInput, match="has been deleted"):
        say(bank, "c", "Hello?")


def test_new_turns_are_a_new_chance_for_a_parked_chat() -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    Chat.objects.update(parked_at=MONDAY, attempts=5, due_at=None)
    say(bank, "c", "Something else.", at=MONDAY + HOUR)
    chat = chat_of(bank, "c")
    assert (chat.parked_at, chat.attempts, chat.due_at) == (None, 0, MONDAY + HOUR + 10 * MINUTE)


def test_a_new_turn_does_not_cut_a_failing_chat_s_pause_short() -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    Chat.objects.update(attempts=2, due_at=MONDAY + 3 * HOUR)
    say(bank, "c", "Something else.", at=MONDAY + HOUR)
    assert chat_of(bank, "c").due_at == MONDAY + 3 * HOUR


def test_a_blocked_turn_does_not_unpark_a_chat() -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    Chat.objects.update(parked_at=MONDAY, attempts=5, due_at=None)
    say(bank, "c", "Something else.", at=MONDAY + HOUR, status="blocked")
    assert chat_of(bank, "c").parked_at == MONDAY


# --- many at once ------------------------------------------------------------------------------------


def turns() -> list[NewOutput]:
    """Of two chats by turns, every kind of status, some keys twice, some turns older than the ones before."""
    outputs = []
    for number in range(30):
        status = ("ok", "ok", "error", "blocked")[number % 4]
        time = MONDAY + (number * 7 % 30) * MINUTE
        key = f"k{number // 2}" if number % 5 else ""
        chat, title = f"c{number % 2}", f"Title {number}" if number > 3 else ""
        between = [{"role": "tool", "content": "x\x00"}]
        outputs.append(NewOutput(chat, "Priya", sentence(number), time, "Noted.", between, status, key, title))
    return outputs


def stored(bank: Bank) -> tuple[list[Any], list[Any]]:
    """All that recording writes, but for the ids."""
    chats = bank.chats.order_by("key").values("key", "title", *CHAT_COUNT_FIELDS)
    columns = ("chat__key", "key", "author", "question", "answer", "messages", "status", "created_at")
    return list(chats), list(Output.objects.filter(chat__bank=bank).order_by("pk").values(*columns))


@pytest.mark.parametrize("cut", [0, 7, 30])
def test_many_at_once_are_recorded_as_one_by_one(cut: int) -> None:
    single, bulk = make_bank(), make_bank()
    later = MONDAY + HOUR
    for bank in (single, bulk):  # a chat with a history: parked, then failing
        talk(bank, "c1", [99])
        Chat.objects.filter(bank=bank).update(parked_at=MONDAY, attempts=5, due_at=None)
    one_by_one = [recording.record(single, new, now=later)[1] for new in turns()]
    parts = (turns()[:cut], turns()[cut:])
    made = [output for part in parts for output in services.record_many(bulk, part, now=later)]
    assert [output is not None for output in made] == one_by_one
    assert stored(single) == stored(bulk)
    ids = [output.pk for output in made if output]
    assert ids == sorted(ids)
    assert sound(bulk)


def test_many_at_once_are_all_recorded_or_none() -> None:
    bank = make_bank()
    good, bad = turns()[:10], NewOutput("c", "Priya", "?", MONDAY + DAY)
    with pytest.raises(InvalidInput, match="is in the future"):
        services.record_many(bank, [*good, bad], now=MONDAY + HOUR)
    assert not Chat.objects.exists()
    Bank.objects.filter(pk=bank.pk).delete()
    with pytest.raises(InvalidInput, match="has been deleted"):
        services.record_many(bank, good, now=MONDAY + HOUR)


def test_many_at_once_take_few_queries(django_assert_max_num_queries: Any) -> None:
    bank = make_bank()
    talk(bank, "c0", [1])
    many = [NewOutput(f"c{n % 100}", "Priya", sentence(n), MONDAY, key=str(n)) for n in range(1000)]
    with django_assert_max_num_queries(60):
        services.record_many(bank, many, now=MONDAY)
    assert Output.objects.count() == 1001


def test_a_known_turn_is_looked_up_in_the_index_of_keys_however_long_its_chat() -> None:
    bank = make_bank()
    output = say(bank, "c", "We ship on Friday.", key="42")
    with CaptureQueriesContext(connection) as captured:
        say(bank, "c", "We ship on Friday.", key="42")
    (lookup,) = [query["sql"] for query in captured if '"key" IN' in query["sql"]]
    if connection.vendor == "sqlite":  # PostgreSQL would read a table of one row
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {lookup}")
            assert "output_key_unique_in_chat (chat_id=? AND key=?)" in cursor.fetchall()[0][3]
    assert Output.objects.get() == output


# --- private chats -----------------------------------------------------------------------------------


def test_a_private_chat_is_recorded_and_never_summarised(model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    services.set_audience(bank, chat_key="c", readers=(), actor="priya", now=MONDAY)
    talk(bank, "c", range(2, 30))
    run(MONDAY + DAY)
    assert (model.history, chat_of(bank, "c").pending_outputs) == ([], 29)
    assert sound(bank)


def test_a_chat_made_private_leaves_every_block_at_once_and_the_others_stay(model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, "secret", [1])
    talk(bank, "open", [2])
    run(MONDAY + HOUR)
    before = block_of(bank)[0]
    services.set_audience(bank, chat_key="secret", readers=(), actor="priya", now=MONDAY + HOUR)
    after, size = block_of(bank)
    assert tag(1) in before
    assert tag(1) not in after
    assert tag(2) in after
    assert size == services.count_tokens(after)


def test_a_chat_let_in_again_is_summarised_with_what_was_said_meanwhile(model: ScriptedLLM) -> None:
    """Even if the caller's bank object is older than the bank."""
    bank = make_bank(enabled=False)
    talk(bank, "c", [1])
    services.set_audience(bank, chat_key="c", readers=(), actor="priya", now=MONDAY)
    services.enable(Bank.objects.get(), actor="alice", disclosure_accepted=True, history=True, now=MONDAY)
    services.set_audience(bank, chat_key="c", readers=None, actor="priya", now=MONDAY)
    run(MONDAY + HOUR)
    assert tag(1) in block_of(bank)[0]
    assert sound(bank)


def test_a_failing_model_never_touches_recording(model: ScriptedLLM) -> None:
    bank = make_bank()
    model.answer = refusing("")
    talk(bank, "c", [1])
    run(MONDAY + HOUR)
    assert say(bank, "c", "Still writing.", at=MONDAY + 2 * HOUR).pk
    assert chat_of(bank, "c").pending_outputs == 1, "sentences stand in for the notes on the first turn"
    assert sound(bank)


def test_a_batch_completes_what_nobody_answered_and_repeats_nothing() -> None:
    one_by_one, together = make_bank(), make_bank()
    stored = [
        ("a", "pending", ""),
        ("b", "ok", "Yes."),
        ("a", "ok", "At noon."),
        ("a", "ok", "Later."),
        ("c", "error", ""),
    ]
    known = NewOutput("chat", "bob", "Asked b?", MONDAY, "", (), "error", "b")
    many = [
        NewOutput("chat", "bob", f"Asked {key}?", MONDAY, answer, (), status, key) for key, status, answer in stored
    ]
    for bank in (one_by_one, together):
        services.record_many(bank, [known], now=MONDAY)
    for new in many:
        services.record_many(one_by_one, [new], now=MONDAY)
    made = services.record_many(together, many, now=MONDAY)
    assert [output is not None for output in made] == [True, True, True, False, True]
    columns = ("key", "question", "answer", "status")
    outputs = [Output.objects.filter(chat__bank=bank).order_by("pk") for bank in (one_by_one, together)]
    rows = [list(recorded.values_list(*columns)) for recorded in outputs]
    assert rows[0] == rows[1]
    assert [row[::2] for row in rows[1]] == [("b", "Yes."), ("a", "At noon."), ("c", "")]
    assert chat_of(together, "chat").pending_outputs == chat_of(one_by_one, "chat").pending_outputs == 2
    assert sound(together)

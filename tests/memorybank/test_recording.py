"""Recording: one short transaction, no model, and nothing that a database or a reader would choke on."""

from datetime import datetime
from typing import Any

import pytest

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, Output

from .factories import DAY, HOUR, MINUTE, MONDAY, block_of, chat_of, make_bank, refusing, run, say, sound, tag, talk

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
    said = say(bank, "c", "And on it goes.", at=MONDAY + 19 * MINUTE)
    assert chat_of(bank, "c").due_at == said.created_at


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
        ("status", "maybe", "“maybe” is not one of ok, error"),
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
    given = {"chat_key": "c", "author": "Priya", "question": "?", "created_at": MONDAY, "now": MONDAY, field: wrong}
    with pytest.raises(InvalidInput, match=says.replace("(", r"\(")):
        services.record(bank, **given)
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


# --- private chats -----------------------------------------------------------------------------------


def test_a_private_chat_is_recorded_and_never_summarised(model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    services.set_private(bank, chat_key="c", private=True, actor="priya", now=MONDAY)
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
    services.set_private(bank, chat_key="secret", private=True, actor="priya", now=MONDAY + HOUR)
    after, size = block_of(bank)
    assert tag(1) in before
    assert tag(1) not in after
    assert tag(2) in after
    assert size == services.count_tokens(after)


def test_a_chat_let_in_again_is_summarised_with_what_was_said_meanwhile(model: ScriptedLLM) -> None:
    """Even if the caller's bank object is older than the bank."""
    bank = make_bank(enabled=False)
    talk(bank, "c", [1])
    services.set_private(bank, chat_key="c", private=True, actor="priya", now=MONDAY)
    services.enable(Bank.objects.get(), actor="alice", disclosure_accepted=True, now=MONDAY)
    services.set_private(bank, chat_key="c", private=False, actor="priya", now=MONDAY)
    run(MONDAY + HOUR)
    assert tag(1) in block_of(bank)[0]
    assert sound(bank)


def test_a_failing_model_never_touches_recording(model: ScriptedLLM) -> None:
    bank = make_bank()
    model.answer = refusing("")
    talk(bank, "c", [1])
    run(MONDAY + HOUR)
    assert say(bank, "c", "Still writing.", at=MONDAY + 2 * HOUR).pk
    assert chat_of(bank, "c").pending_outputs == 2

"""A message is recorded before it is answered: nothing is lost or doubled, and no watermark overtakes it."""

from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, Output, SearchDocument
from memorybank.new_output import NewOutput
from tests.support.factories import (
    DAY,
    HOUR,
    MINUTE,
    MONDAY,
    chat_of,
    leaf,
    make_bank,
    meanwhile,
    note_taker,
    run,
    say,
    sentence,
    shown,
    sound,
    undone,
)

pytestmark = pytest.mark.django_db


def ask(bank: Bank, number: int, *, at: datetime = MONDAY, chat: str = "c") -> Output:
    """Record the message of this number, which nobody has answered yet."""
    return say(bank, chat, sentence(number), at=at, answer="", status="pending")


def answer(bank: Bank, asked: Output, *, at: datetime = MONDAY, **more: str) -> Output:
    return services.complete(bank, asked, now=at, **{"answer": "Noted.", **more})


def fail(bank: Bank, asked: Output, *, at: datetime = MONDAY) -> Output:
    return services.complete(bank, asked, status="error", error="HTTP 503: overloaded", now=at)


def statuses() -> list[str]:
    return list(Output.objects.values_list("status", flat=True))


def test_a_pending_message_keeps_its_chat_busy_and_is_not_due_itself() -> None:
    bank = make_bank()
    ask(bank, 1)
    assert (chat_of(bank, "c").due_at, chat_of(bank, "c").pending_outputs) == (None, 0)
    say(bank, "c", sentence(2), at=MONDAY)
    ask(bank, 3, at=MONDAY + 5 * MINUTE)
    assert (chat_of(bank, "c").due_at, chat_of(bank, "c").pending_outputs) == (MONDAY + 15 * MINUTE, 1)


def test_an_answer_completes_the_message_and_makes_it_wait_for_a_summary() -> None:
    bank = make_bank()
    output = ask(bank, 1)
    answered = answer(bank, output, at=MONDAY + MINUTE, title="Orders")
    assert Output.objects.get() == answered
    assert (answered.question, answered.answer, answered.status) == (sentence(1), "Noted.", "ok")
    assert (answered.created_at, answered.asked_at, answered.key) == (MONDAY, None, output.key)
    chat = chat_of(bank, "c")
    assert (chat.title, chat.pending_outputs, chat.due_at) == ("Orders", 1, MONDAY + 11 * MINUTE)


def test_a_failure_keeps_the_message_and_says_why() -> None:
    bank = make_bank()
    failed = fail(bank, ask(bank, 1))
    assert (failed.status, failed.error, failed.question) == ("error", "HTTP 503: overloaded", sentence(1))
    assert (chat_of(bank, "c").pending_outputs, chat_of(bank, "c").due_at) == (0, None)


def test_asking_again_replaces_the_attempt_and_says_since_when_it_waits() -> None:
    bank = make_bank()
    again = services.retry_output(bank, fail(bank, ask(bank, 1)).pk, now=MONDAY + DAY)
    assert Output.objects.get() == again
    assert (again.status, again.error, again.created_at, again.asked_at) == ("pending", "", MONDAY, MONDAY + DAY)
    patience = timedelta(minutes=2)
    assert again.is_awaited(MONDAY + DAY + MINUTE, patience)
    assert not again.is_awaited(MONDAY + DAY + patience, patience)
    assert chat_of(bank, "c").last_output_at == MONDAY + DAY


def test_the_first_answer_wins_and_the_other_attempt_s_is_not_recorded_twice() -> None:
    bank = make_bank()
    first = ask(bank, 1)
    second = services.retry_output(bank, first.pk, now=MONDAY + MINUTE)
    answer(bank, first, at=MONDAY + 2 * MINUTE, answer="From the first attempt.")
    late = answer(bank, second, at=MONDAY + 3 * MINUTE, answer="From the second.")
    assert (Output.objects.get(), late.answer) == (late, "From the first attempt.")
    assert chat_of(bank, "c").pending_outputs == 1


def test_the_failure_of_an_attempt_that_was_given_up_does_not_end_the_one_that_runs() -> None:
    bank = make_bank()
    first = ask(bank, 1)
    second = services.retry_output(bank, first.pk, now=MONDAY + MINUTE)
    fail(bank, first)
    assert statuses() == ["pending"]
    fail(bank, second)
    assert statuses() == ["error"]
    answer(bank, first)
    assert statuses() == ["ok"]


def test_a_failure_after_the_answer_changes_nothing() -> None:
    bank = make_bank()
    first = ask(bank, 1)
    answer(bank, services.retry_output(bank, first.pk, now=MONDAY + MINUTE))
    assert fail(bank, first).status == "ok"


def test_what_is_answered_or_erased_cannot_be_asked_again_or_come_back() -> None:
    bank, other = make_bank(), make_bank()
    asked, gone = ask(bank, 1), ask(bank, 2, chat="gone")
    with pytest.raises(InvalidInput, match="answered or erased"):
        services.retry_output(other, asked.pk, now=MONDAY)
    answered = answer(bank, asked)
    chat_of(bank, "gone").delete()
    for pk in (asked.pk, answered.pk, gone.pk):
        with pytest.raises(InvalidInput, match="answered or erased"):
            services.retry_output(bank, pk, now=MONDAY)
    with pytest.raises(InvalidInput, match="erased"):
        answer(bank, gone)
    assert (Output.objects.get(), Chat.objects.count()) == (answered, 1)


def test_nothing_but_an_end_completes_a_message() -> None:
    bank = make_bank()
    for status in ("pending", "maybe"):
        with pytest.raises(InvalidInput, match="does not complete"):
            services.complete(bank, ask(bank, 1), status=status)


def test_the_same_key_with_an_answer_completes_what_was_recorded_without_one() -> None:
    """As an import does that comes again after the message was answered."""
    bank = make_bank()
    for status in ("pending", "error", "ok", "error", "ok"):
        say(bank, "c", sentence(1), key="42", status=status, answer="Noted." if status == "ok" else "")
    assert [(output.status, output.answer) for output in Output.objects.all()] == [("ok", "Noted.")]
    assert chat_of(bank, "c").pending_outputs == 1


def test_an_answered_message_keeps_its_id_and_takes_the_last_place_in_its_bank() -> None:
    bank = make_bank()
    asked, failed = ask(bank, 1), fail(bank, ask(bank, 2))
    between = [say(bank, chat, sentence(3)) for chat in ("c", "d")]
    answered = answer(bank, asked)
    imported = say(bank, "c", "Crates?", status="error", key="k")
    completed = services.record_many(bank, [NewOutput("c", "Priya", "Crates?", MONDAY, "Yes.", key="k")])[0]
    assert completed is not None
    assert (answered.pk, completed.pk) == (asked.pk, imported.pk)
    places = list(Output.objects.values_list("pk", flat=True))
    assert places == [failed.pk, *(output.pk for output in between), answered.pk, imported.pk]
    assert Output.objects.get(pk=imported.pk).answer == "Yes."


def test_no_place_is_given_twice_even_if_the_newest_turn_was_erased() -> None:
    bank = make_bank()
    say(bank, "c", sentence(1))
    newest = say(bank, "c", sentence(2))
    run(MONDAY + HOUR)
    services.erase(bank, output=newest.pk, actor="alice", now=MONDAY + HOUR)
    assert say(bank, "c", sentence(3), at=MONDAY + HOUR).sequence > newest.sequence
    assert (chat_of(bank, "c").pending_outputs, sound(bank)) == (1, True)


def test_an_answer_that_memory_has_passed_by_is_remembered_all_the_same(model: ScriptedLLM) -> None:
    bank = make_bank()
    output = ask(bank, 1)
    say(bank, "c", sentence(2), at=MONDAY + MINUTE)
    run(MONDAY + HOUR)
    assert (shown(model, 1), shown(model, 2)) == (0, 1)
    answer(bank, output, at=MONDAY + HOUR)
    assert sound(bank)
    run(MONDAY + 2 * HOUR)
    assert (shown(model, 1), shown(model, 2), leaf().output_count) == (1, 1, 2)
    assert set(SearchDocument.objects.values_list("output_id", flat=True)) == set(
        Output.objects.values_list("pk", flat=True)
    )
    assert sound(bank)


def test_an_answer_that_arrives_while_its_chat_is_summarised_waits_for_the_next_time(model: ScriptedLLM) -> None:
    bank = make_bank()
    say(bank, "c", sentence(1))
    output = ask(bank, 2)
    model.enqueue(meanwhile(lambda: answer(bank, output, at=MONDAY + HOUR)))
    run(MONDAY + HOUR)
    assert (chat_of(bank, "c").pending_outputs, leaf().output_count) == (1, 1)
    assert sound(bank)
    run(MONDAY + 2 * HOUR)
    assert [shown(model, 1), shown(model, 2), leaf().output_count] == [1, 1, 2]


@pytest.mark.parametrize("status", ["pending", "error", "stopped"])
def test_memory_takes_none_that_is_pending_or_failed(model: ScriptedLLM, status: str) -> None:
    bank = make_bank()
    say(bank, "c", sentence(1), status=status, answer="")
    say(bank, "c", sentence(2))
    run(MONDAY + HOUR)
    assert (shown(model, 1), SearchDocument.objects.count()) == (0, 1)
    assert sound(bank)


# --- in any order --------------------------------------------------------------------------------------

STEPS = st.tuples(
    st.sampled_from(["ask", "say", "answer", "fail", "again", "sweep", "answer while it is summarised"]),
    st.integers(0, 5),
)


@settings(
    deadline=None,
    max_examples=settings.default.max_examples // 4,
    phases=set(Phase) - {Phase.shrink},  # shrinking takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(STEPS, max_size=25))
def test_in_any_order_every_message_is_there_once_and_every_answered_one_is_remembered_once(
    model: ScriptedLLM, steps: list[tuple[str, int]]
) -> None:
    with undone():
        bank, now, attempts = make_bank(), MONDAY, list[Output]()
        model.history.clear()
        count = 0
        for step, which in steps:
            now += 4 * MINUTE
            chosen = attempts[which % len(attempts)] if attempts else None
            if step == "ask":
                count += 1
                attempts.append(ask(bank, count, at=now))
            elif step == "say":
                count += 1
                say(bank, "c", sentence(count), at=now)
            elif step == "sweep":
                services.run(bank=bank, now=now + which * 4 * MINUTE)
            elif chosen:
                _go_on(bank, model, step, chosen, attempts, now)
            assert sound(bank)
            assert sorted(Output.objects.values_list("question", flat=True)) == sorted(
                map(sentence, range(1, count + 1))
            )
        run(now + DAY)
        answered = Output.objects.remembered().values_list("question", flat=True)
        assert [shown(model, number) for number in range(1, count + 1)] == [
            int(sentence(number) in answered) for number in range(1, count + 1)
        ]


def _go_on(bank: Bank, model: ScriptedLLM, step: str, chosen: Output, attempts: list[Output], now: datetime) -> None:
    """One step of an attempt, which may be over, or given up for another one."""
    if step == "answer":
        answer(bank, chosen, at=now)
    elif step == "fail":
        fail(bank, chosen, at=now)
    elif step == "again" and (asked := Output.objects.unanswered().filter(key=chosen.key).first()):
        attempts.append(services.retry_output(bank, asked.pk, now=now))
    elif step == "answer while it is summarised":
        model.answer = meanwhile(lambda: answer(bank, chosen, at=now))
        services.run(bank=bank, now=now + HOUR)
        model.answer = note_taker

"""A better title from the chat's model: in the message's words, once, and never against a person."""

import pytest

from memorybank import services
from memorybank.exceptions import LLMError
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, LLMCall, Output
from memorybank.tasks import improve_title
from tests.support.factories import MONDAY, make_bank

from .cases import prompt_text

pytestmark = pytest.mark.django_db

QUESTION = "Hello! Could you please tell me which provider we chose for card payments, and why?\nThe key is: SECRET"
BEGINNING = "Hello! Could you please tell me which provider we chose for card payments,…"
BETTER = "- title: The provider of payments we settled on\n- title: “Provider for card payments”.\n- title: Payments"


@pytest.fixture
def bank() -> Bank:
    return make_bank(enabled=False)


def ask(bank: Bank, question: str = QUESTION, **more: object) -> Output:
    first = {"chat_key": "c", "author": "priya", "question": question, "title": BEGINNING, **more}
    return services.record(bank, **first, answer="Paywright, for its fees.", now=MONDAY)  # type: ignore[arg-type]


def title() -> str:
    return Chat.objects.get().title


def test_it_takes_the_first_title_that_has_words_of_the_message_only(bank: Bank, chat_model: ScriptedLLM) -> None:
    chat_model.answer = lambda messages: BETTER
    improve_title(ask(bank).pk)
    assert title() == "Provider for card payments"
    call = LLMCall.objects.get()
    assert (call.purpose, call.outcome) == ("title", "ok")


def test_the_model_is_shown_the_message_masked_and_no_answer(bank: Bank, chat_model: ScriptedLLM) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    chat_model.answer = lambda messages: BETTER
    improve_title(ask(bank, QUESTION.replace("SECRET", secret)).pk)
    assert "card payments" in prompt_text(chat_model)
    assert secret not in prompt_text(chat_model) and "Paywright" not in prompt_text(chat_model)


@pytest.mark.parametrize(
    "answer",
    ["", "- title: Choosing Paywright", "- title: the", "Provider for card payments", f"- title: {QUESTION[:80]}"],
)
def test_an_answer_without_a_title_in_the_message_s_words_changes_nothing(
    bank: Bank, chat_model: ScriptedLLM, answer: str
) -> None:
    chat_model.answer = lambda messages: answer
    improve_title(ask(bank).pk)
    assert (title(), LLMCall.objects.get().outcome) == (BEGINNING, "unusable")


def test_a_failing_call_changes_nothing(bank: Bank, chat_model: ScriptedLLM) -> None:
    def fail(messages: object) -> str:
        raise LLMError("HTTP 500")

    chat_model.answer = fail
    improve_title(ask(bank).pk)
    assert title() == BEGINNING


def test_a_title_by_hand_stays_whether_written_before_or_during_the_call(bank: Bank, chat_model: ScriptedLLM) -> None:
    def rename(messages: object) -> str:
        services.rename_chat(bank, chat_key="c", title="Mine")
        return BETTER

    chat_model.answer = rename
    first = ask(bank)
    improve_title(first.pk)
    assert (title(), LLMCall.objects.count()) == ("Mine", 1)
    improve_title(first.pk)
    assert (title(), LLMCall.objects.count()) == ("Mine", 1)


def test_an_erasure_during_the_call_wins_and_one_after_it_takes_the_title(bank: Bank, chat_model: ScriptedLLM) -> None:
    def erase(messages: object) -> str:
        services.erase(bank, output=first.pk, actor="priya", now=MONDAY)
        return BETTER

    ask(bank, "And lunch?", author="tom")
    first = ask(bank)
    chat_model.answer = erase
    improve_title(first.pk)
    assert title() == "And lunch?"
    services.erase(bank, author="tom", actor="priya", now=MONDAY)
    second = ask(bank)
    chat_model.answer = lambda messages: BETTER
    improve_title(second.pk)
    assert title() == "Provider for card payments"
    ask(bank, "And dinner?", author="luc")
    services.erase(bank, output=second.pk, actor="priya", now=MONDAY)
    assert title() == "And dinner?"


def test_without_a_chat_model_nothing_happens(bank: Bank) -> None:
    improve_title(ask(bank).pk)
    assert (title(), LLMCall.objects.count()) == (BEGINNING, 0)

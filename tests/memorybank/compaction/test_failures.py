"""A failed compaction leaves the chat as it was, and says why."""

from typing import Any

import pytest

from memorybank import services
from memorybank.compaction.lease import ProgressReporter
from memorybank.exceptions import InvalidInput, LLMRejected, LLMUnavailable, NotCompacted
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, Checkpoint, Compaction, Output
from tests.support.factories import DAY, HOUR, MINUTE, MONDAY, make_bank, say

from .cases import CHAT, compact, meanwhile, refused, talk

pytestmark = pytest.mark.django_db


def test_a_chat_with_nothing_to_compact_is_refused_with_its_tokens(chat_model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, CHAT, range(3))
    why = refused(bank)
    assert why.startswith("This chat is already short (") and " tokens), so there is nothing to shorten." in why
    assert not chat_model.history
    assert Compaction.objects.may_begin(Chat.objects.get(key=CHAT).pk, MONDAY + HOUR)  # no failure


def test_a_compaction_that_gains_nothing_is_refused_with_tokens_before_and_after(chat_model: ScriptedLLM) -> None:
    bank = make_bank()
    for number in range(5):
        say(bank, CHAT, "Hi.", answer="", at=MONDAY + number * MINUTE)
    chat_model.answer = "- goal: say hello to everybody"
    assert "Nothing gained: 30 tokens before, " in refused(bank)


@pytest.mark.parametrize(
    "failure",
    [LLMRejected("Secret words"), LLMUnavailable("Secret words"), "- nothing", "Sorry, no."],
    ids=["empty", "outage", "nothing", "prose"],
)
def test_a_model_that_fails_leaves_the_chat_as_it_was_with_its_tokens(
    bank: Bank, chat_model: ScriptedLLM, failure: Any
) -> None:
    chat_model.enqueue(failure)
    why = refused(bank)
    text = "is not available" if isinstance(failure, LLMUnavailable) else "gave no answer that can be used"
    assert why == f"The model {text}, so the chat stays as it was, 1,302 tokens."  # and no word of its provider's
    assert Compaction.objects.get().error == why
    assert compact(bank).tokens_after  # and works when the model does


def test_after_a_failure_no_automatic_compaction_is_tried_for_a_while(bank: Bank, chat_model: ScriptedLLM) -> None:
    chat_model.enqueue(LLMUnavailable("down"))
    refused(bank)
    chat = Chat.objects.get(key=CHAT)
    assert not Compaction.objects.may_begin(chat.pk, MONDAY + HOUR)
    assert Compaction.objects.may_begin(chat.pk, MONDAY + DAY)
    compact(bank)
    assert Compaction.objects.may_begin(chat.pk, MONDAY + HOUR)


def test_what_is_said_meanwhile_follows_the_checkpoint(bank: Bank, chat_model: ScriptedLLM) -> None:
    chat_model.answer = meanwhile(lambda: say(bank, CHAT, "And the zebra?", at=MONDAY + HOUR))
    made = compact(bank)
    assert Output.objects.filter(sequence__gt=made.through, question="And the zebra?").exists()
    assert "zebra" not in made.text


def test_what_is_erased_meanwhile_is_in_no_checkpoint(bank: Bank, chat_model: ScriptedLLM) -> None:
    first = Output.objects.order_by("pk")[0]
    chat_model.answer = meanwhile(lambda: services.erase(bank, output=first.pk, actor="alice", now=MONDAY + HOUR))
    assert "erased meanwhile" in refused(bank)


def test_a_chat_that_is_deleted_meanwhile_is_gone(bank: Bank, chat_model: ScriptedLLM) -> None:
    chat_model.answer = meanwhile(lambda: Chat.objects.get(key=CHAT).delete())
    with pytest.raises(NotCompacted):
        compact(bank)
    assert not Checkpoint.objects.exists() and not Compaction.objects.exists()


def test_two_compactions_at_once_are_one(bank: Bank, chat_model: ScriptedLLM) -> None:
    def again() -> None:
        with pytest.raises(NotCompacted, match="being shortened already, 10 % done"):
            compact(bank)

    chat_model.answer = meanwhile(again)
    compact(bank)
    assert Checkpoint.objects.count() == 1


def test_a_compaction_whose_process_died_is_taken_over_when_its_lease_ends(bank: Bank, chat_model: ScriptedLLM) -> None:
    assert Compaction.objects.begin(Chat.objects.get(key=CHAT), MONDAY + HOUR, 5 * MINUTE)
    with pytest.raises(NotCompacted, match="already, 0 % done"):
        compact(bank)
    assert compact(bank, now=MONDAY + HOUR + 5 * MINUTE)


def test_saving_progress_extends_the_lease(bank: Bank, chat_model: ScriptedLLM) -> None:
    compaction = Compaction.objects.begin(Chat.objects.get(key=CHAT), MONDAY + HOUR, MINUTE)
    assert compaction
    ProgressReporter(compaction, MONDAY + HOUR, 5 * MINUTE).part(1, 2)
    running = Compaction.objects.running(compaction.chat_id, MONDAY + HOUR + 4 * MINUTE)
    assert running and (running.percent, running.done, running.of) == (45, 1, 2)


@pytest.mark.parametrize(("options", "said"), [({"chat_key": "none"}, "chat: "), ({"focus": "a" * 1_001}, "focus: ")])
def test_impossible_options_are_refused(bank: Bank, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        compact(bank, **options)

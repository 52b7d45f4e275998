"""Erased data is in no checkpoint."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, Checkpoint, Output
from tests.support.factories import DAY, HOUR, MINUTE, MONDAY, make_bank, run, say
from tests.support.word_search import places, visible_text

from .cases import CHAT, GOOD, compact, prompt_text, refused, talk

pytestmark = pytest.mark.django_db

CANARY = "zanzibarberry"


@pytest.fixture
def noted(chat_model: ScriptedLLM) -> tuple[Bank, Checkpoint]:
    """A checkpoint with a canary in its notes and in Zelda's own words; and an older one without it."""
    bank = make_bank(redact_personal=False)
    talk(bank, CHAT, range(12))
    compact(bank)
    say(bank, CHAT, f"The {CHAT} contract is about the {CANARY}.", author="Zelda", at=MONDAY + MINUTE)
    talk(bank, CHAT, range(20, 30), at=MONDAY + HOUR)
    chat_model.answer = f"- goal: the contract about the {CANARY}"
    made = compact(bank, now=MONDAY + 2 * HOUR)
    assert made.text.count(CANARY) == 2 and "memorybank.Checkpoint.text" in places(CANARY)
    return bank, made


def zelda() -> Output:
    return Output.objects.get(author="Zelda")


NOW = MONDAY + 3 * HOUR
WAYS: dict[str, Callable[[Bank], object]] = {
    "chat": lambda bank: services.erase(bank, chat=CHAT, actor="alice", now=NOW),
    "author": lambda bank: services.erase(bank, author="Zelda", actor="alice", now=NOW),
    "output": lambda bank: services.erase(bank, output=zelda().pk, actor="alice", now=NOW),
    "everything": lambda bank: services.erase_everything(bank, actor="alice", now=NOW),
    "row": lambda bank: Chat.objects.get(key=CHAT).delete(),
}


@pytest.mark.parametrize("way", WAYS)
def test_whatever_erases_a_turn_erases_the_checkpoints_it_is_in(noted: tuple[Bank, Checkpoint], way: str) -> None:
    WAYS[way](noted[0])
    assert places(CANARY) == []
    left = Checkpoint.objects.count()
    assert left == (1 if way in ("author", "output") else 0)  # the older one knew nothing of it


def test_a_receipt_counts_the_erased_checkpoints(noted: tuple[Bank, Checkpoint]) -> None:
    receipt = services.erase(noted[0], author="Zelda", actor="alice", dry_run=True, now=NOW)
    assert receipt.as_dict()["checkpoints"] == 1
    assert Checkpoint.objects.count() == 2


def test_who_opts_out_is_in_no_checkpoint_and_her_turns_are_shown_to_no_summariser(
    noted: tuple[Bank, Checkpoint], chat_model: ScriptedLLM
) -> None:
    bank, _ = noted
    services.opt_out(bank, author="Zelda", actor="Zelda", now=NOW)
    assert not any("Checkpoint" in place for place in places(CANARY))
    chat_model.answer = GOOD
    assert CANARY not in compact(bank, now=NOW).text + prompt_text(chat_model)


def test_a_chat_of_a_person_who_opted_out_gets_no_checkpoint(bank: Bank, chat_model: ScriptedLLM) -> None:
    services.opt_out(bank, author="Priya", actor="Priya", now=NOW)
    assert "nothing in this chat may be summarised (1,302 tokens)" in refused(bank)
    assert not chat_model.history


def test_turns_requested_to_be_erased_are_in_no_checkpoint_until_they_are_restored(
    noted: tuple[Bank, Checkpoint], chat_model: ScriptedLLM
) -> None:
    bank, _ = noted
    say(bank, "other", f"Please forget what I said about the {CANARY} contract.", author="Zelda", at=NOW)
    say(bank, CHAT, "Forget that.", author="Zelda", at=NOW)
    assert not any("Checkpoint" in place for place in places(CANARY))
    chat_model.answer = GOOD
    assert CANARY not in compact(bank, now=NOW).text
    services.reject_erasure_request(
        bank, request_id=bank.erasure_requests.get(chat__key=CHAT).pk, actor="alice", now=NOW
    )
    assert CANARY in compact(bank, now=NOW).text


@pytest.mark.parametrize("setting", ["keep_turns_days", "keep_memory_days"])
def test_turns_past_retention_are_in_no_checkpoint(noted: tuple[Bank, Checkpoint], setting: str) -> None:
    bank, _ = noted
    services.configure(bank, actor="alice", now=NOW, **{setting: 1})
    run(NOW + 2 * DAY)
    assert not Checkpoint.objects.exists()


def test_a_checkpoint_made_without_turns_past_retention_stays(bank: Bank, chat_model: ScriptedLLM) -> None:
    services.configure(bank, actor="alice", now=NOW, keep_memory_days=1)
    run(NOW + 2 * DAY)
    talk(bank, CHAT, range(40, 52), at=NOW + 2 * DAY)
    made = compact(bank, now=NOW + 2 * DAY + HOUR)
    assert "ORD-00001" not in prompt_text(chat_model)
    run(NOW + 3 * DAY + timedelta(hours=-2))
    assert Checkpoint.objects.get() == made


def test_no_memory_and_no_other_chat_is_told_of_a_private_chats_checkpoint(chat_model: ScriptedLLM) -> None:
    bank = make_bank()
    say(bank, "shared", "The crane is green.", at=MONDAY)
    talk(bank, CHAT, range(12))
    services.set_audience(bank, chat_key=CHAT, readers=(), actor="alice", now=MONDAY)
    chat_model.answer = f"- goal: paint the crane\n- context: {CANARY}"
    made = compact(bank)
    run(MONDAY + DAY)
    assert CANARY in made.text
    assert CANARY not in visible_text(bank, f"{CANARY} crane")
    assert {place.partition(".")[2].partition(".")[0] for place in places(CANARY)} == {"Checkpoint"}


def test_an_erasure_leaves_the_checkpoints_of_another_bank(noted: tuple[Bank, Checkpoint]) -> None:
    other = make_bank()
    talk(other, CHAT, range(12))
    services.erase(other, chat=CHAT, actor="alice", now=NOW)
    assert Checkpoint.objects.count() == 2
    with pytest.raises(InvalidInput):
        compact(make_bank())

"""Checkpoints: what replaces a chat's turns, and what is kept."""

import pytest

from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Checkpoint, LLMCall, Output
from tests.support.factories import HOUR, MINUTE, MONDAY, make_bank, say

from .cases import CHAT, compact, prompt_text, talk

pytestmark = pytest.mark.django_db


def test_a_checkpoint_stands_for_all_but_the_newest_turns_which_stay_stored(
    bank: Bank, chat_model: ScriptedLLM
) -> None:
    made = compact(bank)
    ids = list(Output.objects.order_by("pk").values_list("pk", flat=True))
    assert (made.last_output, len(ids)) == (ids[-5], 12)
    assert "Goal\n- paint the crane" in made.text and "Done\n- the crane is painted" in made.text
    assert "In their own words\n- Priya: The harbour crane of order ORD-00000" in made.text
    assert made.tokens_after < made.tokens_before
    assert made.method.startswith("scripted compact@")
    [call] = LLMCall.objects.all()
    assert (call.purpose, call.outcome) == ("compact", "ok")


def test_the_model_is_shown_the_old_turns_as_data_and_the_kept_ones_beside(bank: Bank, chat_model: ScriptedLLM) -> None:
    compact(bank, focus="the crane")
    system, (data, _, kept) = chat_model.history[0][0]["content"], prompt_text(chat_model).partition("<<<newest")
    assert "ORD-00007" in data and "ORD-00008" not in data
    assert "ORD-00008" in kept and "ORD-00011" in kept and "ORD-00007" not in kept
    assert system.endswith("What matters most to the person now\nthe crane")


def test_the_checkpoint_before_is_brought_up_to_date_and_not_begun_anew(bank: Bank, chat_model: ScriptedLLM) -> None:
    first = compact(bank)
    talk(bank, CHAT, range(20, 30), at=MONDAY + HOUR)
    second = compact(bank, now=MONDAY + 2 * HOUR)
    assert "<<<checkpoint" in prompt_text(chat_model) and "- goal: paint the crane" in prompt_text(chat_model)
    assert "ORD-00003" not in prompt_text(chat_model) and "ORD-00011" in prompt_text(chat_model)
    assert "ORD-00003" in second.text  # people's own words reach back further
    assert Checkpoint.objects.newest(first.chat_id) == second
    assert Checkpoint.objects.newest(first.chat_id, second.through) == first


def test_another_checkpoint_keeps_what_the_last_one_quotes(chat_model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, CHAT, range(60))
    first = compact(bank, window=8_000)
    talk(bank, CHAT, range(60, 64), at=MONDAY + 2 * HOUR)
    second = compact(bank, window=8_000, now=MONDAY + 3 * HOUR)
    assert second.text.count("Priya:") >= first.text.count("Priya:") - 1


def test_a_harder_compaction_keeps_fewer_turns(bank: Bank, chat_model: ScriptedLLM) -> None:
    gentle = compact(bank)
    gentle.delete()
    assert compact(bank, harder=True).through > gentle.through


def test_a_checkpoint_without_a_model_quotes_sentences_and_says_so(bank: Bank, no_model: None) -> None:
    made = compact(bank, window=1_500)
    assert made.method.startswith("extractive")
    assert "Goal\n- The harbour crane of order ORD-00000" in made.text
    talk(bank, CHAT, range(20, 30), at=MONDAY + HOUR)
    assert "Goal\n- The harbour crane of order ORD-00000" in compact(bank, window=1_500).text


def test_what_the_model_was_not_shown_is_in_no_checkpoint(bank: Bank, chat_model: ScriptedLLM) -> None:
    chat_model.answer = "- context: see /etc/passwd and ORD-99999\n- context: see ORD-00001"
    text = compact(bank).text
    assert "ORD-99999" not in text and "see ORD-00001" in text


def test_secrets_are_masked_in_a_checkpoint(bank: Bank, chat_model: ScriptedLLM) -> None:
    say(bank, "d", "My password is Tr0ub4dor&3xyz, keep it.", at=MONDAY)
    talk(bank, "d", range(12), at=MONDAY + MINUTE)
    assert "Tr0ub4dor" not in compact(bank, chat_key="d").text + prompt_text(chat_model)

"""Compacting a chat that one call cannot read: in parallel parts, with one percentage."""

import re
from typing import Any

import pytest

from memorybank import llm
from memorybank.compaction.lease import Progress
from memorybank.exceptions import LLMRejected, LLMUnavailable
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, LLMCall
from tests.support import long_chats

from .cases import compact, refused

pytestmark = pytest.mark.django_db


def test_a_long_chat_is_read_in_parts_and_the_percentage_never_goes_back(long_bank: Bank) -> None:
    steps: list[Progress] = []
    made = compact(long_bank, window=8_000, progress=steps.append)
    percents = [step.percent for step in steps]
    assert percents == sorted(percents) and percents[0] == 5 and percents[-1] == 100
    assert [step.stage for step in steps if step.stage != "parts"] == ["load", "strategy", "merged", "written"]
    parts = [step for step in steps if step.stage == "parts"]
    assert [step.done for step in parts] == list(range(1, parts[-1].of + 1)) and parts[-1].of > 4
    for _, statement, _, answer in long_chats.PLANTED:
        assert answer in made.text, statement


def test_a_part_that_fails_is_extracted_and_advances_the_percentage(long_bank: Bank) -> None:
    model, steps = llm.get("chat"), list[Progress]()
    assert isinstance(model, ScriptedLLM)
    model.enqueue(LLMRejected("no"), "I would rather not.")
    made = compact(long_bank, window=8_000, progress=steps.append)
    parts = [step for step in steps if step.stage == "parts"]
    assert [step.done for step in parts] == list(range(1, parts[-1].of + 1))
    assert "9 hours" in made.text  # it is in a part that was read
    assert set(LLMCall.objects.values_list("outcome", flat=True)) == {"ok", "rejected", "unusable"}


def test_notes_of_parts_that_cannot_be_joined_stand_as_they_are(long_bank: Bank) -> None:
    model = llm.get("chat")
    assert isinstance(model, ScriptedLLM)
    model.answer = lambda messages: (
        "Sorry, no." if "read part by part" in messages[0]["content"] else long_chats.model([dict(m) for m in messages])
    )
    made = compact(long_bank, window=8_000)
    assert all(answer in made.text for *_, answer in long_chats.PLANTED)


def test_notes_that_one_call_cannot_read_are_joined_in_rounds(long_bank: Bank, settings: Any) -> None:
    settings.MEMORYBANK = {**settings.MEMORYBANK, "INPUT_TOKENS": 400, "CHUNK_TOKENS": 400}
    model, steps = llm.get("chat"), list[Progress]()
    assert isinstance(model, ScriptedLLM)

    def talkative(messages: Any) -> str:
        more = re.findall(r"the log has \d+ lines", messages[1]["content"])[:6]
        return "\n".join([long_chats.model([dict(m) for m in messages]), *(f"- done: {item}" for item in more)])

    model.answer = talkative
    made = compact(long_bank, window=8_000, progress=steps.append)
    joining = [call for call in model.history if "read part by part" in call[0]["content"]]
    assert len(joining) > 1 and steps[-1].percent == 100
    assert all(answer in made.text for kind, *_, answer in long_chats.PLANTED if kind in ("goal", "decision", "next"))


@pytest.mark.parametrize("failure", [LLMUnavailable("down"), LLMRejected("no")], ids=["outage", "every part"])
def test_an_outage_or_a_failure_of_every_part_is_one_of_the_whole(long_bank: Bank, failure: Exception) -> None:
    model = llm.get("chat")
    assert isinstance(model, ScriptedLLM)
    model.answer = failure
    assert "so the chat stays as it was" in refused(long_bank, window=8_000)

"""Helpers: a long chat, compacting it, and expecting a refusal."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from memorybank import services
from memorybank.exceptions import NotCompacted
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, Checkpoint, Compaction
from tests.support.factories import HOUR, MINUTE, MONDAY, say, sentence

CHAT, WINDOW = "c", 4_000
GOOD = "- goal: paint the crane\n- done: the crane is painted"


def talk(bank: Bank, chat: str, numbers: range, *, at: datetime = MONDAY) -> None:
    """Turns that are answered at some length, one a minute."""
    for index, number in enumerate(numbers):
        say(bank, chat, sentence(number), answer="That is well understood. " * 16, at=at + index * MINUTE)


def compact(bank: Bank, **options: Any) -> Checkpoint:
    return services.compact_chat(bank, **{"chat_key": CHAT, "window": WINDOW, "now": MONDAY + HOUR, **options})


def refused(bank: Bank, **options: Any) -> str:
    """Why, after it was made sure that nothing has changed."""
    before = list(Checkpoint.objects.values())
    with pytest.raises(NotCompacted) as why:
        compact(bank, **options)
    assert list(Checkpoint.objects.values()) == before
    assert Compaction.objects.running(Chat.objects.get(key=CHAT).pk, MONDAY + HOUR) is None
    return str(why.value)


def prompt_text(model: ScriptedLLM) -> str:
    return model.history[-1][1]["content"]


def meanwhile(act: Callable[[], object]) -> Callable[[Any], str]:
    def think(_: Any) -> str:
        act()
        return GOOD

    return think

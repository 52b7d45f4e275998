"""Fixtures: the chat model, and a bank with a chat too long for it."""

from collections.abc import Iterator
from typing import Any

import pytest

from memorybank import llm, services
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank
from tests.support import long_chats
from tests.support.factories import make_bank
from tests.support.scripted_model import scripted

from .cases import CHAT, GOOD, talk


@pytest.fixture
def chat_model(settings: Any) -> Iterator[ScriptedLLM]:
    """The model of chats, which takes notes in order."""
    with scripted(settings, "chat", GOOD) as built:
        yield built


@pytest.fixture
def bank() -> Bank:
    bank = make_bank(enabled=False)
    talk(bank, CHAT, range(12))
    return bank


@pytest.fixture
def long_bank(chat_model: ScriptedLLM, settings: Any) -> Bank:
    settings.MEMORYBANK = {**settings.MEMORYBANK, "INPUT_TOKENS": 1_500, "CHUNK_TOKENS": 800}
    bank = make_bank(enabled=False)
    services.record_many(bank, long_chats.turns(6_000, chat=CHAT))
    built = llm.get("chat")
    assert isinstance(built, ScriptedLLM)
    built.answer = lambda messages: long_chats.model([dict(message) for message in messages])
    return bank

"""Fixtures for the language model in tests: a scripted model, or no model."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memorybank import llm
from memorybank.llm.scripted import ScriptedLLM
from tests.support.factories import note_taker

SCRIPTED = {"BACKEND": "memorybank.llm.scripted.ScriptedLLM", "MODEL": "scripted"}


@pytest.fixture
def no_model(settings: Any) -> Iterator[None]:
    """Configure no model, regardless of the environment, so that memory is extracted."""
    settings.MEMORYBANK = {}
    llm.reset()
    yield
    llm.reset()


@pytest.fixture
def model(settings: Any) -> Iterator[ScriptedLLM]:
    """A scripted summary model; by default, its notes repeat the items' own words."""
    with scripted(settings, "summary", note_taker) as built:
        yield built


@contextmanager
def scripted(settings: Any, purpose: str, answer: Any) -> Iterator[ScriptedLLM]:
    """Configure a scripted model for one purpose, and no other model."""
    settings.MEMORYBANK = {"LLMS": {purpose: SCRIPTED}}
    llm.reset()
    built = llm.get(purpose)
    assert isinstance(built, ScriptedLLM)
    built.answer = answer
    yield built
    llm.reset()


@pytest.fixture
def tuned(settings: Any) -> Any:
    """A function that changes settings of the app: ``tuned(CHUNK_TOKENS=200)``."""

    def tune(**changes: Any) -> None:
        settings.MEMORYBANK = {**settings.MEMORYBANK, **changes}

    return tune

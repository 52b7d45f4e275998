"""Fixtures of the language model of a test: scripted, or none."""

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
    """No model, whatever the environment says, so that memory is extracted."""
    settings.MEMORYBANK = {}
    llm.reset()
    yield
    llm.reset()


@pytest.fixture
def model(settings: Any) -> Iterator[ScriptedLLM]:
    """A summary model that by default takes notes in the items' own words."""
    with scripted(settings, "summary", note_taker) as built:
        yield built


@contextmanager
def scripted(settings: Any, purpose: str, answer: Any) -> Iterator[ScriptedLLM]:
    """The only model there is, for one purpose."""
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

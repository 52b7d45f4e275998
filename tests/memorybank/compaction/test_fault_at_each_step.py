"""A fault at each step, in the database, the model or the listener: the chat is unchanged or compacted."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import DatabaseError, connection

from memorybank import llm
from memorybank.compaction.lease import Progress
from memorybank.exceptions import LLMRejected, LLMUnavailable, NotCompacted
from memorybank.llm.base import Message
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Checkpoint, Output
from tests.support import long_chats
from tests.support.factories import HOUR, MINUTE, MONDAY

from .cases import WINDOW, compact

pytestmark = pytest.mark.django_db

WRITES = ("INSERT", "UPDATE", "DELETE")
#: When somebody tries again: what was left held is no longer.
LATER = MONDAY + HOUR + 2 * MINUTE


class Faulty:
    """Raises what it is told at one call of many, counted from 1; ``calls`` says how many there were."""

    def __init__(self, at: int, fault: BaseException) -> None:
        self.at, self.fault, self.calls = at, fault, 0

    def count(self) -> None:
        self.calls += 1
        if self.calls == self.at:
            raise self.fault


@contextmanager
def database_with(faulty: Faulty) -> Iterator[None]:
    def run(execute: Any, sql: str, *more: Any) -> Any:
        if sql.startswith(WRITES):
            faulty.count()
        return execute(sql, *more)

    with connection.execute_wrapper(run):
        yield


@contextmanager
def model_with(faulty: Faulty) -> Iterator[None]:
    def answer(messages: Sequence[Message]) -> str:
        faulty.count()
        return long_chats.model([dict(message) for message in messages])

    model = llm.get("chat")
    assert isinstance(model, ScriptedLLM)
    before, model.answer = model.answer, answer
    yield
    model.answer = before


def state() -> list[Any]:
    """The chat and what stands for it."""
    return [*Checkpoint.objects.values(), *Output.objects.order_by("pk").values()]


def each_fault(
    bank: Bank, place: Callable[[Faulty], Any], fault: BaseException, window: int = WINDOW
) -> tuple[int, int]:
    """A fault at each call in turn; how many attempts were shortened all the same, and how many were not."""
    shortened = refused = 0
    before = state()
    for step in range(1, 1_000):
        faulty = Faulty(step, fault)
        with place(faulty), suppress(NotCompacted, type(fault)):
            compact(bank, window=window)
        if faulty.calls < step:  # there is no such call
            return shortened, refused
        if Checkpoint.objects.exists():
            shortened += 1
            assert Checkpoint.objects.get().tokens_after < Checkpoint.objects.get().tokens_before
        else:
            refused += 1
            assert state() == before
            assert compact(bank, window=window, now=LATER).tokens_after
        Checkpoint.objects.all().delete()
    raise AssertionError("no end of calls")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fault", [DatabaseError("disk full"), SystemExit(1)], ids=repr)
def test_a_write_that_fails_leaves_the_chat_as_it_was_and_the_next_attempt_works(
    bank: Bank, chat_model: ScriptedLLM, fault: BaseException
) -> None:
    shortened, refused = each_fault(bank, database_with, fault)
    assert refused >= 5  # taking it, the ledger, and each statement of the commit
    assert shortened >= (3 if isinstance(fault, DatabaseError) else 0)  # how far it is, is no reason to give up


@pytest.mark.parametrize(
    ("fault", "survived"),
    [
        (LLMRejected("no"), True),
        (LLMUnavailable("HTTP 503"), False),
        (RuntimeError("a fault of ours"), False),
        (SystemExit(1), False),
    ],
    ids=repr,
)
def test_a_call_that_fails_costs_its_part_or_leaves_the_chat_as_it_was(
    long_bank: Bank, fault: BaseException, survived: bool, settings: Any
) -> None:
    settings.MEMORYBANK |= {"INPUT_TOKENS": 1_800, "CHUNK_TOKENS": 1_000}  # fewer parts: each call fails in turn
    shortened, refused = each_fault(long_bank, model_with, fault, window=8_000)
    assert shortened + refused >= 4  # some parts, and joining their notes
    assert (refused == 0) is survived
    assert (shortened == 0) is not survived


def test_who_listens_may_fail_at_any_step(long_bank: Bank) -> None:
    def deaf(step: Progress) -> None:
        raise RuntimeError("gone")

    assert compact(long_bank, window=8_000, progress=deaf).tokens_after

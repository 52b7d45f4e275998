"""What a process keeps between questions: the same answers as without it, whatever happens to memory meanwhile."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from memorybank import services
from memorybank.models import Bank, Output
from memorybank.reading.personal import Asker
from memorybank.reading.recall.index_cache import kept
from tests.support.factories import cover, make_bank, say

#: What is kept is kept between transactions only.
pytestmark = pytest.mark.django_db(transaction=True)
QUESTION = "Which crane is orange, and which ferry is late?"
LONG = "because the harbour office of Altona moves its workshops to the northern quay before the ice comes."
ANN, BEN = Asker("key-of-ann", "ann"), Asker("key-of-ben", "ben")


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """Ids are used again once the tables are emptied."""
    kept.clear()
    yield
    kept.clear()


@pytest.fixture
def bank() -> Bank:
    """More than its block may say."""
    made = make_bank(max_tokens=200)
    for number in range(5):
        say(
            made,
            f"crane{number}",
            f"The crane {number} of the eastern basin is painted orange by Lena {LONG}",
            answer="",
        )
        say(
            made, f"ferry{number}", f"The ferry {number} of the winter line is late on Monday.", answer="", author="Tom"
        )
    cover(made)
    services.reindex(made)
    assert services.prompt_memory(made, question=QUESTION).recalled.text
    kept.clear()
    return made


def prompt(bank: Bank, asker: Asker = ANN, **options: Any) -> tuple[object, ...]:
    memory = services.prompt_memory(bank, question=QUESTION, asker=asker, **options)
    return memory.block, memory.recalled, memory.personal


def queries(bank: Bank, **options: Any) -> int:
    with CaptureQueriesContext(connection) as seen:
        services.prompt_memory(bank, question=QUESTION, **options)
    return len(seen)


def test_a_second_question_reads_only_whether_memory_is_the_same(bank: Bank) -> None:
    first = prompt(bank)
    assert queries(bank) > 3
    assert queries(bank) == 1
    assert prompt(bank) == first


def test_nothing_is_kept_if_the_setting_says_so(bank: Bank, tuned: Any) -> None:
    tuned(INDEX_CACHE_MEGABYTES=0)
    assert queries(bank) == queries(bank) > 3


def fact(bank: Bank, words: str) -> int:
    return bank.facts.get(text__contains=words).pk


def learn_more(bank: Bank) -> None:
    say(bank, "more", "The newest crane is orange, the newest ferry late.", answer="")
    cover(bank)
    services.reindex(bank)


CHANGES: dict[str, Callable[[Bank], object]] = {
    "more is said": learn_more,
    "a fact is hidden": lambda bank: services.hide(bank, fact_ids=[fact(bank, "crane 1")], actor="alice"),
    "a fact is corrected": lambda bank: services.edit_facts(
        bank, fact_ids=[fact(bank, "crane 2")], text="The crane 2 is blue.", actor="alice"
    ),
    "a fact is pinned": lambda bank: services.pin(bank, fact_ids=[fact(bank, "ferry 1")], actor="alice"),
    "a chat becomes private": lambda bank: services.set_audience(
        bank, chat_key="crane3", readers=["key-of-ben"], actor="alice"
    ),
    "a chat is erased": lambda bank: services.erase(bank, chat="ferry0", actor="alice"),
    "a turn is erased": lambda bank: services.erase(
        bank, output=Output.objects.get(chat__key="ferry2", chat__bank=bank).pk, actor="alice"
    ),
    "somebody asks to forget": lambda bank: say(bank, "crane4", "Please forget what I said about the crane."),
    "notes get shorter": lambda bank: services.configure(bank, recall_tokens=100, actor="alice"),
    "the index is made anew": lambda bank: services.configure(bank, timezone="Asia/Tokyo", actor="alice"),
    "a person opts out": lambda bank: services.opt_out(bank, author="Tom", actor="alice"),
    "a chat is deleted": lambda bank: bank.chats.filter(key="crane2").delete(),
    "an author is erased": lambda bank: services.erase(bank, author="Priya", actor="alice"),
    "memory is switched off": lambda bank: services.disable(bank, actor="alice"),
}


def test_after_each_change_a_prompt_is_what_it_is_without_a_cache(bank: Bank) -> None:
    for name, change in CHANGES.items():
        prompt(bank)
        change(bank)
        for _ in range(2):
            warm = [prompt(bank, asker) for asker in (ANN, BEN)]
            kept.clear()
            assert warm == [prompt(bank, asker) for asker in (ANN, BEN)], name
            services.run(bank=bank, until_idle=True)  # what was taken out of the index is indexed again


def test_what_one_person_may_read_is_kept_for_them_alone(bank: Bank) -> None:
    services.set_audience(bank, chat_key="crane1", readers=[ANN.person], actor="alice")
    services.reindex(bank)
    for _ in range(2):
        assert "crane 1" in str(prompt(bank, ANN))
        assert "crane 1" not in str(prompt(bank, BEN)) and "crane 1" not in str(prompt(bank, Asker()))
    services.set_audience(bank, chat_key="crane1", readers=[BEN.person], actor="alice")
    services.reindex(bank)
    assert "crane 1" not in str(prompt(bank, ANN)) and "crane 1" in str(prompt(bank, BEN))


def test_what_was_rolled_back_is_not_kept(bank: Bank) -> None:
    before = prompt(bank)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        services.hide(bank, fact_ids=[fact(bank, "crane 1")], actor="alice")
        assert prompt(bank) != before
        raise ZeroDivisionError
    services.hide(bank, fact_ids=[fact(bank, "ferry 1")], actor="alice")  # the same version, another memory
    after = prompt(bank)
    kept.clear()
    assert after == prompt(bank) and "crane 1" in str(after)


def test_the_chat_that_asks_is_left_out_for_itself_only(bank: Bank) -> None:
    everything = prompt(bank)
    own = prompt(bank, chat_key="crane1")
    assert "crane 1" not in str(own) and "crane 1" in str(everything)
    assert prompt(bank) == everything and prompt(bank, chat_key="crane1") == own

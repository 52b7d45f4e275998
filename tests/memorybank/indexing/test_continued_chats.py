"""A continued chat is indexed with its summary: as the sweep would index it, and without masking a turn twice."""

from collections import Counter
from typing import Any

import pytest

from memorybank.indexing import document_writer
from memorybank.models import Bank, Chat, SearchDocument
from memorybank.safety.redaction import Masker
from tests.support.factories import MINUTE, MONDAY, chat_of, cover, make_bank, say

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_model")]

TOKEN = "zK4pQ9vR2tX7mB5n"
FIRST = ("Tom, the harbour crane moves to Lisbon in autumn.", "The night ferry was late again on Friday.")
LATER = ("Priya, the crane's driver lives near the old pier.", "Tom, the ferry sails at nine from Monday on.")
SHOWN = ["The crane's driver lives near the old pier.", "The ferry sails at nine from Monday on."]


def continued(bank: Bank, *, each: int = 1) -> Chat:
    """A chat of four turns by two people, summarised after the first two and then after ``each`` turn."""
    for number, question in enumerate(FIRST):
        say(bank, "a", question, author=("priya", "tom")[number], at=MONDAY + number * MINUTE)
    cover(bank)
    for number, question in enumerate(LATER, start=1):
        say(bank, "a", question, author="priya", at=MONDAY + (10 + number) * MINUTE)
        if number % each == 0:
            cover(bank)
    return chat_of(bank, "a")


def rows_of(chat: Chat) -> list[Any]:
    fields = ("output", "previous", "sequence", "words", "length", "lines", "said_at")
    return list(SearchDocument.objects.filter(chat=chat).order_by("sequence").values_list(*fields))


@pytest.mark.parametrize("each", [1, 2])
def test_it_is_indexed_with_the_summary_as_the_sweep_would_index_it(each: int, monkeypatch: Any) -> None:
    """By each way the last summary's turns have the same bytes, and know the names of people who spoke before them."""
    with monkeypatch.context() as swept_only:
        swept_only.setattr("memorybank.indexing.document_writer.index_summarised", lambda chat: None)
        chat = continued(make_bank(), each=each)
    at_once = rows_of(chat)
    assert [row[5][0][1] for row in at_once[2:]] == SHOWN
    assert not chat.index_due and chat.indexed_through == chat.summarised_through
    covered_before = at_once[-each - 1][2]
    SearchDocument.objects.filter(chat=chat, sequence__gt=covered_before).delete()
    Chat.objects.filter(pk=chat.pk).update(indexed_through=covered_before, index_due=True)
    assert document_writer.index_chat(chat.pk) == each
    assert rows_of(chat) == at_once


def test_each_turn_is_masked_once(monkeypatch: Any) -> None:
    """By the sweep as well: the turns before those that wait are read for their speakers only."""
    masked, mask = Counter[str](), Masker.mask

    def counted(self: Masker, text: str) -> str:
        masked[text] += 1
        return mask(self, text)

    monkeypatch.setattr(Masker, "mask", counted)
    chat = continued(make_bank())
    assert [masked[question] for question in (*FIRST, *LATER)] == [1, 1, 1, 1]
    masked.clear()
    Chat.objects.filter(pk=chat.pk).update(indexed_through=rows_of(chat)[-2][2], index_due=True)
    assert document_writer.index_chat(chat.pk) == 1
    assert [masked[question] for question in (*FIRST, *LATER)] == [0, 0, 0, 1]


def test_a_secret_that_a_later_turn_shows_is_masked_in_the_earlier_turns() -> None:
    bank = make_bank()
    say(bank, "a", f"The harbour office had {TOKEN} written on the board.", at=MONDAY)
    cover(bank)
    assert TOKEN in str(rows_of(chat_of(bank, "a")))
    say(bank, "a", f"The staging token is {TOKEN} for the harbour crane.", at=MONDAY + MINUTE)
    cover(bank)
    rows = rows_of(chat_of(bank, "a"))
    assert len(rows) == 2 and TOKEN not in str(rows)
    assert TOKEN not in " ".join(bank.facts.values_list("text", flat=True))


def test_what_waits_for_the_sweep_is_not_skipped_by_the_next_summary(monkeypatch: Any) -> None:
    bank = make_bank()
    say(bank, "a", FIRST[0], at=MONDAY)
    with monkeypatch.context() as broken:
        broken.setattr("memorybank.indexing.document_writer.documents", None)
        cover(bank)
    assert rows_of(chat_of(bank, "a")) == []
    say(bank, "a", LATER[0], at=MONDAY + MINUTE)
    cover(bank)
    assert len(rows_of(chat_of(bank, "a"))) == 2
    assert not chat_of(bank, "a").index_due

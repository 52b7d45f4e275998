"""A deleted chat leaves no word in any stored block, whoever deletes it and whatever is under way."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from memorybank import services
from memorybank.indexing import block_writer
from memorybank.models import Bank, Chat, Entry
from tests.support.factories import (
    DAY,
    HOUR,
    MONDAY,
    add_fact,
    add_leaf,
    block_of,
    chat_of,
    day_of_leaves,
    digests,
    kept_by,
    make_bank,
    run,
    send_prompt,
    sound,
    stored_text,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_model")]

SECRET, OTHER = "The zanzibar crane is orange since Friday.", "The ferry to Lisbon sails every Tuesday."
DELETIONS: dict[str, Callable[[Bank], object]] = {
    "a chat": lambda bank: chat_of(bank, "deleted").delete(),
    "a set of chats": lambda bank: Chat.objects.filter(bank=bank, key="deleted").delete(),
    "some of a bank's chats": lambda bank: bank.chats.filter(key="deleted").delete(),
}


def remembering() -> Bank:
    """A bank whose stored block tells of two chats, and each of those the block without its own."""
    bank = make_bank(max_tokens=2000)
    add_leaf(bank, "deleted", [SECRET], at=MONDAY, pinned=True)
    add_leaf(bank, "other", [OTHER], at=MONDAY + HOUR)
    run(MONDAY + DAY)
    for key in ("deleted", "other"):
        send_prompt(bank, key)
    return bank


@pytest.mark.parametrize("what", DELETIONS)
def test_a_deleted_chat_is_in_no_stored_block(what: str) -> None:
    bank, elsewhere = remembering(), remembering()
    assert stored_text(bank).count("zanzibar") == 2
    DELETIONS[what](bank)
    assert "zanzibar" not in stored_text(bank)
    memory = services.prompt_memory(bank, chat_key="other", question="Which crane is orange?")
    assert "zanzibar" not in memory.block.text + memory.recalled.text
    assert stored_text(elsewhere).count("zanzibar") == 2


@pytest.mark.parametrize("what", DELETIONS)
def test_the_next_sweep_shows_again_what_is_left(what: str) -> None:
    bank = remembering()
    DELETIONS[what](bank)
    run(MONDAY + DAY)
    assert OTHER in block_of(bank)[0]
    assert "zanzibar" not in stored_text(bank)
    assert services.find_violations(Bank.objects.get(pk=bank.pk)) == []


@pytest.mark.parametrize("what", DELETIONS)
def test_no_digest_keeps_a_word_or_a_count_of_a_deleted_chat(what: str) -> None:
    bank = make_bank(max_tokens=200)
    leaves = [add_leaf(bank, key, [SECRET], at=MONDAY) for key in ("deleted", "other")]
    for day in range(1, 3):
        day_of_leaves(bank, day)
    run(MONDAY + 4 * DAY)
    [digest, *_] = digests()
    facts = [leaf.facts.get().pk for leaf in leaves]
    add_fact(digest, "Both speak of the zanzibar crane.", position=8, citations=facts)
    add_fact(digest, "The other one does, too.", position=9, citations=facts[1:])
    assert digest.output_count == 2 and facts[0] in kept_by(digest)
    DELETIONS[what](bank)
    digest.refresh_from_db()
    assert [line.text for line in digest.facts.all()] == ["The other one does, too."]
    assert (digest.output_count, kept_by(digest)) == (1, [])
    assert sound(bank)


def test_a_digest_with_nothing_left_below_it_goes_with_the_chat_at_every_granularity() -> None:
    bank = make_bank(max_tokens=200)
    add_leaf(bank, "deleted", [SECRET], at=MONDAY)
    day_of_leaves(bank, 90, chats=8)
    run(MONDAY + 90 * DAY + HOUR)
    assert [len(digests(granularity)) for granularity in ("day", "week", "month")] == [1, 1, 1]
    chat_of(bank, "deleted").delete()
    assert not Entry.objects.digests().exists()
    assert sound(bank)


def test_a_block_rendered_while_a_chat_is_deleted_is_not_stored() -> None:
    bank = remembering()
    add_leaf(bank, "third", ["The oak warehouse opens at nine."], at=MONDAY + DAY)
    deleted: list[object] = []

    def delete_meanwhile(execute: Any, sql: str, *rest: Any) -> Any:
        result = execute(sql, *rest)
        if not deleted and 'FROM "memorybank_fact"' in sql:  # its words have been read
            deleted.append(None)
            chat_of(bank, "deleted").delete()
        return result

    with connection.execute_wrapper(delete_meanwhile):
        block_writer.refresh(bank.pk, now=MONDAY + DAY)
    assert deleted and "zanzibar" not in stored_text(bank)


def test_no_chats_are_deleted_by_mistake() -> None:
    assert not hasattr(Chat.objects, "delete")

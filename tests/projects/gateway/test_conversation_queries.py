"""What finds a request's conversation begins with the request's hashes, however many chats the project has."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memorybank.models import Bank, Chat, Output
from projects.gateway.conversations.given_notes import find_given_notes
from projects.gateway.conversations.locating import chats_of_history, locate_turn
from projects.gateway.messages import GatewayMessage, ParsedRequest
from projects.gateway.request_identity import Sender
from projects.models import ConversationNode
from tests.support.factories import MONDAY, make_bank

pytestmark = pytest.mark.django_db
CHATS = 1_000
SENDER = Sender(key_id=0)
REQUEST = ParsedRequest(
    (GatewayMessage("user", "Which database?"), GatewayMessage("assistant", "Ours.")), GatewayMessage("user", "Since?")
)
ACTIONS: dict[str, Callable[[Bank], object]] = {
    "conversation": lambda bank: locate_turn(bank, SENDER, REQUEST),
    "notes": lambda bank: find_given_notes(bank, locate_turn(bank, SENDER, REQUEST), REQUEST),
    "history": lambda bank: chats_of_history(bank, locate_turn(bank, SENDER, REQUEST)),
}


@pytest.fixture
def bank() -> Bank:
    """A bank with many chats, of which the database has no statistics."""
    bank = make_bank()
    chats = Chat.objects.bulk_create(Chat(bank=bank, key=str(number)) for number in range(CHATS))
    turns = Output.objects.bulk_create(
        Output(chat=chat, sequence=number, created_at=MONDAY) for number, chat in enumerate(chats)
    )
    ConversationNode.objects.bulk_create(
        ConversationNode(chat_id=turn.chat_id, output=turn, after=f"{turn.pk} {place}")
        for turn in turns
        for place in "abcd"
    )
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM pg_statistic WHERE starelid::regclass::text ~ '^(memorybank|projects)_'")
    return bank


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite looks rows up in the order that the query says")
@pytest.mark.parametrize("action", ACTIONS)
def test_a_conversation_is_found_without_looking_at_each_chat_of_its_project(bank: Bank, action: str) -> None:
    with CaptureQueriesContext(connection) as captured:
        ACTIONS[action](bank)
    statements = [query["sql"] for query in captured if "conversationnode" in query["sql"]]
    assert statements
    for sql in statements:
        for scan in _scans(sql):
            assert scan.get("Index Name") == "memorybank_chat_pkey", sql


def _scans(sql: str) -> Iterator[Any]:
    """The scans of chats in the plan of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}")
        (plan,) = cursor.fetchone()
    nodes = [(json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]]
    for node in nodes:
        nodes += node.get("Plans", [])
        if node.get("Relation Name") == "memorybank_chat":
            yield node

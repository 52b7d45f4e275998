"""Prepared queries find what Django's own queries find, and rows that are inserted by hand are Django's rows."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models import F, Q
from django.test.utils import CaptureQueriesContext

from memorybank.models import Chat, Output, PromptCount
from memorybank.prepared import PreparedQuery, PreparedUpdate, first_of_each, insert, update
from tests.support.factories import make_bank, say

pytestmark = pytest.mark.django_db
BY_KEYS = PreparedQuery(lambda bank, keys: Chat.objects.filter(bank=bank, key__in=keys).order_by("pk"))
TURNS = PreparedQuery(
    lambda chats: (
        Output.objects.filter(chat__pk__in=chats).order_by("pk").values_list("question", "messages", "created_at")
    )
)
SINCE = PreparedQuery(
    lambda bank, time: Chat.objects.filter(bank=bank, last_output_at__gte=time).order_by("pk").values_list("key")
)
MOVE = PreparedUpdate(
    lambda pk, expected, time: (
        Chat.objects.filter(pk=pk, title=expected).remembered(),
        {"attempts": F("attempts") + 1, "failed_since": time, "index_due": Q(attempts=0)},
    )
)
NOW = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)


def test_it_finds_the_same_rows_for_any_number_of_values() -> None:
    bank, other = make_bank(), make_bank()
    keys = [f"chat{number}" for number in range(9)]
    for key in keys:
        say(bank, key, f"What is {key}?", answer="A chat.")
        say(other, key, "Of another bank.", answer="Yes.")
    for count in range(10):
        assert BY_KEYS.rows(bank.pk, keys[:count]) == list(bank.chats.filter(key__in=keys[:count]).order_by("pk"))


def test_it_returns_values_as_django_converts_them() -> None:
    bank = make_bank()
    output = say(bank, "kitchen", "Who cooks?", answer="Mira.")
    Output.objects.filter(pk=output.pk).update(messages=[{"role": "tool", "content": "ü"}], created_at=NOW)
    assert TURNS.rows([output.chat_id]) == [("Who cooks?", [{"role": "tool", "content": "ü"}], NOW)]
    assert BY_KEYS.rows(bank.pk, ["kitchen"])[0].last_output_at == bank.chats.get().last_output_at


def test_several_queries_find_the_first_row_of_each_in_one_message() -> None:
    bank = make_bank()
    output = say(bank, "kitchen", "Who cooks?", answer="Mira.")
    asked = (BY_KEYS, bank.pk, ["kitchen"]), (BY_KEYS, bank.pk, ["garden"]), (TURNS, [output.chat_id])
    with CaptureQueriesContext(connection) as captured:
        chat, missing, turn = first_of_each(*asked)
    assert (chat, missing, turn[0]) == (output.chat, None, "Who cooks?")
    assert len(captured) == (1 if connection.vendor == "postgresql" else 3)


def test_it_compares_times_as_the_database_stores_them() -> None:
    bank = make_bank()
    insert(Chat(bank=bank, key=f"{day}", last_output_at=NOW + timedelta(days=day)) for day in range(3))
    assert SINCE.rows(bank.pk, NOW + timedelta(days=1)) == [("1",), ("2",)]
    assert SINCE.rows(bank.pk, NOW + timedelta(days=1, seconds=1)) == [("2",)]


def test_a_prepared_update_changes_the_rows_that_its_condition_finds() -> None:
    bank = make_bank()
    chats = [Chat(bank=bank, key=key, title=key, last_output_at=NOW) for key in ("a", "b")]
    insert(chats)
    assert [MOVE.execute(chats[0].pk, "b", NOW), MOVE.execute(chats[0].pk, "a", NOW)] == [0, 1]
    values = bank.chats.order_by("key").values_list("attempts", "failed_since", "index_due")
    assert list(values) == [(1, NOW, True), (0, None, False)]


def test_it_builds_a_query_once_for_each_form() -> None:
    built = []

    def build(keys: list[object]) -> object:
        built.append(len(keys))
        return Chat.objects.filter(key__in=keys).values_list("pk")

    query = PreparedQuery(build)  # type: ignore[arg-type]
    for count in (1, 3, 4, 3, 1, 4):
        query.rows(["no such chat"] * count)
    assert built == [1, 4]


def test_an_inserted_row_is_the_row_that_django_would_insert() -> None:
    bank = make_bank()
    by_hand, by_django = Chat(bank=bank, key="a", last_output_at=NOW), Chat(bank=bank, key="b", last_output_at=NOW)
    insert([by_hand])
    by_django.save()
    names = [field.attname for field in Chat._meta.concrete_fields if field.name not in ("id", "key")]
    assert (
        Chat.objects.filter(pk=by_hand.pk).values(*names).get()
        == Chat.objects.filter(pk=by_django.pk).values(*names).get()
    )
    by_hand.title = "changed"
    by_hand.save()  # an update
    assert bank.chats.filter(title="changed").count() == 1


def test_a_row_that_is_there_already_stays_as_it_was() -> None:
    bank = make_bank()
    count = {"bank": bank, "day": NOW.date(), "memory": PromptCount.Memory.OFF}
    insert([PromptCount(**count, prompts=5)], ignore_conflicts=True)
    insert([PromptCount(**count, prompts=7)], ignore_conflicts=True)
    assert [row.prompts for row in PromptCount.objects.filter(bank=bank)] == [5]


def test_an_update_writes_the_named_fields_only() -> None:
    chats = [say(make_bank(), "kitchen", "Who cooks?", answer="Mira.").chat for _ in range(2)]
    Chat.objects.update(attempts=F("attempts") + 3)
    for chat in chats:
        chat.title, chat.last_output_at = f"chat {chat.pk}", NOW
    with CaptureQueriesContext(connection) as queries:
        update(chats, ["title", "last_output_at"])
        update([], ["title"])
    assert len(queries) == 1
    rows = list(Chat.objects.order_by("pk").values_list("title", "last_output_at", "attempts"))
    assert rows == [(f"chat {chat.pk}", NOW, 3) for chat in chats]


def test_prompts_of_a_day_are_counted_in_one_row() -> None:
    bank = make_bank()
    for reason in (PromptCount.Memory.OFF, PromptCount.Memory.GIVEN, PromptCount.Memory.OFF):
        PromptCount.objects.count_prompts(bank.pk, reason, NOW)
    assert dict(PromptCount.objects.filter(bank=bank).values_list("memory", "prompts")) == {"off": 2, "given": 1}

"""Writes whose results nobody reads go to PostgreSQL with the next statement, in their order and in their savepoint."""

from contextlib import suppress

import pytest
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from memorybank import services
from memorybank.bank_scope import BANKS, banks_entered, send_with
from memorybank.models import Bank, Chat, LLMCall, Output
from memorybank.prepared import insert, joined_writes, update, write
from tests.support.factories import MONDAY, make_bank, say

pytestmark = pytest.mark.django_db


@pytest.fixture
def bank() -> Bank:
    return make_bank()


@pytest.fixture
def chat(bank: Bank) -> Chat:
    return say(bank, "kitchen", "Who cooks?").chat


def test_a_turn_is_recorded_alike_with_fewer_messages(bank: Bank) -> None:
    messages = []
    for number, joining in enumerate((False, True)):
        with CaptureQueriesContext(connection) as captured, transaction.atomic():
            if joining:
                with joined_writes():
                    _ask(bank, number)
            else:
                _ask(bank, number)
        messages.append(len(captured))
    assert messages == [13, 8] if connection.vendor == "postgresql" else messages[1] == messages[0]
    first, second = Output.objects.order_by("pk").values("question", "answer", "status", "chat__pending_outputs")
    assert first == second
    sequences = list(Output.objects.order_by("pk").values_list("sequence", flat=True))
    assert sequences == [2, 4], "each gets a place when it is asked and again when it is answered"
    assert Bank.objects.get(pk=bank.pk).last_sequence == 4


def _ask(bank: Bank, number: int) -> None:
    with transaction.atomic():
        asked = say(bank, f"chat {number}", "Who cooks 100 % of it?", answer="", status="pending")
        services.complete(bank, asked, answer="Mira.", now=MONDAY)


def test_a_bank_is_locked_and_a_call_entered_with_the_next_statement(bank: Bank) -> None:
    with CaptureQueriesContext(connection) as captured, transaction.atomic(), joined_writes():
        services.lock_bank(bank)
        _enter_call(bank)
        assert list(LLMCall.objects.values_list("bank", "model", "prompt_tokens", "at")) == [
            (bank.pk, "small", 7, MONDAY)
        ]
    in_a_message = [query["sql"].count("FOR NO KEY UPDATE") for query in captured if "llmcall" in query["sql"]]
    assert in_a_message == [2] if connection.vendor == "postgresql" else in_a_message == [0, 0]


def test_a_call_of_a_deleted_bank_is_not_entered(bank: Bank) -> None:
    Bank.objects.filter(pk=bank.pk).delete()
    with transaction.atomic(), joined_writes():
        _enter_call(bank)
    assert not LLMCall.objects.exists()


def _enter_call(bank: Bank) -> None:
    tokens = {"prompt_tokens": 7, "completion_tokens": 3}
    purpose = LLMCall.Purpose.CHAT
    services.record_call(bank, purpose=purpose, model="small", asked_at=MONDAY, ended_at=MONDAY, **tokens)


def test_what_is_read_next_sees_them(chat: Chat) -> None:
    with transaction.atomic(), joined_writes():
        chat.title = "Who cooks 50 %"
        update([chat], ["title"])
        assert Chat.objects.filter(title__endswith="50 %").get() == chat
        chat.title = "Mira cooks"
        update([chat], ["title"])
        assert Chat.objects.filter(title="Mira cooks").update(attempts=2) == 1
    assert Chat.objects.get() == chat
    assert (Chat.objects.get().title, Chat.objects.get().attempts) == ("Mira cooks", 2)


def test_the_last_of_them_are_sent_at_the_end(chat: Chat) -> None:
    with transaction.atomic():
        with joined_writes():
            for title in ("Who cooks", "Who eats"):
                chat.title = title
                update([chat], ["title"])
        assert Chat.objects.get().title == "Who eats"


def test_what_is_undone_takes_those_after_its_savepoint_with_it(chat: Chat) -> None:
    with transaction.atomic(), joined_writes():
        chat.title = "Kept"
        update([chat], ["title"])
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            chat.title = "Undone"
            update([chat], ["title"])
            _ = 1 / 0
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            Chat.objects.update(attempts=1)
            chat.title = "Undone"
            update([chat], ["title"])
            _ = 1 / 0
    assert (Chat.objects.get().title, Chat.objects.get().attempts) == ("Kept", 0)


def test_an_error_of_one_undoes_its_own_savepoint_only(bank: Bank, chat: Chat) -> None:
    with transaction.atomic(), joined_writes():
        with transaction.atomic():
            chat.title = "Kept"
            update([chat], ["title"])
        with pytest.raises(IntegrityError), transaction.atomic():
            write("UPDATE memorybank_chat SET key = %s WHERE id = %s", ["", chat.pk])
        insert([Chat(bank=bank, key="garden")])
    assert list(Chat.objects.order_by("pk").values_list("key", "title")) == [("kitchen", "Kept"), ("garden", "")]


def test_a_write_of_many_rows_comes_after_its_savepoint_and_after_those_before_it(bank: Bank, chat: Chat) -> None:
    chats = [chat, say(bank, "garden", "Who digs?").chat]

    def rename(chats: list[Chat], title: str) -> None:
        for each in chats:
            each.title = title
        update(chats, ["title"])

    with transaction.atomic(), joined_writes():
        rename(chats[:1], "first")
        with transaction.atomic():
            rename(chats, "second")
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            rename(chats, "Undone")
            _ = 1 / 0
    assert set(Chat.objects.values_list("title", flat=True)) == {"second"}


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_an_error_before_anything_is_sent_undoes_its_own_savepoint_only(chat: Chat, text: str) -> None:
    with transaction.atomic(), joined_writes():
        chat.title = "Kept"
        update([chat], ["title"])
        with suppress(ValueError, DataError), transaction.atomic():  # SQLite stores a zero byte
            list(Chat.objects.filter(title=text))
        assert Chat.objects.get().title == "Kept"


def test_what_is_read_in_parts_or_has_a_percent_sign_of_its_own_sees_them(chat: Chat) -> None:
    with transaction.atomic(), joined_writes():
        chat.title = "Who cooks"
        update([chat], ["title"])
        assert [each.title for each in Chat.objects.iterator()] == ["Who cooks"]
        chat.title = "Who eats"
        update([chat], ["title"])
        assert list(Chat.objects.order_by().annotate(rest=F("attempts") % F("id")).values_list("rest")) == [(0,)]


def test_a_write_belongs_to_the_banks_that_were_entered_when_it_was_made(bank: Bank, chat: Chat) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL has row-level security")
    entered = f"UPDATE {Chat._meta.db_table} SET key = current_setting('{BANKS}') WHERE id = %s"
    with transaction.atomic(), joined_writes(), connection.execute_wrapper(send_with):
        with banks_entered(bank.pk):
            write(entered, [chat.pk])
        with banks_entered(bank.pk + 1):
            Output.objects.count()
    chat.refresh_from_db()
    assert chat.key == f"{{{bank.pk}}}"

"""List, create, rename and search the rows of chats. For their turns, see ``outputs``."""

from collections.abc import Collection
from functools import reduce

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, Subquery

from memorybank.models import Bank, Chat, ChatReader, Output
from memorybank.models.chat import ChatQuerySet
from memorybank.reading.turn_filter import containing

#: Further words of a search are ignored.
MAX_SEARCH_WORDS = 8


def chats_of(bank: Bank) -> ChatQuerySet:
    """All chats of a bank, including private ones: the caller has to check who may see them."""
    return bank.chats.all()


def bank_of_chat(field: str) -> Subquery:
    """The bank of the chat that a row's ``field`` refers to, looked up for each row.

    With a join, PostgreSQL without recent statistics begins with all chats of the bank.
    """
    return Subquery(Chat.objects.filter(pk=OuterRef(field)).order_by().values("bank"))


def create_chat(bank: Bank, *, key: str, private: bool | None = None, readers: Collection[str] = ()) -> Chat:
    """Create a chat without turns; only ``readers`` may read it if it is private (default: the bank's setting)."""
    private = bank.new_chats_private if private is None else private
    with transaction.atomic():
        chat = Chat.objects.create(bank=bank, key=key, private=private)
        if private:
            ChatReader.objects.bulk_create(ChatReader(chat=chat, person=person) for person in readers)
    return chat


def readers_of(chat: Chat) -> set[str] | None:
    """The people who may read a private chat; None if the chat is not private."""
    return set(chat.readers.values_list("person", flat=True)) if chat.private else None


def reader_count(chat: str) -> Subquery:
    """A subquery of the number of people who may read a private chat, for rows whose column ``chat`` is its id."""
    readers = ChatReader.objects.filter(chat=OuterRef(chat)).order_by().values("chat")
    return Subquery(readers.annotate(n=Count("pk")).values("n"))


def rename_chat(bank: Bank, *, chat_key: str, title: str) -> None:
    """Give a chat another title; does nothing if it was erased meanwhile."""
    Chat.objects.filter(bank=bank, key=chat_key).update(title=title)


def containing_words(words: str) -> Q:
    """A condition for rows with a foreign key ``chat``: each word occurs in the chat's title or in one of its turns.

    Parts of words match, too. Without words, all rows match.
    """
    wanted = words.replace("\x00", "").split()[:MAX_SEARCH_WORDS]
    return reduce(Q.__and__, map(_containing_word, wanted), Q())


def _containing_word(word: str) -> Q:
    turns = Output.objects.filter(containing(word, "question", "answer"), chat=OuterRef("chat"))
    return containing(word, "chat__title") | Q(Exists(turns))

"""Chats as rows: found, made and named. What was said in them is in ``outputs``."""

from functools import reduce
from operator import or_

from django.db.models import Exists, OuterRef, Q

from memorybank.models import Bank, Chat, Output
from memorybank.models.chat import ChatQuerySet

#: Words that one search may have; more are not looked for.
MAX_SEARCH_WORDS = 8


def chats_of(bank: Bank) -> ChatQuerySet:
    """All chats of a bank, private ones among them."""
    return bank.chats.all()


def create_chat(bank: Bank, *, key: str, private: bool = False) -> Chat:
    """A chat that nobody has written in yet."""
    return Chat.objects.create(bank=bank, key=key, private=private)


def rename_chat(bank: Bank, *, chat_key: str, title: str) -> None:
    """Give a chat another title; one that was erased meanwhile gets none."""
    Chat.objects.filter(bank=bank, key=chat_key).update(title=title)


def saying(words: str, *, chat: str = "chat") -> Q:
    """A condition on rows that refer to a chat by the column ``chat``: each word is in its title or in a turn.

    A part of a word is enough; no words: all.
    """
    wanted = words.replace("\x00", "").split()[:MAX_SEARCH_WORDS]
    return reduce(Q.__and__, (_saying(word, chat) for word in wanted), Q())


def _saying(word: str, chat: str) -> Q:
    turns = Output.objects.filter(_containing(word, "question", "answer"), chat=OuterRef(chat))
    return _containing(word, f"{chat}__title") | Q(Exists(turns))


def _containing(word: str, *columns: str) -> Q:
    # SQLite knows capitals of ASCII only.
    spelt = {word} if word.isascii() else {word, word.lower(), word.upper(), word.capitalize()}
    return reduce(or_, (Q(**{f"{column}__icontains": each}) for column in columns for each in sorted(spelt)))

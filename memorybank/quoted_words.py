"""Detect answers that repeat private memory, even if that memory is no longer in the prompt.

A chat stores keyed hashes of the words that its answers quoted from private memory. If a later answer has one of these
words and its question does not, it repeats private memory from the earlier turns in its prompt. An answer that repeats
a public chat is linked to that chat: if the chat becomes private, the answer counts as quoting private memory.
"""

import json
from collections import defaultdict
from collections.abc import Collection

from django.db import transaction
from django.utils.crypto import salted_hmac

from memorybank.conf import secret_keys
from memorybank.core.quotes import NO_QUOTES, Quotes
from memorybank.data_inventory import OutputsByChat
from memorybank.language.terms import distinct_terms, terms, terms_among
from memorybank.models import Bank, Chat, Output, QuotedChat
from memorybank.models.chat import sequences_by_chat
from memorybank.new_output import NewOutput
from memorybank.prepared import PreparedQuery

DIGEST_CHARACTERS = 24
_CHATS = PreparedQuery(lambda bank, keys: Chat.objects.filter(bank=bank, key__in=keys).only("bank_id", "private"))


def private_words(chat: Chat, new: NewOutput, quoted: Collection[Chat] = ()) -> set[str]:
    """The hashes of the private words that an answer in ``chat`` quotes.

    ``quoted`` are the chats that the answer repeats. They count if they are private now, even if they were public when
    the prompt was built.
    """
    known = set(chat.quoted_words)
    words = {_digest(chat.bank_id, word) for word in new.quotes.words}
    if known or any(other.private for other in quoted):
        own = _own_words(new)
        words |= known.intersection(_digest(chat.bank_id, word, key) for word in own for key in secret_keys())
        hidden = frozenset[str]().union(*(_words_of_chat(other) for other in quoted if other.private))
        words |= {_digest(chat.bank_id, word) for word in own & hidden}
    return words


def quoted_chats(chat: Chat, quotes: Quotes) -> list[Chat]:
    """The other chats that an answer in ``chat`` repeats."""
    if not quotes.chats:
        return []
    return [other for other in _CHATS.rows(chat.bank_id, list(quotes.chats)) if other.pk != chat.pk]


def store_quotes(output: Output, quotes: Quotes) -> None:
    """Store what an unfinished answer quotes, because it may be continued by a prompt without that memory."""
    if quotes == NO_QUOTES:
        return
    with transaction.atomic():
        for chat in Chat.objects.select_for_update().filter(pk=output.chat_id):
            digests = {_digest(chat.bank_id, word) for word in quotes.words}
            chat.quoted_words = sorted(digests.union(chat.quoted_words))
            chat.save(update_fields=["quoted_words"])
            QuotedChat.objects.record(output, quoted_chats(chat, quotes))


def mark_quotes(bank: Bank, private: Chat) -> OutputsByChat:
    """Mark the answers in other chats that repeat ``private``, a chat that has just become private; return them.

    Answers that repeat a marked answer, in the same chat or another one, are marked, too. The caller holds the bank's
    lock.
    """
    marked = dict[int, Output]()
    spreading = [(private.pk, _words_of_chat(private))]
    while spreading:
        source, words = spreading.pop()
        found = defaultdict[int, set[str]](set)
        for output in Output.objects.repeating(source).exclude(chat=private):
            if output.pk not in marked and (repeated := _own_words(output) & words):
                marked[output.pk] = output
                found[output.chat_id] |= repeated
        for chat in bank.chats.select_for_update().filter(pk__in=found).order_by("pk"):
            chat.quoted_words = sorted({_digest(bank.pk, word) for word in found[chat.pk]}.union(chat.quoted_words))
            chat.save(update_fields=["quoted_words"])
        spreading += [(chat, frozenset(repeated)) for chat, repeated in found.items()]
    Output.objects.filter(pk__in=marked).update(quotes_private=True)
    return sequences_by_chat(marked.values())


def _own_words(turn: Output | NewOutput) -> frozenset[str]:
    """Words of an answer and its messages that are not in the question."""
    said = distinct_terms(_said(turn))
    return said - terms_among(turn.question, said)


def _words_of_chat(chat: Chat) -> frozenset[str]:
    return frozenset(word for turn in chat.outputs.all() for word in terms(f"{turn.question} {_said(turn)}"))


def _said(turn: Output | NewOutput) -> str:
    return f"{turn.answer} {json.dumps(turn.messages, ensure_ascii=False) if turn.messages else ''}"


def _digest(bank: int, word: str, key: str | None = None) -> str:
    value = f"{bank}\x00{word}"
    return salted_hmac("memorybank.quoted", value, key, algorithm="sha256").hexdigest()[:DIGEST_CHARACTERS]

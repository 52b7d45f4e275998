"""Detect answers that repeat private memory, even if that memory is no longer in the prompt.

A chat stores keyed hashes of the words that its answers quoted from private memory. If a later answer has one of these
words and its question does not, it repeats private memory from the earlier turns in its prompt. For each word that an
answer repeats from public chats it is linked to one of these (see ``memorybank.erasure.narrowed_quotes``).
"""

from collections.abc import Collection

from django.db import transaction
from django.utils.crypto import salted_hmac

from memorybank.conf import secret_keys
from memorybank.core.quotes import NO_QUOTES, Quotes, words_asked, written_text
from memorybank.language.terms import distinct_terms, terms
from memorybank.models import Chat, Output, QuotedChat
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
    words = {digest_of(chat.bank_id, word) for word in new.quotes.words}
    if known or any(other.private for other in quoted):
        own = own_words(new)
        words |= known.intersection(digest_of(chat.bank_id, word, key) for word in own for key in secret_keys())
        hidden = frozenset[str]().union(*(words_of_chat(other) for other in quoted if other.private))
        words |= {digest_of(chat.bank_id, word) for word in own & hidden}
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
            digests = {digest_of(chat.bank_id, word) for word in quotes.words}
            chat.quoted_words = sorted(digests.union(chat.quoted_words))
            chat.save(update_fields=["quoted_words"])
            QuotedChat.objects.record(output, quoted_chats(chat, quotes))


def continue_from(output: Output, chats: Collection[int]) -> None:
    """Let the chat of ``output`` know what is private in these chats: its prompt has turns of theirs as history.

    The caller holds the bank's lock.
    """
    sources = list(Chat.objects.filter(pk__in=chats, bank=output.chat.bank_id).exclude(pk=output.chat_id))
    words = {word for chat in sources for word in chat.quoted_words}
    private = [] if output.chat.private else [words_of_chat(chat) for chat in sources if chat.private]
    words |= {digest_of(output.chat.bank_id, word) for word in frozenset[str]().union(*private)}
    for chat in Chat.objects.select_for_update().filter(pk=output.chat_id) if words else ():
        chat.quoted_words = sorted(words.union(chat.quoted_words))
        chat.save(update_fields=["quoted_words"])
    QuotedChat.objects.record(output, sources)


def own_words(turn: Output | NewOutput) -> frozenset[str]:
    """Words of an answer and its messages that are not in the question."""
    said = distinct_terms(_said(turn))
    return said - words_asked(turn.question, said)


def words_of_chat(chat: Chat) -> frozenset[str]:
    """The words of a chat's turns and facts."""
    texts = [f"{turn.question} {_said(turn)}" for turn in chat.outputs.all()]
    texts += chat.entries.values_list("facts__text", flat=True).exclude(facts__text=None)
    return frozenset(word for text in texts for word in terms(text))


def _said(turn: Output | NewOutput) -> str:
    return written_text(turn.answer, turn.messages)


def digest_of(bank: int, word: str, key: str | None = None) -> str:
    value = f"{bank}\x00{word}"
    return salted_hmac("memorybank.quoted", value, key, algorithm="sha256").hexdigest()[:DIGEST_CHARACTERS]

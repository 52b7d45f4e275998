"""Recognise answers that repeat what not everybody may read, also long after the memory that had it.

A chat keeps keyed hashes of the words that its answers quoted from private memory. Another answer with one of them that
its question did not have quotes it again, from the earlier turns in its prompt.
"""

import json
from collections.abc import Collection

from django.db import transaction
from django.utils.crypto import salted_hmac

from memorybank.conf import secret_keys
from memorybank.language.terms import terms
from memorybank.models import Chat, Output
from memorybank.new_output import NewOutput

DIGEST_CHARACTERS = 24


def note_quoted(chat: Chat, new: NewOutput) -> bool:
    """Whether the answer quotes what is private; its words are noted on ``chat``, which is not saved yet."""
    known = set(chat.quoted_words)
    quoted = {_digest(chat.bank_id, word) for word in new.private_words}
    if known:
        said = f"{new.answer} {json.dumps(new.messages, ensure_ascii=False) if new.messages else ''}"
        repeated = set(terms(said)) - set(terms(new.question))
        quoted |= known.intersection(_digest(chat.bank_id, word, key) for word in repeated for key in secret_keys())
    chat.quoted_words = sorted(known | quoted)
    return bool(quoted)


def keep_quoted(output: Output, words: Collection[str]) -> None:
    """Note what an unfinished answer quotes: the rest of it may be given without the memory that has the words."""
    if not words:
        return
    with transaction.atomic():
        for chat in Chat.objects.select_for_update().filter(pk=output.chat_id):
            digests = {_digest(chat.bank_id, word) for word in words}
            chat.quoted_words = sorted(digests.union(chat.quoted_words))
            chat.save(update_fields=["quoted_words"])


def _digest(bank: int, word: str, key: str | None = None) -> str:
    value = f"{bank}\x00{word}"
    return salted_hmac("memorybank.quoted", value, key, algorithm="sha256").hexdigest()[:DIGEST_CHARACTERS]

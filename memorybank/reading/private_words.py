"""Find words of private chats in a text that a program sends: it may have read more of them than a prompt's memory.

A program that speaks for a person can search and list all that this person may read. So its texts are compared with
the whole index of their private chats, and not with a rendering that was cut to a budget.
"""

from collections.abc import Mapping
from typing import NamedTuple

from django.db.models import F

from memorybank import conf
from memorybank.core.quotes import PrivateWord
from memorybank.language import tokens
from memorybank.language.terms import FUNCTION_WORDS, MAX_WORD_CHARACTERS, distinct_terms, stem, words
from memorybank.models import Bank, Fact, Output, SearchDocument
from memorybank.reading.recall.index_cache import ID_BYTES, WORD_BYTES, IndexCache
from memorybank.reading.recall.index_terms import content_words, hash_word, split_words

#: Limits of what is compared: the newest turns and notes of private chats, and words of one text.
MAX_TURNS, MAX_NOTES, MAX_WORDS = 20_000, 20_000, 2_000
#: Limit of a chat's newest turns that are not indexed yet.
MAX_PENDING_TURNS = 100


class _PrivateIndex(NamedTuple):
    """The private turns that a person may read, with their chats; and all index words of these chats.

    ``notes`` has the words that only notes and corrections have, each with the negated ids of these facts.
    """

    turns: Mapping[int, int]
    words: frozenset[str]
    notes: Mapping[str, list[int]]

    @property
    def bytes(self) -> int:
        return ID_BYTES * len(self.turns) + WORD_BYTES * (len(self.words) + len(self.notes))


def find_private_words(index: IndexCache, text: str, *, chat: int | None) -> dict[str, PrivateWord]:
    """The stems of words in ``text`` that only private chats have which the viewer of ``index`` may read.

    A word of this ``chat`` or of any public chat is not private.
    """
    private = index.keep("private words", lambda: _read(index), lambda read: read.bytes)
    if not private.words and not private.notes:
        return {}
    said = _index_words(index.bank, text)
    known = [word for word in said if word in private.words or word in private.notes][:MAX_WORDS]
    places = _private_places(index, private, known, chat) if known else {}
    own = _pending_words(chat) if places else frozenset()
    encoding = conf.current().encoding
    words_said = ((stem(said[word]), said[word], found) for word, found in places.items())
    return {
        stemmed: PrivateWord(frozenset(found), _is_everyday(word, encoding))
        for stemmed, word, found in words_said
        if stemmed not in own
    }


def _is_everyday(word: str, encoding: str) -> bool:
    """Whether the word is so frequent that it is one token: it names nothing by itself."""
    return word.isalpha() and tokens.count(f" {word}", encoding) == 1


def _index_words(bank: Bank, text: str) -> dict[str, str]:
    """Each index word of a text with the word that it is from."""
    found = {}
    for word in dict.fromkeys(words(text)):
        if word not in FUNCTION_WORDS and len(word) <= MAX_WORD_CHARACTERS:
            for part in split_words(word):
                found[hash_word(bank.pk, stem(part))] = word
    return found


def _private_places(
    index: IndexCache, private: _PrivateIndex, asked: list[str], chat: int | None
) -> dict[str, list[int]]:
    """The private turns and notes with each of these words, unless a public chat or ``chat`` has it."""
    postings, _ = index.postings(asked)
    places = {word: [*turns, *private.notes.get(word, ())] for word, turns in zip(asked, postings, strict=True)}
    return {
        word: found
        for word, found in places.items()
        if found and all(place < 0 or private.turns.get(place, chat) != chat for place in found)
    }


def _read(index: IndexCache) -> _PrivateIndex:
    documents = SearchDocument.objects.of(index.bank).restricted_to(index.viewer).order_by("-pk")
    rows = list(documents.values_list("pk", "chat", "words")[:MAX_TURNS])
    indexed = frozenset[str]().union(*(row[2].split(" ") for row in rows))
    notes: dict[str, list[int]] = {}
    # A sentence that was extracted has the words of its turn.
    written = Fact.objects.filter(bank=index.bank).restricted_to(index.viewer).exclude(detail=True, edited_by="")
    for pk, text in written.order_by("-pk").values_list("pk", "text")[:MAX_NOTES]:
        for word in {hash_word(index.bank.pk, word) for word in content_words(text)} - indexed:
            notes.setdefault(word, []).append(-pk)
    return _PrivateIndex({pk: chat for pk, chat, _ in rows}, indexed, notes)


def _pending_words(chat: int | None) -> frozenset[str]:
    """The words of a chat's turns that are not indexed yet, without answers that quote private memory."""
    turns = Output.objects.filter(chat=chat, sequence__gt=F("chat__indexed_through")) if chat else Output.objects.none()
    shown = [turn.for_others() for turn in turns.order_by("-sequence")[:MAX_PENDING_TURNS]]
    return distinct_terms(" ".join(f"{turn.question} {turn.answer}" for turn in shown))

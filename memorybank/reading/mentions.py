"""Find the chats that mention something: for erasure requests, replaced values and values that are masked later."""

from collections.abc import Iterable
from itertools import chain

from memorybank.models import Bank, SearchDocument
from memorybank.reading.recall import index
from memorybank.reading.recall.index_terms import SPEAKER_SUFFIX, hash_word, partial_dates, question_words


def chats_mentioning(bank: Bank, texts: Iterable[str], *, limit: int) -> set[int]:
    """Ids of chats with a turn that has all words and dates of one of the texts: per text the ``limit`` newest turns.

    The name of its speaker counts as part of a turn. A text without indexed words matches nothing. Two queries.
    """
    phrases = [
        [
            *([hash_word(bank.pk, word), hash_word(bank.pk, word + SPEAKER_SUFFIX)] for word in question_words(text)),
            *([hash_word(bank.pk, date.word())] for date in partial_dates(text)),
        ]
        for text in texts
    ]
    turns = set(chain.from_iterable(index.newest([phrase for phrase in phrases if phrase], limit)))
    return set(SearchDocument.objects.of(bank).filter(pk__in=turns).values_list("chat_id", flat=True))

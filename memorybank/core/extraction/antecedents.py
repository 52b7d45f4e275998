"""Join a sentence that depends on the one before it ("It was cancelled.") to that sentence, or drop it."""

import re
from collections.abc import Iterator, Sequence

from memorybank.core.extraction.kinds import is_question
from memorybank.language import whole_words
from memorybank.language.sentences import has_content, joined
from memorybank.language.terms import word_count

DEPENDENT = re.compile(whole_words(lambda pack: pack.talk.leaning), re.IGNORECASE)
MAX_JOINED_WORDS = 20


def join_dependent(texts: Sequence[str]) -> Iterator[str]:
    """The sentences of one message; a dependent one is joined to the one before if that has content and both fit."""
    before = ""
    for text in texts:
        if before and DEPENDENT.match(text) and not is_question(text) and not is_question(before):
            if not has_content(text):
                continue
            if has_content(before) and word_count(before) + word_count(text) <= MAX_JOINED_WORDS:
                before = joined(before, text)
                continue
        if before:
            yield before
        before = text
    if before:
        yield before

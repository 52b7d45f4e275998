"""Tell apart sentences that share most words: by names, numbers and letters. Pure."""

import re
from collections.abc import Iterator

from memorybank.language import whole_words
from memorybank.language.characters import CJK
from memorybank.language.terms import FUNCTION_WORDS

_WORD = re.compile(rf"[^\W_{CJK}]+(?:[.,:/-](?=\d)[^\W_{CJK}]+)*")
_STOP = re.compile(r"[.!?…。！？]")
_OWN = re.compile(whole_words(lambda pack: pack.states.own), re.IGNORECASE)


def tells_of_others(one: str, other: str) -> bool:
    """Whether each of two sentences has a name, a number or a single capital letter that the other lacks."""
    one_marks, other_marks = map(set, _marks(one, other))
    return not (one_marks <= other_marks or other_marks <= one_marks)


def _marks(one: str, other: str) -> tuple[list[str], list[str]]:
    """What marks the things of two sentences, in order; a word that begins one is a name if it is one in the other."""
    known = {word.casefold() for text in (one, other) for word, begins in _words(text) if _is_mark(word, begins)}
    first, second = (
        [word.casefold() for word, _ in _words(text) if word.casefold() in known and not _is_small(word)]
        for text in (one, other)
    )
    return first, second


def _is_mark(word: str, begins: bool) -> bool:
    if any(map(str.isdigit, word)):
        return True
    if begins or not word[0].isupper() or _OWN.fullmatch(word):
        return False
    return len(word) == 1 or not word.istitle() or word.casefold() not in FUNCTION_WORDS


def _is_small(word: str) -> bool:
    """Whether it is a letter that is a word in some language and names nothing here."""
    return len(word) == 1 and word.islower()


def _words(text: str) -> Iterator[tuple[str, bool]]:
    """The words of a text, each with whether it begins a sentence."""
    end = 0
    for match in _WORD.finditer(text):
        yield match[0], not end or _STOP.search(text, end, match.start()) is not None
        end = match.end()

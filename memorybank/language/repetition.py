"""Tell apart sentences that share most words: by names, numbers and letters, by their order, or by a denial. Pure."""

import re
from collections.abc import Iterator

from memorybank.language import whole_words
from memorybank.language.characters import CJK
from memorybank.language.sentences.negation import denies
from memorybank.language.terms import ARTICLES, FUNCTION_WORDS, distinct_terms, words

#: A number has its minus: not the hyphen of "3-5" or "bm-12".
_WORD = re.compile(rf"(?:(?<!\w)[-−][€$£¥]?(?=\d))?[^\W_{CJK}]+(?:[.,:/-](?=\d)[^\W_{CJK}]+)*")
_FIRST = re.compile(rf"[^\W_{CJK}]+(?= )")
_STOP = re.compile(r"[.!?…。！？]")
_OWN = re.compile(whole_words(lambda pack: pack.states.own), re.IGNORECASE)


def tells_of_others(one: str, other: str) -> bool:
    """Whether each of two sentences has a name, a number or a single capital letter that the other lacks."""
    one_marks, other_marks = map(set, _marks(one, other))
    return not (one_marks <= other_marks or other_marks <= one_marks)


def may_repeat(one: str, other: str) -> bool:
    """Whether ``one`` may say nothing but what ``other`` says, of which it has most words.

    It does not if only one of them denies, or if each has a name or number that the other lacks. If it has no other
    content words, then its names and numbers must stand in the same order there, with none between.
    """
    if denies(one) != denies(other) or tells_of_others(one, other) or _begin_otherwise(one, other):
        return False
    if not distinct_terms(one) <= distinct_terms(other):
        return True
    one_marks, other_marks = _marks(one, other)
    places = range(len(other_marks) - len(one_marks) + 1)
    return any(other_marks[at : at + len(one_marks)] == one_marks for at in places)


def _begin_otherwise(one: str, other: str) -> bool:
    """Whether each begins with a content word that the other lacks, such as its subject's name; not with "Noted:"."""
    firsts = [(_FIRST.match(text), {*words(rest)} | FUNCTION_WORDS) for text, rest in ((one, other), (other, one))]
    return all(first and known.isdisjoint(words(first[0])) for first, known in firsts)


def relates_otherwise(one: str, other: str) -> bool:
    """Whether each of two sentences with the same content words has another word too: "before noon", "after noon"."""
    one_words, other_words = frozenset(words(one)) - ARTICLES, frozenset(words(other)) - ARTICLES
    differing = one_words ^ other_words
    return bool(differing <= FUNCTION_WORDS and one_words - other_words and other_words - one_words)


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
        yield match[0].replace("−", "-"), not end or _STOP.search(text, end, match.start()) is not None
        end = match.end()

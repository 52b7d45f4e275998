"""Split text into words and content words, in any script; shared by all code that counts or compares words. Pure."""

import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import lru_cache

from memorybank.language.characters import CJK, cjk_length, is_cjk, strip_joiners
from memorybank.language.pack_loader import collect, detect_language, packs

MAX_WORD_CHARACTERS, STEM_CHARACTERS = 60, 6
#: How many words a process remembers the stem of: a conversation's few, again and again.
CACHED_STEMS = 2**15

#: :func:`terms_among` searches a longer text for so many stems, or fewer, that are part of fewer other words than this.
LONG_TEXT_CHARACTERS, MAX_SEARCHED_STEMS, MAX_OCCURRENCES = 20_000, 32, 20

FUNCTION_WORDS = frozenset(collect(lambda pack: pack.words.function))
PRAISE_WORDS = frozenset(collect(lambda pack: pack.words.praise))
ARTICLES = frozenset(collect(lambda pack: pack.words.articles))
_ARTICLES_OF = {pack.code: frozenset(pack.words.articles) for pack in packs()}
#: Stripped from words that are compared, at both ends and at the end alone; without the question mark and without
#: signs of numbers or names (C++, -5, .5, ≥).
_QUOTES_AND_BRACKETS, _STOPS = "\"'“”„‘’‚«»‹›()[]{}*`「」『』【】《》¿¡", ".,;:!…。、，；：！"
#: Words of these signs alone only part others.
_DIVIDERS = frozenset("-–—―/|•·")
_SENTENCE_STOPS = (*".!?…", "...", "。", "！", "？")

# Words of Latin, Cyrillic, Arabic and similar scripts, or one run of a script without spaces.
_WORD = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+(?:['’.-][^\W_{CJK}]+)*")
_PLURALS = (("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"), ("s", ""))


def words(text: str) -> list[str]:
    """Every word in order, case-folded; Chinese and Japanese as overlapping pairs of characters."""
    return _pieces(_WORD.findall(_folded(text)))


def compared_words(text: str) -> tuple[str, ...]:
    """The words between spaces: equal for texts that differ only in case, punctuation and their language's articles.

    A capitalised article counts as a word unless it begins a sentence: "Line A" is a name.
    """
    compared: list[str] = []
    articles: set[int] = set()
    begins = True
    for word in text.split():
        bare = word.strip(_QUOTES_AND_BRACKETS)
        folded = _folded(word).strip(_QUOTES_AND_BRACKETS).rstrip(_QUOTES_AND_BRACKETS + _STOPS)
        if not _DIVIDERS.issuperset(folded):
            if folded in ARTICLES and (begins or bare.islower()):
                articles.add(len(compared))
            compared.append(folded)
        begins = bare.endswith(_SENTENCE_STOPS)
    own = _ARTICLES_OF.get(detect_language(compared), frozenset()) if articles else frozenset()
    return tuple(word for place, word in enumerate(compared) if place not in articles or word not in own)


def _folded(text: str) -> str:
    return (text if text.isascii() else unicodedata.normalize("NFKC", strip_joiners(text))).casefold()


def _pieces(found: Iterable[str]) -> list[str]:
    pieces: list[str] = []
    for word in found:
        if word.isascii() or len(word) == 1 or not is_cjk(word):
            pieces.append(word)
        else:
            pieces += [word[start : start + 2] for start in range(len(word) - 1)]
    return pieces


def terms(text: str) -> list[str]:
    """The content words in order, as stems, so that "camping" matches "camped"."""
    return [stem(word) for word in words(text) if word not in FUNCTION_WORDS and len(word) <= MAX_WORD_CHARACTERS]


def distinct_terms(text: str) -> frozenset[str]:
    """The :func:`terms` of a text without their order: each word is stemmed once."""
    return _distinct(words(text))


def _distinct(found: Iterable[str]) -> frozenset[str]:
    return frozenset(map(stem, {word for word in found if len(word) <= MAX_WORD_CHARACTERS} - FUNCTION_WORDS))


def terms_among(text: str, wanted: Collection[str]) -> frozenset[str]:
    """Those of the stems ``wanted`` that are :func:`distinct_terms` of a text.

    A long text is searched for a few stems, a millisecond for each and a megabyte, not split into words, which takes
    sixty.
    """
    if len(text) > LONG_TEXT_CHARACTERS and len(wanted) <= MAX_SEARCHED_STEMS:
        folded = _folded(text)
        known = {wanted_stem: _has_term(folded, wanted_stem) for wanted_stem in wanted}
        if None not in known.values():
            return frozenset(wanted_stem for wanted_stem, is_known in known.items() if is_known)
    return distinct_terms(text).intersection(wanted)


def _has_term(folded: str, wanted_stem: str) -> bool | None:
    """Whether a word has this stem; None if too many other words contain it."""
    part, start = _letters_of(wanted_stem), -1
    for _ in range(MAX_OCCURRENCES):
        start = folded.find(part, start + 1)
        if start < 0:
            return False
        if wanted_stem in _terms_around(folded, start):
            return True
    return None


def _terms_around(folded: str, position: int) -> frozenset[str]:
    """The terms near a position, without words that are cut off there: those that hold it are too long for a term."""
    first, last = max(0, position - 2 * MAX_WORD_CHARACTERS), position + 2 * MAX_WORD_CHARACTERS
    piece = folded[first:last]

    def counts(word: re.Match[str]) -> bool:
        is_whole = (word.start() or not first) and (word.end() < len(piece) or last >= len(folded))
        return bool(is_whole or (word.end() - word.start() > 1 and is_cjk(word[0])))  # a cut run has whole pairs

    return _distinct(_pieces(word[0] for word in _WORD.finditer(piece) if counts(word)))


def may_have_terms(text: str, wanted: Iterable[str]) -> bool:
    """Whether a text has the letters of all these stems; cheap, to be asked before its words are stemmed."""
    folded = _folded(text)
    return all(_letters_of(wanted_stem) in folded for wanted_stem in wanted)


def _letters_of(wanted_stem: str) -> str:
    """The part of a stem that its words contain: "ies" may stand for its "y"."""
    return wanted_stem.removesuffix("y")


def informative_words(text: str) -> list[str]:
    """The words in order that are neither function words nor praise."""
    return [word for word in words(text) if word not in FUNCTION_WORDS and word not in PRAISE_WORDS]


def stem(word: str) -> str:
    """Remove English endings, then keep six letters. Identifiers stay whole.

    English endings do no harm elsewhere, as all words lose them; six letters tell most words apart in most inflected
    languages.
    """
    return _short_stem(word) if len(word) <= MAX_WORD_CHARACTERS else _stem(word)


def _stem(word: str) -> str:
    word = word.removesuffix("'s").removesuffix("’s")
    if not word.isalpha() or (not word.isascii() and is_cjk(word)):
        return word
    word = _without_participle(_singular(word))
    return (word[:-1] if len(word) > 3 and word.endswith("e") else word)[:STEM_CHARACTERS]


_short_stem = lru_cache(CACHED_STEMS)(_stem)


def _singular(word: str) -> str:
    if not word.endswith("s"):
        return word
    for ending, singular_ending in _PLURALS:
        if len(word) > 3 and word.endswith(ending) and not word.endswith(("ss", "us")):
            return word.removesuffix(ending) + singular_ending
    return word


def _without_participle(word: str) -> str:
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) >= len(ending) + 3:
            word = word.removesuffix(ending)
            doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz"
            return word[:-1] if doubled else word
    return word


def word_count(text: str) -> int:
    """Length in words; a Chinese or Japanese character counts as half a word."""
    return text.count(" ") + 1 + cjk_length(text) // 2

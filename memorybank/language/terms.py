"""Text → its words and its content words, the same for whoever counts or compares them, in any script. Pure."""

import re
import unicodedata

from memorybank.language.characters import CJK, cjk_length, is_cjk, unjoined
from memorybank.language.pack_loader import every

LONGEST_WORD, STEM = 60, 6

FUNCTION = frozenset(every(lambda pack: pack.words.function))
PRAISE = frozenset(every(lambda pack: pack.words.praise))
ARTICLES = frozenset(every(lambda pack: pack.words.articles))

# Latin, Cyrillic, Arabic … words; or one run of a script that is written without spaces.
_WORD = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+(?:['’.-][^\W_{CJK}]+)*")
_PLURALS = (("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"), ("s", ""))


def words(text: str) -> list[str]:
    """Every word in order, case-folded; Chinese and Japanese as overlapping pairs of characters."""
    found: list[str] = []
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unjoined(text))
    for word in _WORD.findall(text.casefold()):
        if word.isascii() or len(word) == 1 or not is_cjk(word):
            found.append(word)
        else:
            found += [word[at : at + 2] for at in range(len(word) - 1)]
    return found


def terms(text: str) -> list[str]:
    """The content words in order, without their endings, so that "camping" meets "camped"."""
    return [stem(word) for word in words(text) if word not in FUNCTION and len(word) <= LONGEST_WORD]


def telling(text: str) -> list[str]:
    """The words in order that neither grammar needs nor praise."""
    return [word for word in words(text) if word not in FUNCTION and word not in PRAISE]


def stem(word: str) -> str:
    """English endings go (harmless elsewhere, as all words lose them); then six letters tell most words apart, in most
    inflected languages. Identifiers stay whole.
    """
    word = word.removesuffix("'s").removesuffix("’s")
    if not word.isalpha() or (not word.isascii() and is_cjk(word)):
        return word
    word = _without_participle(_singular(word))
    return (word[:-1] if len(word) > 3 and word.endswith("e") else word)[:STEM]


def _singular(word: str) -> str:
    if not word.endswith("s"):
        return word
    for ending, instead in _PLURALS:
        if len(word) > 3 and word.endswith(ending) and not word.endswith(("ss", "us")):
            return word.removesuffix(ending) + instead
    return word


def _without_participle(word: str) -> str:
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) >= len(ending) + 3:
            word = word.removesuffix(ending)
            doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz"
            return word[:-1] if doubled else word
    return word


def length(text: str) -> int:
    """Length in words; a Chinese or Japanese character is half a word."""
    return text.count(" ") + 1 + cjk_length(text) // 2

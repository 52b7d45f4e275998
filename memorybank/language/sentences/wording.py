"""Text → words and content words, in any script."""

import re
import unicodedata

from memorybank.language import every
from memorybank.language.characters import CJK, cjk_length, is_cjk, unjoined

LONGEST_WORD = 60

FUNCTION = frozenset(every(lambda pack: pack.words.function))
PRAISE = frozenset(every(lambda pack: pack.words.praise))
ARTICLES = frozenset(every(lambda pack: pack.words.articles))

# Latin, Cyrillic, Arabic … words; or one run of a script that is written without spaces.
WORD = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+(?:['’.-][^\W_{CJK}]+)*")


def words(text: str) -> list[str]:
    """Every word in order, case-folded; Chinese and Japanese as overlapping pairs of characters."""
    found: list[str] = []
    for word in WORD.findall(unicodedata.normalize("NFKC", unjoined(text)).casefold()):
        if len(word) == 1 or not is_cjk(word):
            found.append(word)
        else:
            found += [word[at : at + 2] for at in range(len(word) - 1)]
    return found


def terms(text: str) -> list[str]:
    """The content words in order, in a rough common form, so that "tests" meets "test"."""
    return [root(word) for word in words(text) if word not in FUNCTION and len(word) <= LONGEST_WORD]


def root(word: str) -> str:
    """Endings differ after the sixth letter in most inflected languages; identifiers keep their digits."""
    word = word.removesuffix("'s").removesuffix("’s")
    if not word.isalpha():
        return word
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    return word[:6]


def length(text: str) -> int:
    """Length in words; a Chinese or Japanese character is half a word."""
    return text.count(" ") + 1 + cjk_length(text) // 2

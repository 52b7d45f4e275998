"""Patterns between an announcement and its value ("is", "=", "to"), and digits in words, in every language."""

import re
from collections.abc import Callable

from memorybank.language import Pack, PartialPack, Words, alternation, collect_for_masking, packs

VALUE_QUOTES = "\"'`“”„«»「」『』‘’"
_SIGNS = r":=|[=-]>|→|\s[–—]\s|=|:|："


def _linking(*taken: Callable[[Pack | PartialPack], Words]) -> str:
    """A sign, or one of the words taken from each language."""
    spaced, cjk = (
        alternation(word for of in taken for word in collect_for_masking(of, spaced=spaced)) for spaced in (True, False)
    )
    return rf"(?:{_SIGNS}|(?<=[\w’'])(?:['’]s|\s(?:{spaced}))\s|{cjk})"


#: "is" or a sign for it.
EQUALS = _linking(lambda pack: pack.secrets.says)
#: The same, or another word before a value: "to", "as".
LINKS = _linking(lambda pack: pack.secrets.says, lambda pack: pack.secrets.becomes)
#: The digits in words, each with its place in its language.
DIGITS = {
    word.casefold(): digit
    for pack in packs()
    if pack.spaced
    for digit, words in enumerate(pack.numbers.ones[:9], 1)
    for word in words.split()[:1]
}
#: A digit in words, in any language.
SPOKEN_DIGITS = alternation((*map(re.escape, DIGITS), *collect_for_masking(lambda pack: pack.personal.spoken_digits)))
_LATIN = "[A-Za-z]"


def any_whole_words(of: Callable[[Pack | PartialPack], Words]) -> str:
    """Any of the patterns of all languages: whole words in languages with spaces, substrings elsewhere.

    Latin words are matched as whole words everywhere: "PIN" does not match inside "camping".
    """
    spaced, cjk = (alternation(collect_for_masking(of, spaced=spaced)) for spaced in (True, False))
    begins, ends = rf"(?:(?<!{_LATIN})|(?!{_LATIN}))", rf"(?:(?!{_LATIN})|(?<!{_LATIN}))"
    return rf"(?<!\w)(?:{spaced})(?!\w)|{begins}(?:{cjk}){ends}"

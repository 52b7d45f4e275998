"""Patterns between an announcement and its value ("is", "=", "to"), in every language."""

from collections.abc import Callable

from memorybank.language import Beyond, Pack, Words, either, masking

QUOTES = "\"'`“”„«»「」『』‘’"
_SIGNS = r":=|[=-]>|→|\s[–—]\s|=|:|："


def _linking(*taken: Callable[[Pack | Beyond], Words]) -> str:
    """A sign, or one of the words taken from each language."""
    spaced, cjk = (either(word for of in taken for word in masking(of, spaced=spaced)) for spaced in (True, False))
    return rf"(?:{_SIGNS}|(?<=[\w’'])(?:['’]s|\s(?:{spaced}))\s|{cjk})"


#: "is" or a sign for it.
SAID = _linking(lambda pack: pack.secrets.says)
#: The same, or another word before a value: "to", "as".
IS = _linking(lambda pack: pack.secrets.says, lambda pack: pack.secrets.becomes)


def any_of(of: Callable[[Pack | Beyond], Words]) -> str:
    """Any of the patterns of all languages: whole words in languages with spaces, substrings elsewhere."""
    return rf"(?<!\w)(?:{either(masking(of, spaced=True))})(?!\w)|{either(masking(of, spaced=False))}"

"""Text as the eye reads it: letters of another alphabet that look like Latin ones, accents and case do not count."""

import re
import unicodedata

# Cyrillic, Greek, Armenian and phonetic letters by the Latin letter that they are taken for.
LOOKALIKES = {
    "a": "аαɑ", "b": "ВΒЬ", "c": "сϲ", "d": "ԁ", "e": "еεҽ", "g": "ɡց", "h": "һНΗհ", "i": "іιı", "j": "јϳ", "k": "кκКΚ",
    "l": "ӏΙ", "m": "МΜм", "n": "ηΝոп", "o": "оοօσ", "p": "рρ", "q": "ԛ", "r": "г", "s": "ѕ", "t": "тτТΤ", "u": "υսц",
    "v": "ѵν", "w": "ԝω", "x": "хχ", "y": "уүγΥ", "z": "ᴢΖ",
}  # fmt: skip
LATIN = str.maketrans({form: latin for latin, forms in LOOKALIKES.items() for form in {*forms, *forms.lower()}})
LETTERS = re.compile(r"[^\W\d_]+")
ACCENTS = re.compile("[\u0300-\u036f]")


def folded(text: str) -> str:
    """``text`` in lower case, without accents, each word in one alphabet. Linear in its length."""
    text = unicodedata.normalize("NFKC", text).casefold()
    if text.isascii():
        return text
    text = ACCENTS.sub("", unicodedata.normalize("NFD", text))
    text = unicodedata.normalize("NFC", text)
    latin = 2 * sum(map(str.isascii, text)) > len(text)
    return LETTERS.sub(lambda match: _in_latin(match[0], latin), text)


def is_mixed(word: str) -> bool:
    """Whether the word has Latin letters and others that only look so."""
    word = word.casefold()
    return any("a" <= letter <= "z" for letter in word) and word.translate(LATIN) != word


def _in_latin(word: str, among_latin: bool) -> str:
    """The word in Latin letters, if that is how it is read."""
    read = word.translate(LATIN)
    return read if read.isascii() and (among_latin or is_mixed(word)) else word

"""Fold text to a form for comparing by looks: replace look-alike letters of other alphabets, accents and case."""

import re
import unicodedata

# Cyrillic, Greek, Armenian and phonetic letters by the Latin letter they look like.
LOOKALIKES = {
    "a": "аαɑ", "b": "ВΒЬ", "c": "сϲ", "d": "ԁ", "e": "еεҽ", "g": "ɡց", "h": "һНΗհ", "i": "іιı", "j": "јϳ", "k": "кκКΚ",
    "l": "ӏΙ", "m": "МΜм", "n": "ηΝոп", "o": "оοօσ", "p": "рρ", "q": "ԛ", "r": "г", "s": "ѕ", "t": "тτТΤ", "u": "υսц",
    "v": "ѵν", "w": "ԝω", "x": "хχ", "y": "уүγΥ", "z": "ᴢΖ",
}  # fmt: skip
LATIN_BY_LOOKALIKE = str.maketrans(
    {form: latin for latin, forms in LOOKALIKES.items() for form in {*forms, *forms.lower()}}
)
LETTERS = re.compile(r"[^\W\d_]+")
ACCENTS = re.compile("[\u0300-\u036f]")


def fold(text: str) -> str:
    """``text`` in lower case, without accents, each word in one alphabet. Linear in its length."""
    text = unicodedata.normalize("NFKC", text).casefold()
    if text.isascii():
        return text
    text = ACCENTS.sub("", unicodedata.normalize("NFD", text))
    text = unicodedata.normalize("NFC", text)
    latin = 2 * sum(map(str.isascii, text)) > len(text)
    return LETTERS.sub(lambda match: _in_latin(match[0], latin), text)


def mixes_alphabets(word: str) -> bool:
    """Whether the word mixes Latin letters with look-alikes of other alphabets."""
    word = word.casefold()
    return any("a" <= letter <= "z" for letter in word) and word.translate(LATIN_BY_LOOKALIKE) != word


def _in_latin(word: str, among_latin: bool) -> str:
    """The word in Latin letters if all its letters look Latin and it stands among Latin text or mixes alphabets."""
    latin_word = word.translate(LATIN_BY_LOOKALIKE)
    return latin_word if latin_word.isascii() and (among_latin or mixes_alphabets(word)) else word

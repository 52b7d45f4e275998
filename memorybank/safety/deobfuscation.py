"""Deobfuscate text: hidden characters, escapes, markup, look-alike letters, digits for letters, base64."""

import codecs
import re
import unicodedata
from base64 import b64decode
from collections.abc import Sequence
from html import unescape

from memorybank.language import plain
from memorybank.language.characters import strip_joiners
from memorybank.language.lookalikes import LETTERS, fold, mixes_alphabets
from memorybank.language.terms import FUNCTION_WORDS

_TAG_OFFSET = 0xE0000  # invisible copies of ASCII, used to smuggle text past people
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})|%([2-7][0-9a-fA-F])")
_EMPHASIS = re.compile(r"[*`~]|__")
_ENCODED = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{24,4000}={0,2}")
_MAX_ENCODED_RUNS = 20
_SPELT_WITH_DIGITS = re.compile(r"[A-Za-z][013457]{1,4}[A-Za-z]")
_SPACED = re.compile(r"(?<!\w)[^\W\d_](?:[ .·-][^\W\d_]){3,}(?!\w)")
_JOINTS = re.compile(r"(?<=[^\W\d_])_(?=[^\W\d_])")
_BACKWARDS = re.compile("\u202e([^\u202c\n]{4,4000})")
_LETTERS = str.maketrans("013457", "oieast")
_WORD = re.compile(r"[^\W\d_]+")
#: An encoded text of fewer words may be a name or a key.
MIN_ENCODED_WORDS = 3
#: English in ROT13 has no function words; once decoded, at least this share of its words are function words.
MIN_FUNCTION_SHARE = 0.25


def normalized_line(text: str) -> str:
    """``text`` on one line in Unicode form NFKC, without hidden characters, with smuggled ASCII made visible."""
    text = "".join(chr(ord(c) - _TAG_OFFSET) if 0xE0020 <= ord(c) <= 0xE007E else c for c in text)
    text = unicodedata.normalize("NFKC", strip_joiners(plain(text)))
    return " ".join(text.replace("’", "'").split())


def deobfuscate(text: str) -> str:
    """The text without escapes and markup, followed by respelt copies and decoded parts, one per line. Linear."""
    reversed_runs = [normalized_line(match[::-1]) for match in _BACKWARDS.findall(text)]
    text = _SPACED.sub(lambda match: re.sub(r"\W", "", match[0]), text)
    text = normalized_line(_ESCAPED.sub(lambda match: chr(int(match[1] or match[2], 16)), unescape(text)))
    visible = _EMPHASIS.sub("", text)
    joined = [_JOINTS.sub("", visible)] if len(_JOINTS.findall(visible)) > 1 else []
    lettered = [visible.translate(_LETTERS)] if len(_SPELT_WITH_DIGITS.findall(visible)) > 1 else []
    latin = [fold(visible)] if any(map(mixes_alphabets, LETTERS.findall(visible))) else []
    decoded = (_decoded(match) for match in _ENCODED.findall(text)[:_MAX_ENCODED_RUNS])
    return "\n".join([visible, *joined, *lettered, *latin, *reversed_runs, *filter(None, decoded)])


def carries_encoded_text(text: str) -> bool:
    """Whether the text has sentences in base64, in spaced single letters, or in ROT13. Takes linear time."""
    text = normalized_line(text)
    decoded = (_decoded(match) for match in _ENCODED.findall(text)[:_MAX_ENCODED_RUNS])
    if any(len(_WORD.findall(part)) >= MIN_ENCODED_WORDS for part in decoded):
        return True
    if sum(1 for _ in _SPACED.finditer(text)) >= MIN_ENCODED_WORDS:
        return True
    # Single letters are names of things ("criterion B"), and function words of some language in either reading.
    words = [word for word in _WORD.findall(text.casefold()) if len(word) > 1] if text.isascii() else []
    rotated = [codecs.encode(word, "rot13") for word in words]
    return _function_share(words) == 0 and _function_share(rotated) >= MIN_FUNCTION_SHARE


def _function_share(words: Sequence[str]) -> float:
    """The share of function words; 0 for ``MIN_ENCODED_WORDS`` words or fewer."""
    return sum(word in FUNCTION_WORDS for word in words) / len(words) if len(words) > MIN_ENCODED_WORDS else 0


def _decoded(text: str) -> str:
    """The decoded text; "" if ``text`` is not UTF-8 in base64."""
    try:
        return normalized_line(b64decode(text + "=" * (-len(text) % 4)).decode())
    except ValueError:
        return ""

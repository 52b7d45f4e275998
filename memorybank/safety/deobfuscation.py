"""Deobfuscate text: hidden characters, escapes, markup, look-alike letters, digits for letters, base64."""

import re
import unicodedata
from base64 import b64decode
from html import unescape

from memorybank.language import plain
from memorybank.language.characters import strip_joiners
from memorybank.language.lookalikes import LETTERS, fold, mixes_alphabets

_TAG_OFFSET = 0xE0000  # invisible copies of ASCII, used to smuggle text past people
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})|%([2-7][0-9a-fA-F])")
_EMPHASIS = re.compile(r"[*`~]|__")
_ENCODED = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{24,4000}={0,2}")
_MAX_ENCODED_RUNS = 20
_SPELT_WITH_DIGITS = re.compile(r"[A-Za-z][013457]{1,4}[A-Za-z]")
_SPACED = re.compile(r"(?<!\w)\w(?:[ .·-]\w){3,}(?!\w)")
_JOINTS = re.compile(r"(?<=[^\W\d_])_(?=[^\W\d_])")
_BACKWARDS = re.compile("\u202e([^\u202c\n]{4,4000})")
_LETTERS = str.maketrans("013457", "oieast")


def normalized_line(text: str) -> str:
    """``text`` on one line: one form per character, no hidden characters, smuggled ASCII made visible."""
    text = "".join(chr(ord(c) - _TAG_OFFSET) if 0xE0020 <= ord(c) <= 0xE007E else c for c in text)
    text = unicodedata.normalize("NFKC", strip_joiners(plain(text)))
    return " ".join(text.replace("’", "'").split())


def deobfuscate(text: str) -> str:
    """The text without escapes and markup inside words, followed by its respelt and decoded parts. Linear."""
    reversed_runs = [normalized_line(match[::-1]) for match in _BACKWARDS.findall(text)]
    text = _SPACED.sub(lambda match: re.sub(r"\W", "", match[0]), text)
    text = normalized_line(_ESCAPED.sub(lambda match: chr(int(match[1] or match[2], 16)), unescape(text)))
    visible = _EMPHASIS.sub("", text)
    joined = [_JOINTS.sub("", visible)] if len(_JOINTS.findall(visible)) > 1 else []
    lettered = [visible.translate(_LETTERS)] if len(_SPELT_WITH_DIGITS.findall(visible)) > 1 else []
    latin = [fold(visible)] if any(map(mixes_alphabets, LETTERS.findall(visible))) else []
    decoded = (_decoded(match) for match in _ENCODED.findall(text)[:_MAX_ENCODED_RUNS])
    return "\n".join([visible, *joined, *lettered, *latin, *reversed_runs, *filter(None, decoded)])


def _decoded(text: str) -> str:
    """The text that the base64 encodes; "" if there is none."""
    try:
        return normalized_line(b64decode(text + "=" * (-len(text) % 4)).decode())
    except ValueError:
        return ""

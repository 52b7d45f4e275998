"""Recognise values that were masked before, by keyed hashes instead of the values themselves."""

import hashlib
import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from memorybank.language.masks import MASK
from memorybank.safety.redaction.spans import SecretSpan

#: Shorter values would be found by chance; longer ones are files.
MIN_VALUE_CHARACTERS, MAX_VALUE_CHARACTERS = 7, 256
#: A value begins or ends here: not inside a word.
_EDGE = re.compile(r"(?<![a-zA-Z0-9])(?=\S)|(?<=[^\x00-\x7f])(?=\S)")


@dataclass(frozen=True, slots=True)
class KnownValues:
    """Hashes of values with their kinds, and the lengths of the values. Each is hashed with one of the keys."""

    keys: tuple[bytes, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    lengths: Collection[int] = ()

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "KnownValues":
        """Hash the values with a random key that exists only in memory."""
        key = secrets.token_bytes(16)
        return cls((key,), {digest(key, value): kind for value, kind in values.items()}, sorted({*map(len, values)}))

    def find(self, text: str) -> Iterator[SecretSpan]:
        """Every known value in the text. The work grows with the text and with the number of different lengths."""
        if not self.kinds:
            return
        for edge in _EDGE.finditer(text):
            start = edge.start()
            for length in self.lengths:
                end = start + length
                if end <= len(text) and not (text[end - 1].isalnum() and text[end : end + 1].isalnum()):
                    digests = (digest(key, text[start:end]) for key in self.keys)
                    if kind := next(filter(None, map(self.kinds.get, digests)), ""):
                        yield SecretSpan(start, end, kind)


def digest(key: bytes, value: str) -> str:
    """The keyed hash of a value; without the key nobody can test guesses."""
    return hashlib.blake2b(value.encode("utf-8", "replace"), key=key, digest_size=20).hexdigest()


def is_distinctive(value: str) -> bool:
    """Whether a value is unlikely to occur by chance: not a word, a short number or a text with a mask."""
    if not MIN_VALUE_CHARACTERS <= len(value) <= MAX_VALUE_CHARACTERS or MASK.search(value) or "\n" in value:
        return False
    digits = sum(map(str.isdigit, value))
    signs = sum(not (character.isalnum() or character.isspace()) for character in value)
    if value.isdigit():
        return digits >= 8
    return digits > 0 or (signs > 0 and len(value) >= 8) or value.count(" ") >= 3 or len(value) >= 16

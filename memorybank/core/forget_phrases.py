"""Whether somebody asks, in a chat, to have forgotten what she said: by how each language puts it. Pure.

A wish is a sentence of its own, and a short one: "forget that", "please forget my number". Missed, it is said again or
asked of an owner; heard where none was meant, it costs a click.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from memorybank.language import Pack, either, filled, packs, plain

#: Longer messages are documents, not wishes.
LONGEST_MESSAGE, LONGEST_SENTENCE = 2_000, 240
SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n")
ABOUT = r"(?P<about>[^.!?。！？]{1,80}?)"
#: What may stand behind a wish: the end, or what is said next.
BEHIND = r"\W*(?:[,;:–—，、] ?.*)?"


@dataclass(frozen=True, slots=True)
class Wish:
    """That something be forgotten: what was said last, or what was said ``about`` something. In which language."""

    about: str
    language: str


def wish(text: str) -> Wish | None:
    """The first wish in a message."""
    said = plain(text)
    if len(said) > LONGEST_MESSAGE:
        return None
    sentences = (sentence.strip() for sentence in SENTENCE.split(said))
    return next((found for each in sentences if 0 < len(each) <= LONGEST_SENTENCE and (found := _wish(each))), None)


def said_then(language: str) -> str:
    """What an answer says to a wish in a language."""
    return next(" ".join(pack.wishes.done) for pack in packs() if pack.code == language)


def _wish(sentence: str) -> Wish | None:
    for language, pattern in _patterns():
        if match := pattern.fullmatch(sentence):
            return Wish((match.groupdict().get("about") or "").strip(), language)
    return None


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(compiled for pack in packs() for compiled in _of(pack))


def _of(pack: Pack) -> Iterator[tuple[str, re.Pattern[str]]]:
    space = r"\W+" if pack.spaced else r"\W*"
    lead = rf"\W*(?:(?:{either(pack.wishes.lead)}){space})*"
    for pattern in pack.wishes.forget:
        yield pack.code, re.compile(f"{lead}{filled(pattern, {'about': ABOUT})}{BEHIND}", re.IGNORECASE)

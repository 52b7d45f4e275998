"""Detect requests in a chat to forget something the user said, by the phrases of each language. Pure.

A request is a short sentence: "forget that", "please forget my number". A missed request is repeated or sent to an
owner; a false one costs a click.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from memorybank.language import Pack, either, filled, packs, plain

#: Longer messages are documents, not requests.
LONGEST_MESSAGE, LONGEST_SENTENCE = 2_000, 240
SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n")
ABOUT = r"(?P<about>[^.!?。！？]{1,80}?)"
#: After a request: its end, or another clause.
BEHIND = r"\W*(?:[,;:–—，、] ?.*)?"


@dataclass(frozen=True, slots=True)
class Wish:
    """A request to forget the previous message, or what was said ``about`` something; with its language."""

    about: str
    language: str


def wish(text: str) -> Wish | None:
    """The first request in a message."""
    text = plain(text)
    if len(text) > LONGEST_MESSAGE:
        return None
    sentences = (sentence.strip() for sentence in SENTENCE.split(text))
    short = (sentence for sentence in sentences if 0 < len(sentence) <= LONGEST_SENTENCE)
    return next((request for sentence in short if (request := _wish(sentence))), None)


def said_then(language: str) -> str:
    """The chat's confirmation of a request, in a language."""
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

"""Detect requests in a chat to forget something the user said, by the phrases of each language. Pure.

A request is a short sentence: "forget that", "please forget my number". A person whose request is missed repeats it or
asks an owner; a false detection costs a click.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from memorybank.language import Pack, alternation, fill_in, packs, plain

#: Longer messages are documents, not requests.
MAX_REQUEST_MESSAGE_CHARACTERS, MAX_REQUEST_CHARACTERS = 2_000, 240
SENTENCE_BREAK = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n")
ABOUT_GROUP = r"(?P<about>[^.!?。！？]{1,80}?)"
#: The possible rest of a sentence after a request: nothing, or another clause.
AFTER_REQUEST = r"\W*(?:[,;:–—，、] ?.*)?"


@dataclass(frozen=True, slots=True)
class ForgetPhrase:
    """A request to forget the previous message, or what was said ``about`` something; with its language."""

    about: str
    language: str


def find_forget_request(text: str) -> ForgetPhrase | None:
    """The first request in a message."""
    if len(text) > MAX_REQUEST_MESSAGE_CHARACTERS * 4:  # checked first: removing hidden characters is slow
        return None
    text = plain(text)
    if len(text) > MAX_REQUEST_MESSAGE_CHARACTERS:
        return None
    sentences = (sentence.strip() for sentence in SENTENCE_BREAK.split(text))
    short = (sentence for sentence in sentences if 0 < len(sentence) <= MAX_REQUEST_CHARACTERS)
    return next((request for sentence in short if (request := _match_request(sentence))), None)


def confirmation(language: str) -> str:
    """The chat's confirmation of a request, in a language."""
    return next(" ".join(pack.wishes.done) for pack in packs() if pack.code == language)


def _match_request(sentence: str) -> ForgetPhrase | None:
    for language, pattern in _patterns():
        if match := pattern.fullmatch(sentence):
            return ForgetPhrase((match.groupdict().get("about") or "").strip(), language)
    return None


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(compiled for pack in packs() for compiled in _compile_pack(pack))


def _compile_pack(pack: Pack) -> Iterator[tuple[str, re.Pattern[str]]]:
    space = r"\W+" if pack.spaced else r"\W*"
    lead = rf"\W*(?:(?:{alternation(pack.wishes.lead)}){space})*"
    for pattern in pack.wishes.forget:
        yield pack.code, re.compile(f"{lead}{fill_in(pattern, {'about': ABOUT_GROUP})}{AFTER_REQUEST}", re.IGNORECASE)

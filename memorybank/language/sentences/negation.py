"""Find negations: no word is removed near one, because the clause could then say the opposite."""

import re

from memorybank.language import whole_words

NEGATION = re.compile(whole_words(lambda pack: pack.talk.negations), re.IGNORECASE)
#: A clause or an aside stands between the first marks, a sentence between the second.
CLAUSE_MARKS, SENTENCE_MARKS = re.compile(r"[,，、.!?;:。！？；：()…–—]"), re.compile(r"[.!?;:。！？；：]")


#: How far to both sides a clause is searched, so that the time is linear in the length of the text.
MAX_CLAUSE_CHARACTERS = 300


def denies(text: str) -> bool:
    """Whether the text contains a negation."""
    return NEGATION.search(text) is not None


def between_marks(text: str, start: int, end: int, marks: re.Pattern[str]) -> str:
    """The text between the marks that surround this place; at most ``MAX_CLAUSE_CHARACTERS`` to both sides."""
    begin = max(
        (mark.end() for mark in marks.finditer(text, max(0, start - MAX_CLAUSE_CHARACTERS), start)),
        default=start - MAX_CLAUSE_CHARACTERS,
    )
    after = marks.search(text, end, end + MAX_CLAUSE_CHARACTERS)
    return text[max(0, begin) : after.start() if after else end + MAX_CLAUSE_CHARACTERS]


def replace_unless_denied(match: re.Match[str], marks: re.Pattern[str] = SENTENCE_MARKS, instead: str = "") -> str:
    """``instead`` of the match, or the match itself if its sentence contains a negation."""
    return match[0] if denies(between_marks(match.string, match.start(), match.end(), marks)) else instead


def remove_unless_denied(match: re.Match[str]) -> str:
    """An empty string, or the match itself if there is a negation between the commas around it."""
    return replace_unless_denied(match, CLAUSE_MARKS)

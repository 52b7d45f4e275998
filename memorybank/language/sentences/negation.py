"""Find negations: no word is removed near one, because the clause could then say the opposite."""

import re

from memorybank.language import whole

NEGATION = re.compile(whole(lambda pack: pack.talk.negations), re.IGNORECASE)
#: A clause or an aside stands between the first marks, a sentence between the second.
ASIDE, SENTENCE = re.compile(r"[,，、.!?;:。！？；：()…–—]"), re.compile(r"[.!?;:。！？；：]")


#: How far to both sides a clause is searched, so that the time is linear in the length of the text.
REACH = 300


def denies(text: str) -> bool:
    """Whether the text contains a negation."""
    return NEGATION.search(text) is not None


def around(text: str, start: int, end: int, marks: re.Pattern[str]) -> str:
    """The text between the marks that surround this place; at most ``MAX_CLAUSE_CHARACTERS`` to both sides."""
    begin = max((mark.end() for mark in marks.finditer(text, max(0, start - REACH), start)), default=start - REACH)
    after = marks.search(text, end, end + REACH)
    return text[max(0, begin) : after.start() if after else end + REACH]


def unless_denied(match: re.Match[str], marks: re.Pattern[str] = SENTENCE, instead: str = "") -> str:
    """``instead`` of the match, or the match itself if its sentence contains a negation."""
    return match[0] if denies(around(match.string, match.start(), match.end(), marks)) else instead


def unless_denied_beside(match: re.Match[str]) -> str:
    """An empty string, or the match itself if there is a negation between the commas around it."""
    return unless_denied(match, ASIDE)

"""Where something is denied: no word is left out there, because without it the clause may say the opposite."""

import re

from memorybank.language import whole

NEGATION = re.compile(whole(lambda pack: pack.talk.negations), re.IGNORECASE)
#: Between commas stands a clause or an aside; between these marks a sentence.
ASIDE, SENTENCE = re.compile(r"[,，、.!?;:。！？；：()…–—]"), re.compile(r"[.!?;:。！？；：]")


#: So far to both sides a clause is looked through: a text is read in time that grows as its length does.
REACH = 300


def denies(text: str) -> bool:
    """Whether anything is denied in the text."""
    return NEGATION.search(text) is not None


def around(text: str, start: int, end: int, marks: re.Pattern[str]) -> str:
    """What stands between the marks next to this place, the place included; at most ``REACH`` to both sides."""
    begin = max((mark.end() for mark in marks.finditer(text, max(0, start - REACH), start)), default=start - REACH)
    after = marks.search(text, end, end + REACH)
    return text[max(0, begin) : after.start() if after else end + REACH]


def unless_denied(match: re.Match[str], marks: re.Pattern[str] = SENTENCE, instead: str = "") -> str:
    """``instead`` of the match, or the match itself where something is denied."""
    return match[0] if denies(around(match.string, match.start(), match.end(), marks)) else instead


def unless_denied_beside(match: re.Match[str]) -> str:
    """Nothing instead of the match, or the match itself where something is denied between the commas beside it."""
    return unless_denied(match, ASIDE)

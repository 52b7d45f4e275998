"""Classify the kind of a sentence (fact, decision, preference, question) by signs that are hard to misread."""

import re

from memorybank.language import alternation, collect, whole_words

DECIDED = re.compile(whole_words(lambda pack: pack.kinds.decided), re.IGNORECASE)
UNDECIDED = re.compile(whole_words(lambda pack: pack.kinds.undecided), re.IGNORECASE)
PREFERRED = re.compile(whole_words(lambda pack: pack.kinds.preferred), re.IGNORECASE)
# A request to the assistant says what somebody wanted, not what is the case.
REQUESTED = re.compile(alternation(collect(lambda pack: pack.kinds.requested)), re.IGNORECASE)

_PLEASANTRIES = alternation(collect(lambda pack: pack.talk.pleasantries))
#: Between the words and the end of a sentence.
_ENDS = "\"'”’» )]}.,!?…。！？؟¿¡"
PLEASANTRY = re.compile(_PLEASANTRIES, re.IGNORECASE)
TRAILING_PLEASANTRY = re.compile(rf"(?<=[.!?…\"”])\s+(?:{_PLEASANTRIES})[{re.escape(_ENDS)}]*$", re.IGNORECASE)

# What newcomers ask first: the project's purpose, the people responsible, open questions and debts.
PURPOSE = re.compile(whole_words(lambda pack: pack.kinds.purpose), re.IGNORECASE)
RESPONSIBILITY = re.compile(whole_words(lambda pack: pack.kinds.role), re.IGNORECASE)
OWED = re.compile(whole_words(lambda pack: pack.kinds.owed), re.IGNORECASE)


def without_pleasantries(text: str) -> str:
    """The text without what only keeps somebody company, or asks back ("See you Monday." "what's that"); "" if no more.

    A sentence may end with one that somebody began in lower case.
    """
    return "" if PLEASANTRY.fullmatch(text.strip(_ENDS)) else TRAILING_PLEASANTRY.sub("", text)


def is_request(text: str) -> bool:
    """Whether the sentence requests a piece of work, in words that are hard to misread."""
    return REQUESTED.match(text) is not None


def is_question(text: str) -> bool:
    """Whether the text ends like a question, in any script."""
    return text.rstrip("\"'”’» )").endswith(("?", "？", "؟"))


def kind_of(text: str) -> str:
    """fact, decision, preference or question."""
    if is_question(text):
        return "question"
    if DECIDED.search(text) and not UNDECIDED.search(text):
        return "decision"
    return "preference" if PREFERRED.search(text) else "fact"

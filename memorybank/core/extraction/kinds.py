"""Classify the kind of a sentence (fact, decision, preference, question) by signs that are hard to misread."""

import re
from collections.abc import Collection

from memorybank.language import alternation, collect, whole_words
from memorybank.language.prefilter import Patterns

DECIDED = re.compile(whole_words(lambda pack: pack.kinds.decided), re.IGNORECASE)
UNDECIDED = re.compile(whole_words(lambda pack: pack.kinds.undecided), re.IGNORECASE)
PREFERRED = re.compile(whole_words(lambda pack: pack.kinds.preferred), re.IGNORECASE)
ANSWER_FORM = re.compile(whole_words(lambda pack: pack.kinds.answer_form), re.IGNORECASE)
# A request to the assistant says what somebody wanted, not what is the case.
REQUESTED = re.compile(alternation(collect(lambda pack: pack.kinds.requested)), re.IGNORECASE)

_PLEASANTRIES = alternation(collect(lambda pack: pack.talk.pleasantries))
#: Characters that may follow the last word of a sentence.
_ENDS = "\"'”’» )]}.,!?…。！？؟¿¡"
PLEASANTRY = re.compile(_PLEASANTRIES, re.IGNORECASE)
TRAILING_PLEASANTRY = re.compile(rf"(?<=[.!?…\"”])\s+(?:{_PLEASANTRIES})[{re.escape(_ENDS)}]*$", re.IGNORECASE)

# First questions of newcomers: the project's purpose, the people responsible, open questions and debts.
PURPOSE = re.compile(whole_words(lambda pack: pack.kinds.purpose), re.IGNORECASE)
RESPONSIBILITY = re.compile(whole_words(lambda pack: pack.kinds.role), re.IGNORECASE)
OWED = re.compile(whole_words(lambda pack: pack.kinds.owed), re.IGNORECASE)


def without_pleasantries(text: str) -> str:
    """The text without pleasantries and short questions back ("See you Monday." "what's that"); "" if nothing is left.

    A pleasantry that begins in lower case is part of the sentence before it, so the end of the text is checked, too.
    """
    return "" if PLEASANTRY.fullmatch(text.strip(_ENDS)) else TRAILING_PLEASANTRY.sub("", text)


def is_request(text: str) -> bool:
    """Whether the sentence requests a piece of work, in words that are hard to misread."""
    return REQUESTED.match(text) is not None


def prefers_form_of_answers(text: str) -> bool:
    """Whether somebody says how they like answers to look: "I prefer bullet points"."""
    return PREFERRED.search(text) is not None and ANSWER_FORM.search(text) is not None


def is_question(text: str) -> bool:
    """Whether the text ends like a question, in any script."""
    return text.rstrip("\"'”’» )").endswith(("?", "？", "؟"))


KIND_SIGNS = Patterns(
    [
        (DECIDED, "decided"),
        (UNDECIDED, "undecided"),
        (PREFERRED, "preferred"),
        (PURPOSE, "purpose"),
        (RESPONSIBILITY, "role"),
        (OWED, "owed"),
    ]
)


def signs_in(text: str) -> frozenset[str]:
    """The names of the signs in a sentence."""
    return frozenset(KIND_SIGNS.found(text))


def kind_of(text: str) -> str:
    """fact, decision, preference or question."""
    return kind_by(text, signs_in(text))


def kind_by(text: str, signs: Collection[str]) -> str:
    """Like :func:`kind_of`, for a sentence whose signs are known."""
    if is_question(text):
        return "question"
    if "decided" in signs and "undecided" not in signs:
        return "decision"
    return "preference" if "preferred" in signs else "fact"

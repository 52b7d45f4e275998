"""Classify the kind of a sentence (fact, decision, preference, question) by signs that are hard to misread."""

import re

from memorybank.language import alternation, collect, whole_words

DECIDED = re.compile(whole_words(lambda pack: pack.kinds.decided), re.IGNORECASE)
UNDECIDED = re.compile(whole_words(lambda pack: pack.kinds.undecided), re.IGNORECASE)
PREFERRED = re.compile(whole_words(lambda pack: pack.kinds.preferred), re.IGNORECASE)
# A request to the assistant says what somebody wanted, not what is the case.
REQUESTED = re.compile(alternation(collect(lambda pack: pack.kinds.requested)), re.IGNORECASE)

# What newcomers ask first: the project's purpose, the people responsible, open questions and debts.
PURPOSE = re.compile(whole_words(lambda pack: pack.kinds.purpose), re.IGNORECASE)
RESPONSIBILITY = re.compile(whole_words(lambda pack: pack.kinds.role), re.IGNORECASE)
OWED = re.compile(whole_words(lambda pack: pack.kinds.owed), re.IGNORECASE)


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

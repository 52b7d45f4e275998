"""What kind of fact a sentence is, by signs that are hard to misread."""

import re

from memorybank.language import either, every, whole

DECIDED = re.compile(whole(lambda pack: pack.kinds.decided), re.IGNORECASE)
UNDECIDED = re.compile(whole(lambda pack: pack.kinds.undecided), re.IGNORECASE)
PREFERRED = re.compile(whole(lambda pack: pack.kinds.preferred), re.IGNORECASE)
# What is asked of the assistant tells what was wanted, not what is so.
REQUESTED = re.compile(either(every(lambda pack: pack.kinds.requested)), re.IGNORECASE)

# What somebody new asks first: what it is for, who answers for what, and what is open or owed.
PURPOSE = re.compile(whole(lambda pack: pack.kinds.purpose), re.IGNORECASE)
ROLE = re.compile(whole(lambda pack: pack.kinds.role), re.IGNORECASE)
OWED = re.compile(whole(lambda pack: pack.kinds.owed), re.IGNORECASE)


def is_request(text: str) -> bool:
    """Whether the sentence asks for something to be made, in words that are hard to misread."""
    return REQUESTED.match(text) is not None


def is_question(text: str) -> bool:
    """Ends like one, in any script."""
    return text.rstrip("\"'”’» )").endswith(("?", "？", "؟"))


def kind_of(text: str) -> str:
    """fact, decision, preference or question, by signs that are hard to misread."""
    if is_question(text):
        return "question"
    if DECIDED.search(text) and not UNDECIDED.search(text):
        return "decision"
    return "preference" if PREFERRED.search(text) else "fact"

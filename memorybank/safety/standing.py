"""Decide how a line is shown to other people: as a fact, as its author's report, or as a claim.

People have the authority to speak for themselves about the project. A line that claims more (another person's words or
decision, a rule, the meaning of a word, a link) is attributed to its author. A fact is shown plainly to everybody. A
report is shown in quotes, in its author's name. A claim is shown like a report, but only to people who ask about it: it
is in nobody's block until a person approves it. The checks take linear time.
"""

import re
from collections.abc import Collection, Set

from memorybank.language.lookalikes import fold
from memorybank.language.pack_loader import knows_language
from memorybank.language.work_cache import remembered_by_digest
from memorybank.safety.quoting import (
    NEVER_NAMES,
    introduces,
    introduces_author,
    is_capitalised,
    name_words,
    speaking_name,
)
from memorybank.safety.rule_signs import concerns_others, is_claim

WORD = re.compile(r"\w+")
#: Begins a mask of a secret or contact detail.
MASK = "[redacted: "
LINK = re.compile(r"https?://|(?<!\w)www\.", re.I)
#: A command or a piece of code, which others might run.
CODE = re.compile(r"`|\s--?[a-z]{2}|\w\(\S*\)|\$\w|\w[=|]\w|\s[|&]\s")
#: A line that is only a quotation; and the marks that open or close a quotation within a line.
QUOTATION = re.compile(r"\W{0,3}[\"“„«‘'「].*[\"”»’'」][\s.!?。]*$", re.S)
OPENING_MARK, CLOSING_MARK = (
    re.compile(r"(?:^|(?<=[\s(/]))[\"“„«'‘](?=\w)"),
    re.compile(r"(?<=[\w.,!?…])[\"”“»'’](?!\w)"),
)
#: A quotation of several words within a sentence.
QUOTED_WORDS = re.compile(
    r"[\"“„«「](?:[^\s\"“”„«»「」]+\s+){2,40}[^\s\"“”„«»「」]+[\"”“»」]|[「『][^「」『』]{6,}[」』]"
)


def is_report(text: str, *, names: Collection[str], author: str, trusted: bool = False) -> bool:
    """Whether a line of ``author`` is a report. ``names``: those of the bank's people, from ``quoting.name_words``.

    Only a ``trusted`` author, or two people, can state as a fact what others act on: rights, rules, checks, money,
    access, contact details, and who decides.
    """
    return _is_report(text, frozenset(names), author, trusted)


@remembered_by_digest
def _is_report(text: str, names: frozenset[str], author: str, trusted: bool) -> bool:
    others = names - name_words([author])
    return bool(
        QUOTATION.match(text)
        or _is_torn(text)
        or LINK.search(text)
        or is_claim(text)
        or speaking_name(text, names)
        or introduces(text, others)
        or _names_author(text, author)
        or QUOTED_WORDS.search(text)
        or not knows_language(text)
        or (not trusted and (MASK in text or CODE.search(text) or _mentions(text, others) or concerns_others(text)))
    )


def _is_torn(text: str) -> bool:
    """Whether the text has only the beginning or only the end of a quotation."""
    opened, closed = len(OPENING_MARK.findall(text)), len(CLOSING_MARK.findall(text))
    return opened > closed or (opened < closed and bool(CLOSING_MARK.search(text.rstrip(), len(text.rstrip()) - 1)))


def _names_author(text: str, author: str) -> bool:
    """Whether the text mentions its own author by name, as only other people would."""
    own = name_words([author.partition(",")[0]])
    return _mentions(text, own) and not introduces_author(text, own)


def _mentions(text: str, names: Set[str]) -> bool:
    """Whether the text has one of these names, and not only a common word in small letters that is also a name."""
    words = {fold(word): word for word in WORD.findall(text) if len(word) > 2}
    return any(
        name not in NEVER_NAMES and (words[name][0].isupper() or is_capitalised(name)) for name in words.keys() & names
    )

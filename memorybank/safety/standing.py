"""Decide how a line is shown to other people: as a fact, as its author's report, or as a claim.

People have the authority to speak for themselves about the project. A line that claims more (another person's words or
decision, a rule, the meaning of a word, a link) is attributed to its author. A fact is shown plainly to everybody. A
report is shown in quotes, in its author's name. A claim is shown like a report, but only to people who ask about it: it
is in nobody's block until a person approves it. The checks take linear time.
"""

import re
from collections.abc import Collection
from enum import Enum

from memorybank.language.characters import cjk_length
from memorybank.language.lookalikes import fold
from memorybank.language.pack_loader import knows_language
from memorybank.language.work_cache import remembered_by_digest
from memorybank.safety.quoting import (
    introduces,
    introduces_author,
    is_capitalised,
    is_known,
    name_words,
    report_in,
    speaking_name,
)
from memorybank.safety.rule_signs import (
    DECIDING,
    OFFICIALS,
    Signs,
    concerns_others,
    folded_sentences,
    is_claim,
    signs_of,
)


class Standing(Enum):
    """How a line is shown to other people."""

    FACT = "plainly"
    REPORT = "in quotes"
    CLAIM = "in quotes, to whoever asks"


WORD = re.compile(r"\w+")
#: Begins a mask of a secret or contact detail.
MASK = "[redacted: "
LINK = re.compile(r"https?://|(?<!\w)www\.", re.I)
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
#: Maximum number of words between a person and the verb that reports their decision, in either order.
NEAR_WORDS = 4


def standing(text: str, *, names: Collection[str], author: str, trusted: bool = False) -> Standing:
    """How a line of ``author`` is shown. ``names``: those of the bank's people, from ``quoting.name_words``.

    Only a ``trusted`` author, or two people, can state as a fact what others act on: rights, rules, checks, money,
    access, contact details, and who decides.
    """
    return _standing(text, frozenset(names), author, trusted)


@remembered_by_digest
def _standing(text: str, names: frozenset[str], author: str, trusted: bool) -> Standing:
    if within := report_in(text):
        is_claimed = _standing(within, names, author, False) is Standing.CLAIM
        return Standing.CLAIM if is_claimed else Standing.REPORT
    others = names - name_words([author])
    speaker = speaking_name(text, names)
    if (
        QUOTATION.match(text)
        or _is_torn(text)
        or LINK.search(text)
        or (speaker and (is_known(speaker, names) or _is_office(speaker)))
        or is_claim(text)
    ):
        return Standing.CLAIM
    is_report = (
        speaker
        or introduces(text, others)
        or _names_author(text, author)
        or QUOTED_WORDS.search(text)
        or not knows_language(text)
        or _tells_others_word(text, others)
        or (not trusted and (MASK in text or concerns_others(text)))
    )
    return Standing.REPORT if is_report else Standing.FACT


def _is_torn(text: str) -> bool:
    """Whether the text has only the beginning or only the end of a quotation."""
    opened, closed = len(OPENING_MARK.findall(text)), len(CLOSING_MARK.findall(text))
    return opened > closed or (opened < closed and bool(CLOSING_MARK.search(text.rstrip(), len(text.rstrip()) - 1)))


def _names_author(text: str, author: str) -> bool:
    """Whether the text mentions its own author by name, as only other people would."""
    own = {word for word in name_words([author.partition(",")[0]]) if len(word) > 2 and is_capitalised(word)}
    return not own.isdisjoint(map(fold, WORD.findall(text))) and not introduces_author(text, own)


def _is_office(name: str) -> bool:
    return any(signs[OFFICIALS].search(fold(name)) for signs in signs_of(fold(name)))


def _tells_others_word(text: str, others: frozenset[str]) -> bool:
    """Whether the text reports a statement or decision of another person, known by name or by office."""
    return any(_is_near(signs, sentence, others) for sentence in folded_sentences(text) for signs in signs_of(sentence))


def _is_near(signs: Signs, sentence: str, others: frozenset[str]) -> bool:
    for verb in signs[DECIDING].finditer(sentence):
        before, after = _beside(sentence, verb)
        if signs["own"].search(before):  # "Tom and I agreed"
            continue
        for part in (before, after):
            if signs[OFFICIALS].search(part) or not others.isdisjoint(map(fold, WORD.findall(part))):
                return True
    return False


def _beside(sentence: str, verb: re.Match[str]) -> tuple[str, str]:
    """The few words before and after a verb; in scripts without spaces, twice as many characters."""
    before, after = sentence[: verb.start()], sentence[verb.end() :]
    if cjk_length(sentence):
        return before[-2 * NEAR_WORDS :], after[: 2 * NEAR_WORDS]
    return " ".join(before.split()[-NEAR_WORDS:]), " ".join(after.split()[:NEAR_WORDS])

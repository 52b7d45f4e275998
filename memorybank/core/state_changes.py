"""Detect whether a newer sentence ends the state in an older one (revoked, closed, arrived, moved). Pure.

The older sentence must say that the state "still" holds or holds "for now", and the newer one must explicitly end the
same state: a falsely detected end hides a true fact, a missed one only leaves both facts, to be read with their dates.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memorybank.core.identity import FIRST_PERSON, GENERIC_TERMS, is_another, marks
from memorybank.core.value_changes import (
    CLAUSE_BREAK,
    HEDGED,
    is_embedded,
    is_stated,
    is_value,
    replacements,
    value_phrase,
)
from memorybank.language import collect, packs, whole_words
from memorybank.language.sentences.negation import denies
from memorybank.language.terms import terms, words

ONGOING = re.compile(whole_words(lambda pack: pack.states.ongoing), re.IGNORECASE)
WAITING = re.compile(whole_words(lambda pack: pack.states.waiting), re.IGNORECASE)
ENDED = re.compile(whole_words(lambda pack: pack.states.ended), re.IGNORECASE)
ARRIVED = re.compile(whole_words(lambda pack: (*pack.states.ended, *pack.states.arrived)), re.IGNORECASE)
UPCOMING = re.compile(whole_words(lambda pack: pack.states.upcoming), re.IGNORECASE)
MOVED = tuple(
    re.compile(value_phrase(template, spaced=pack.spaced), re.IGNORECASE)
    for pack in packs()
    for template in pack.states.moved
)
MONTH_NAMES = frozenset(name for month in collect(lambda pack: pack.dates.months) for name in month.casefold().split())
DIGITS, COUNT_AND_UNIT = re.compile(r"\d+"), re.compile(r"(?<!\d)(\d{1,9}+)\.? ([^\W\d_]{1,40}+)")
KANA = re.compile("[\u3040-\u309f]")
#: "l'accès", "dell'accesso": the word follows the apostrophe.
ELIDED = re.compile(r"\b[^\W\d_]{1,4}['’](?=[^\W\d_]{3})")
#: The share of the older sentence's subject that the newer one must mention, the minimum of shared terms, and the
#: number of shared terms that is sufficient evidence.
MIN_COVERED_SHARE, MIN_SHARED_TERMS, SUFFICIENT_SHARED_TERMS = 0.75, 2, 3


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence with its speaker; ``context`` is the text around it, for a sentence that names nothing itself."""

    text: str
    speaker: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True)
class ClauseSubject:
    """The subject of a clause: its content words, its names, its speaker if they speak of themselves, and its text."""

    terms: frozenset[str]
    names: frozenset[str]
    speaker: frozenset[str]
    clause: str
    text: str


def is_ongoing(text: str) -> bool:
    """Whether the text says that something holds for the time being."""
    return any(True for _ in _ongoing_matches(text))


def is_bare(text: str) -> bool:
    """Whether the text says that something is ongoing without naming it: "The current answer is July 10"."""
    return any(not _topic(state, "").terms for state in _ongoing_matches(text))


def states_end(text: str) -> bool:
    """Whether the text says that something is over, has arrived, or has another value from now on."""
    return any(True for _ in _end_matches(text, ARRIVED)) or any(True for _ in _move_matches(text))


def tells_of_change(text: str) -> bool:
    """Whether the text says that a state or a value no longer holds."""
    return bool(replacements(text)) or states_end(text)


def is_over(older: Statement, newer: Statement) -> bool:
    """Whether ``newer`` ends a state that ``older`` says is ongoing."""
    return any(
        _is_ended(state, newer, older) or _is_moved(state, newer, older) for state in _ongoing_matches(older.text)
    )


def _ongoing_matches(text: str) -> Iterator[re.Match[str]]:
    """Matches of "for now" and its like."""
    if not text.rstrip().endswith(("?", "？")) and not HEDGED.search(text):
        yield from (match for sign in (WAITING, ONGOING) for match in sign.finditer(text))


def _end_matches(text: str, by: re.Pattern[str]) -> Iterator[re.Match[str]]:
    if is_stated(text):
        yield from (match for match in by.finditer(text) if not _is_not_yet_so(match))


def _is_not_yet_so(end_match: re.Match[str]) -> bool:
    """Whether the clause of ``end_match`` announces the end for the future, denies it, or only depends on another."""
    if is_embedded(end_match):
        return True
    rest = _without(_clause(end_match), end_match[0])
    return UPCOMING.search(rest) is not None or denies(rest)


def _is_ended(state_match: re.Match[str], newer: Statement, older: Statement) -> bool:
    about = _topic(state_match, older.speaker)
    by = ARRIVED if state_match.re is WAITING else ENDED
    return any(_is_same(about, _topic(end_match, newer.speaker)) for end_match in _end_matches(newer.text, by))


def _is_same(ongoing: ClauseSubject, ended: ClauseSubject) -> bool:
    """Whether both states are the same: one subject covers the other, and not with common words only."""
    shared = ongoing.terms & ended.terms
    if len(ongoing.terms) > SUFFICIENT_SHARED_TERMS:
        is_covered = len(shared) >= MIN_COVERED_SHARE * len(ongoing.terms)
    else:
        is_covered = ongoing.terms <= ended.terms
    is_known = len(shared) >= SUFFICIENT_SHARED_TERMS or bool(shared & (ongoing.names | ended.names))
    return (
        (is_covered or ended.terms <= ongoing.terms)
        and len(shared) >= MIN_SHARED_TERMS
        and is_known
        and ongoing.speaker <= shared
        and not _are_of_two_things(ongoing, ended)
    )


def _is_moved(state_match: re.Match[str], newer: Statement, older: Statement) -> bool:
    """Whether the newer sentence says that another value holds from now on: "it has moved to July 31"."""
    if state_match.re is not ONGOING:
        return False
    own, clause = _topic(state_match, older.speaker), _clause(state_match)
    about = own if own.terms else _subject_of(older.context, frozenset())
    return any(
        _differs(clause, move["new"]) and _shares(about, _topic(move, newer.speaker), min_shared=len(own.terms) / 2)
        for move in _move_matches(newer.text)
    )


def _move_matches(text: str) -> Iterator[re.Match[str]]:
    if is_stated(text):
        matches = (match for pattern in MOVED for match in pattern.finditer(text))
        yield from (match for match in matches if is_value(match["new"]) and not _is_not_yet_so(match))


def _shares(ongoing: ClauseSubject, moved: ClauseSubject, *, min_shared: float) -> bool:
    """Whether both have the same subject, besides a value of the same kind."""
    shared = ongoing.terms & moved.terms
    is_known = len(shared) >= MIN_SHARED_TERMS or bool(shared & (ongoing.names | moved.names))
    is_shared = len(shared) >= min_shared and is_known and ongoing.speaker <= shared
    return is_shared and not _are_of_two_things(ongoing, moved)


def _are_of_two_things(ongoing: ClauseSubject, other: ClauseSubject) -> bool:
    return is_another(marks(ongoing.clause, ongoing.text), marks(other.clause, other.text))


def _differs(clause: str, value: str) -> bool:
    """Whether the clause has another value of the same kind: another date, or another number of the same unit."""
    return bool(_kind(value)) and _kind(value) <= _kind(clause) and not _digits(value) <= _digits(clause)


def _kind(text: str) -> frozenset[str]:
    """The units of the text's numbers: months, and the words after numbers."""
    counted = {word for _, word in COUNT_AND_UNIT.findall(text.casefold())}
    return frozenset("month" if word in MONTH_NAMES else word for word in [*counted, *(MONTH_NAMES & set(words(text)))])


def _digits(text: str) -> frozenset[str]:
    return frozenset(DIGITS.findall(text)) | (MONTH_NAMES & set(words(text)))


def _clause(match: re.Match[str]) -> str:
    """The clause with the match; clauses before it are prepended while it has no other content words."""
    text, start = match.string, 0
    parts: list[str] = []
    for mark in [*CLAUSE_BREAK.finditer(text), None]:
        end = mark.start() if mark else len(text)
        parts.append(text[start:end])
        if match.start() < end or mark is None:
            break
        start = mark.end()
    clause = parts.pop()
    while parts and not _content(_without(clause, match[0])):
        clause = f"{parts.pop()} {clause}"
    return clause


def _topic(sign: re.Match[str], speaker: str) -> ClauseSubject:
    """The subject of the clause around ``sign``, without the sign; with the speaker if they speak of themselves."""
    rest = _without(_clause(sign), sign[0])
    return _subject_of(rest, frozenset(terms(speaker)) if FIRST_PERSON.search(rest) else frozenset(), sign.string)


def _subject_of(text: str, own: frozenset[str], around: str = "") -> ClauseSubject:
    named = (word for word in ELIDED.sub("", text).split() if any(c.isupper() for c in word))
    return ClauseSubject(_content(text) | own, own.union(*map(terms, named)), own, text, around or text)


def _content(text: str) -> frozenset[str]:
    """Content words without numbers, generic words, and words in hiragana, which Japanese uses for grammar."""
    return (
        frozenset(term for term in terms(ELIDED.sub("", text)) if not term.isdigit() and not KANA.search(term))
        - GENERIC_TERMS
    )


def _without(clause: str, sign: str) -> str:
    return clause.replace(sign, " ", 1)

"""Which value a sentence says it replaces, and whether an older fact states that value. Pure.

Only what is said outright counts ("from 3 May to 17 May", "Postgres instead of MySQL", "statt 30 Tage"): the
newer fact then names what it replaced by itself, and an older one disappears only if it says the old value
about the same thing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from memorybank.core.turns import Draft, Turn
from memorybank.language import either, every, packs, plain, whole
from memorybank.language.characters import cjk_length
from memorybank.language.sentences import sentences
from memorybank.language.terms import terms

# A value is short: up to six words, no clause. It ends at punctuation or where the sentence goes on.
_WORDS = r"(?:[^\s.,;:!?()\[\]…]|[.,:](?=\w)|(?<=\d)\.(?= \w)){1,40}"  # also "3. Mai"
_STOP = either(every(lambda pack: pack.changes.stop))
_END = rf"(?=\s*(?:[.,:](?!\w)|[;!?()\[\]…]|$)|\s+(?:{_STOP})\b)"
_WAS = either(every(lambda pack: pack.changes.was))


def _value(name: str, *, spaced: bool) -> str:
    """A value as a group of that name."""
    if spaced:
        return rf"(?P<{name}>{_WORDS}(?: (?!(?:{_STOP})\b){_WORDS}){{0,5}}?)"
    return rf"(?P<{name}>[^，。；、\s]{{1,20}}?)"


def _phrase(template: str, *, spaced: bool) -> str:
    """A template of a pack, its values as groups. One that ends it reaches as far as a value can."""
    pattern = template.replace("OLD", _value("old", spaced=spaced)).replace("NEW", _value("new", spaced=spaced))
    if spaced:
        return rf"\b{pattern}{_END}" if template.endswith(("OLD", "NEW")) else rf"\b{pattern}"
    return pattern.removesuffix("?)") + ")" if template.endswith(("OLD", "NEW")) else pattern


def _patterns() -> Iterator[str]:
    for pack in packs():
        phrase, verb = partial(_phrase, spaced=pack.spaced), rf"\b(?:{either(pack.changes.verbs)})\b"
        yield from (rf"{verb}[^.!?\n]{{0,80}}?{phrase(template)}" for template in pack.changes.after_verb)
        yield from (rf"{phrase(template)}[^.!?\n]{{0,60}}?{verb}" for template in pack.changes.before_verb)
        yield from map(phrase, pack.changes.alone)
    old, new = _value("old", spaced=True), _value("new", spaced=True)
    yield rf"\((?:{_WAS})[:,]? {old}\s*[,);]"
    # an arrow between two numbers or dates; between words it may mean anything
    yield rf"(?:^|\s)(?=[^→>]{{0,60}}\d[^→>]{{0,40}}(?:→|->|=>)[^.;!?]{{0,40}}\d){old} ?(?:→|->|=>) ?{new}{_END}"


_PATTERNS = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _patterns())
_HEDGED = re.compile(rf"{whole(lambda pack: pack.changes.hedged)}|[?？]\s*$", re.IGNORECASE)
_IGNORED = frozenset(terms(" ".join(every(lambda pack: pack.changes.generic))))
_WORD = re.compile(r"\w")
#: The comma of a date parts nothing: "July 1, 2026".
_CLAUSE = re.compile(r"(?<=[.,;!?])\s(?!\d{4}\b)|[()\n、。，；：]| – | — ")


@dataclass(frozen=True, slots=True)
class Replacement:
    """A value that a sentence says is over."""

    old: str


@dataclass(frozen=True, slots=True)
class Change:
    """A sentence of a turn, and what it replaces."""

    turn_id: int
    sentence: str
    replacement: Replacement


def replacements(text: str) -> list[Replacement]:
    """The values that ``text`` says outright it replaces; none when it only asks or supposes."""
    if _HEDGED.search(text):
        return []
    return list(dict.fromkeys(_found(text)))


def _found(text: str) -> Iterator[Replacement]:
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            old = match["old"].strip(" '\"“”„«»*_`")
            if is_value(old):
                yield Replacement(old)


def is_value(text: str) -> bool:
    """Specific enough to be looked for: a digit, a capital, or a script without capitals; not a mere pronoun."""
    if len(text) < 2:
        return text.isdigit()
    return any(c.isdigit() or c.isupper() for c in text) or any(c.isalpha() and not c.islower() for c in text)


def is_one_of_a_kind(value: str) -> bool:
    """Whether the value is a name with a digit, like "MySQL 8" or "B4-112", and no date."""
    own = set(terms(value))
    return any(c.isdigit() for c in value) and any(c.isupper() for c in value) and not own & _IGNORED


def is_replaced(older: str, newer: str, replacement: Replacement, *, decided: bool = False) -> bool:
    """Whether ``older`` states the replaced value about something ``newer`` speaks of where it replaces it.

    Where the value is one of a kind and the older sentence a decision for it (``decided``), that is enough.
    """
    if not _states(older, replacement.old):
        return False
    if any(_states(r.old, replacement.old) or _states(replacement.old, r.old) for r in replacements(older)):
        return False  # it, too, says that this value is over
    if subjects(older, replacement.old) & subjects(newer, replacement.old):
        return True
    return decided and is_one_of_a_kind(replacement.old)


def changes(turns: Sequence[Turn]) -> list[Change]:
    """Everything that anybody says is replaced, in order."""
    return [
        Change(turn.id, sentence, replacement)
        for turn in turns
        for utterance in turn.utterances
        for sentence in sentences(plain(utterance.text))
        for replacement in replacements(sentence)
    ]


def mark_changes(drafts: Sequence[Draft], said: Sequence[Change]) -> list[Draft]:
    """Drafts that name what they replace where anybody in their turn said so, and weigh more for it."""
    marked = list(drafts)
    for change in said:
        _mark(marked, change)
    return marked


def _mark(drafts: list[Draft], change: Change) -> None:
    """Append what was replaced to the draft of this turn that the sentence is about."""
    replacement = change.replacement
    about = subjects(change.sentence, replacement.old)
    own = [(number, draft) for number, draft in enumerate(drafts) if change.turn_id in draft.citations]
    akin = [(len(about & set(terms(draft.text))), draft.weight, -number) for number, draft in own]
    shared, _, number = max(akin, default=(0, 0.0, 0))
    if not own or (about and not shared):
        return
    draft = drafts[-number]
    names_it = any(r.old.casefold() == replacement.old.casefold() for r in replacements(draft.text))
    if _states(draft.text, replacement.old) and not names_it:
        return  # it speaks of the old value in some other way
    text = draft.text if names_it else f"{draft.text.rstrip('. ')} (before: {replacement.old})"
    drafts[-number] = replace(draft, text=text, weight=max(draft.weight, (1 + draft.weight) / 2))


def _states(text: str, value: str) -> bool:
    """Whether the value stands in the text as whole words."""
    return bool(_whole(value).search(text))


def _whole(value: str) -> re.Pattern[str]:
    before, after = (r"(?<!\w)" if _WORD.match(value[0]) else ""), (r"(?!\w)" if _WORD.match(value[-1]) else "")
    if value[0].isdigit():
        before += r"(?<!\d[.,])"
    if value[-1].isdigit():
        after += r"(?![.,]\d*[1-9])"  # 84 is 84.00, but 7 is not 7.5
    if cjk_length(value):  # scripts without spaces have no word ends to look for
        before = after = ""
    return re.compile(before + re.escape(value) + after, re.IGNORECASE)


def subjects(text: str, value: str) -> frozenset[str]:
    """What the clause with ``value`` is about, or the nearest before it if that says nothing but the value."""
    clauses = [clause for clause in _CLAUSE.split(text) if clause.strip()]
    about: frozenset[str] = frozenset()
    for number, clause in enumerate(clauses):
        if _states(clause, value):
            near = (found for before in reversed(clauses[: number + 1]) if (found := _subjects(before, value)))
            about |= next(near, frozenset())
    return about


def _subjects(clause: str, value: str) -> frozenset[str]:
    """Content words without the value, numbers, months, and words of change."""
    own = set(terms(clause)) - set(terms(value)) - _IGNORED
    return frozenset(term for term in own if not any(c.isdigit() for c in term))

"""Detect replaced values: which value a sentence replaces, and whether an older fact states it. Pure.

Only explicit statements count ("from 3 May to 17 May", "Postgres instead of MySQL", "statt 30 Tage"): the newer fact
then names the value it replaces, and an older one disappears only if it states the old value about the same thing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from memorybank.core.identity import FIRST_PERSON, GENERIC_TERMS, Marks, is_another, marks
from memorybank.core.turns import DraftFact, Turn
from memorybank.language import alternation, collect, detect_language, pack, packs, plain, whole_words
from memorybank.language.characters import cjk_length
from memorybank.language.sentences import sentences
from memorybank.language.sentences.negation import CLAUSE_MARKS, MAX_CLAUSE_CHARACTERS, between_marks, denies
from memorybank.language.sentences.splitting import CONDITION
from memorybank.language.terms import terms, words

# A value is short: up to six words, no clause. It ends at punctuation or at a stop word.
_VALUE_WORD = r"(?:[^\s.,;:!?()\[\]…]|[.,:](?=\w)|(?<=\d)\.(?= \w)){1,40}"  # also "3. Mai"
_STOP_WORDS = alternation(collect(lambda pack: (*pack.changes.stop, *pack.changes.predicates)))
_VALUE_END = rf"(?=\s*(?:[.,:](?!\w)|[;!?()\[\]…]|$)|\s+(?:{_STOP_WORDS})\b)"
_WAS = alternation(collect(lambda pack: pack.changes.was))


def _value(name: str, *, spaced: bool) -> str:
    """A named group for a value."""
    if spaced:
        return rf"(?P<{name}>{_VALUE_WORD}(?: (?!(?:{_STOP_WORDS})\b){_VALUE_WORD}){{0,5}}?)"
    return rf"(?P<{name}>[^，。；、\s]{{1,20}}?)"


def value_phrase(template: str, *, spaced: bool) -> str:
    """A pack's template as a pattern with groups for its values; a value at its end matches as much as possible."""
    pattern = template.replace("OLD", _value("old", spaced=spaced)).replace("NEW", _value("new", spaced=spaced))
    if spaced:
        return rf"\b{pattern}{_VALUE_END}" if template.endswith(("OLD", "NEW")) else rf"\b{pattern}"
    return pattern.removesuffix("?)") + ")" if template.endswith(("OLD", "NEW")) else pattern


def _patterns() -> Iterator[str]:
    for each in packs():
        phrase, verb = partial(value_phrase, spaced=each.spaced), rf"\b(?P<verb>{alternation(each.changes.verbs)})\b"
        yield from (rf"{verb}[^.!?\n]{{0,80}}?{phrase(template)}" for template in each.changes.after_verb)
        yield from (rf"{phrase(template)}[^.!?\n]{{0,60}}?{verb}" for template in each.changes.before_verb)
        yield from map(phrase, each.changes.alone)
    old, new = _value("old", spaced=True), _value("new", spaced=True)
    yield rf"\((?:{_WAS})[:,]? {old}\s*[,);]"
    # an arrow between two numbers or dates; between words it may mean anything
    yield rf"(?:^|\s)(?=[^→>]{{0,60}}\d[^→>]{{0,40}}(?:→|->|=>)[^.;!?]{{0,40}}\d){old} ?(?:→|->|=>) ?{new}{_VALUE_END}"


_PATTERNS = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _patterns())
_PREDICATE = re.compile(rf"\s+(?:{whole_words(lambda pack: pack.changes.predicates)})", re.IGNORECASE)
_COMPLEMENTIZER = re.compile(whole_words(lambda pack: pack.changes.complementizers), re.IGNORECASE)
_DECIDED = re.compile(whole_words(lambda pack: pack.kinds.decided), re.IGNORECASE)
HEDGED = re.compile(rf"{whole_words(lambda pack: pack.changes.hedged)}|[?？]\s*$", re.IGNORECASE)
_BEFORE_VALUE = frozenset(
    word
    for words in collect(lambda p: (*p.words.articles, *p.changes.generic, *p.dates.of, *p.dates.weekdays))
    for word in words.split()
)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_QUOTATION_MARKS = '"“”„«»'
_MARKS = f" '*_`{_QUOTATION_MARKS}"
_WORD_CHARACTER = re.compile(r"\w")
#: A value is denied by a negation at most this many words before it: "can't start on 20 April".
MAX_WORDS_TO_NEGATION = 4
#: The comma of a date is no break: "July 1, 2026"; nor is the stop of an ordinal number: "3. Mai".
CLAUSE_BREAK = re.compile(r"(?<=[.,;!?])(?<!\b\d\.)(?<!\b\d\d\.)\s(?!\d{4}\b)|[()\n、。，；：]| – | — ")


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A value that no longer holds; ``new`` is the value that replaces it, if the sentence names it."""

    old: str
    new: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class StatedChange:
    """A sentence of a turn, its speaker, and what it replaces."""

    turn_id: int
    speaker: str
    sentence: str
    replacement: ValueChange


def replacements(text: str) -> list[ValueChange]:
    """The values that ``text`` explicitly replaces; none if it only asks, supposes or quotes."""
    return list(dict.fromkeys(_matches(text))) if is_stated(text) else []


def is_stated(text: str) -> bool:
    """Whether the text states something and does not suppose it. "Se" introduces no condition in Spanish."""
    if HEDGED.search(text):
        return False
    last_words = {word for match in CONDITION.finditer(text) for word in words(match[0])[-1:]}
    if not last_words:
        return True
    code = detect_language(words(text))
    conditions = pack(code).clauses.conditions if code else collect(lambda pack: pack.clauses.conditions)
    return last_words.isdisjoint(conditions)


def _matches(text: str) -> Iterator[ValueChange]:
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            groups = match.groupdict(default="")
            old, new = (groups.get(name, "").strip(_MARKS) for name in ("old", "new"))
            is_real = not (_is_negated(match) or _is_quoted(match) or _is_part_of_subject(match) or is_embedded(match))
            if is_value(old) and (not new or _has_value(new)) and is_real:
                yield ValueChange(old, new)


def _is_negated(match: re.Match[str]) -> bool:
    """Whether the verb of change is negated: "he is away from 3 May to 9 May, and that can't move"."""
    if "verb" in match.re.groupindex:
        return denies(between_marks(match.string, match.start("verb"), match.end("verb"), CLAUSE_MARKS))
    start = match.start()
    return denies(CLAUSE_MARKS.split(match.string[max(0, start - MAX_CLAUSE_CHARACTERS) : start])[-1])


def _is_part_of_subject(match: re.Match[str]) -> bool:
    """Whether something is said of the change as a whole: "the move from A to B was rejected", "… is a rumour"."""
    return "new" in match.re.groupindex and _PREDICATE.match(match.string, match.end("new")) is not None


def is_embedded(match: re.Match[str]) -> bool:
    """Whether the change stands in a clause that depends on another: "Tom denies that …"; not "we decided that …"."""
    before = CLAUSE_MARKS.split(match.string[max(0, match.start() - MAX_CLAUSE_CHARACTERS) : match.start()])[-1]
    return _COMPLEMENTIZER.search(before) is not None and _DECIDED.search(match.string) is None


def _is_quoted(match: re.Match[str]) -> bool:
    """Whether the change is said in quotes, not only its value."""
    before = match.string[: match.start()]
    return sum(map(before.count, _QUOTATION_MARKS)) % 2 == 1 and not before.endswith(tuple(_QUOTATION_MARKS))


def is_value(text: str) -> bool:
    """Whether it is specific enough to search for: it begins with a digit, a capital, or a script without capitals.

    An article or a unit of time may come first ("the week of 13 July"). Any other beginning makes it a clause.
    """
    if len(text) < 2:
        return text.isdigit()
    first = next((word for word in text.split() if word.casefold() not in _BEFORE_VALUE), "")
    return _has_value(first)


def _has_value(text: str) -> bool:
    return any(c.isdigit() or c.isupper() for c in text) or any(c.isalpha() and not c.islower() for c in text)


def is_one_of_a_kind(value: str) -> bool:
    """Whether the value is a name with a digit, like "MySQL 8" or "B4-112", and no date."""
    own = set(terms(value))
    return any(c.isdigit() for c in value) and any(c.isupper() for c in value) and not own & GENERIC_TERMS


def is_replaced(
    older: str, newer: str, replacement: ValueChange, *, decided: bool = False, same_speaker: bool = True
) -> bool:
    """Whether ``older`` states the replaced value about the subject of the replacement in ``newer``.

    If the value is one of a kind and the older sentence is a decision for it (``decided``), that is enough. What two
    people say of themselves ("my rent") is about two things.
    """
    if not _contains(older, replacement.old) or _has_new_value(older, replacement):
        return False
    if any(_contains(r.old, replacement.old) or _contains(replacement.old, r.old) for r in replacements(older)):
        return False  # it also says that this value no longer holds
    if not same_speaker and all(_is_of_speaker(text, replacement.old) for text in (older, newer)):
        return False
    if decided and is_one_of_a_kind(replacement.old):
        return True
    is_same_kind = subjects(older, replacement.old) & subjects(newer, replacement.old)
    return bool(is_same_kind) and not is_another(_marks(older, replacement), _marks(newer, replacement))


def names_new_value(text: str, change: str) -> bool:
    """Whether the text has the new value that ``change`` states or, if it names none, another name than the old."""
    replaced = replacements(change)
    if new := [replacement.new for replacement in replaced if replacement.new]:
        return any(_contains(text, value) for value in new)
    old = {term for replacement in replaced for term in terms(replacement.old)}
    named = marks(change, change).names.union(_NUMBER.findall(change)) - old
    return not named.isdisjoint((*terms(text), *words(text)))


def _marks(text: str, replacement: ValueChange) -> Marks:
    """What the clause of the old value names, besides both values."""
    clauses = " ; ".join(_subject_clauses(text, replacement.old))
    for value in filter(None, (replacement.old, replacement.new)):
        clauses = _whole_value(value).sub(" ", clauses)
    return marks(clauses, text)


def _has_new_value(older: str, replacement: ValueChange) -> bool:
    """Whether the older sentence also has the new value, or says that the old one does not hold."""
    new = replacement.new
    names = {term for term in set(terms(new)) - GENERIC_TERMS - set(terms(replacement.old)) if term.isalpha()}
    if names & set(terms(older)) or (new and _contains(older, new)):
        return True
    words_before = (
        older[: match.start()].split()[-MAX_WORDS_TO_NEGATION:]
        for match in _whole_value(replacement.old).finditer(older)
    )
    return all(denies(" ".join(words)) for words in words_before)


def changes(turns: Sequence[Turn]) -> list[StatedChange]:
    """All replacements that anybody states, in order."""
    return [
        StatedChange(turn.id, utterance.speaker, sentence, replacement)
        for turn in turns
        for utterance in turn.utterances
        for sentence in sentences(plain(utterance.text))
        for replacement in replacements(sentence)
    ]


def mark_changes(drafts: Sequence[DraftFact], changes: Sequence[StatedChange]) -> list[DraftFact]:
    """The drafts; facts whose turn states a change get more weight and, if they lack it, the replaced value."""
    marked = list(drafts)
    for change in changes:
        _mark_best(marked, change)
    return marked


def _mark_best(drafts: list[DraftFact], change: StatedChange) -> None:
    """Append the old value to the fact of this turn that the sentence is about, unless a fact already says so."""
    replacement = change.replacement
    about = subjects(change.sentence, replacement.old)
    own = [(number, draft) for number, draft in enumerate(drafts) if change.turn_id in draft.citations]
    shared = {n: len(about & set(terms(draft.text))) if about else _may_mean(draft, change) for n, draft in own}
    akin = [(shared[number], draft.weight, -number) for number, draft in own if shared[number]]
    if not akin:
        return
    best = -max(akin)[2]
    draft = drafts[best]
    if set(terms(replacement.old)) <= set(terms(draft.text)):
        # The best fact states the change, or mentions the old value otherwise: then another fact may state the change.
        telling = [number for number, other in own if _says_replaced(other.text, replacement)]
        for number in [best] if best in telling else telling:
            drafts[number] = _with_change_weight(drafts[number])
    elif not replacement.new or _contains(draft.text, replacement.new):
        drafts[best] = _with_change_weight(
            replace(draft, text=f"{draft.text.rstrip('. ')} (before: {replacement.old})")
        )


def _says_replaced(text: str, replacement: ValueChange) -> bool:
    """Whether the text itself says that this value no longer holds."""
    return any(other.old.casefold() == replacement.old.casefold() for other in replacements(text))


def _with_change_weight(draft: DraftFact) -> DraftFact:
    """The fact with more weight, because it states a change: halfway from its own weight to 1."""
    return replace(draft, weight=max(draft.weight, (1 + draft.weight) / 2))


def _may_mean(draft: DraftFact, change: StatedChange) -> bool:
    """Whether a sentence that says only that a value no longer holds may mean this fact.

    It does if the same person stated a value that looks like it ("So the old 0.19 is gone." and "0.14 euro").
    """
    old = change.replacement.old
    is_bare = bool(_NUMBER.search(old)) and set(_NUMBER.findall(change.sentence)) == set(_NUMBER.findall(old))
    return is_bare and change.speaker == draft.speaker and bool(_shapes(old) & _shapes(draft.text))


def _shapes(text: str) -> frozenset[str]:
    """The notation of the text's numbers: "0.19" and "0.14" have the same."""
    return frozenset(re.sub(r"\d", "0", number) for number in _NUMBER.findall(text))


def _contains(text: str, value: str) -> bool:
    """Whether the value occurs in the text as whole words."""
    return bool(_whole_value(value).search(text))


def _whole_value(value: str) -> re.Pattern[str]:
    before, after = (
        (r"(?<!\w)" if _WORD_CHARACTER.match(value[0]) else ""),
        (r"(?!\w)" if _WORD_CHARACTER.match(value[-1]) else ""),
    )
    if value[0].isdigit():
        before += r"(?<!\d[.,])"
    if value[-1].isdigit():
        after += r"(?![.,]\d*[1-9])"  # 84 is 84.00, but 7 is not 7.5
    if cjk_length(value):  # scripts without spaces have no word ends to look for, but numbers have
        before, after = r"(?<!\d)" * value[0].isdigit(), r"(?!\d)" * value[-1].isdigit()
    return re.compile(before + re.escape(value) + after, re.IGNORECASE)


def subjects(text: str, value: str) -> frozenset[str]:
    """The subject of the clause with ``value``, or of the nearest clause before it with more than the value."""
    return frozenset(term for clause in _subject_clauses(text, value) for term in _subjects(clause, value))


def _subject_clauses(text: str, value: str) -> Iterator[str]:
    """For each clause with ``value``, itself, or the nearest clause before it that has a subject."""
    clauses = [clause for clause in CLAUSE_BREAK.split(text) if clause.strip()]
    for number, clause in enumerate(clauses):
        if _contains(clause, value):
            yield from [before for before in clauses[number::-1] if _subjects(before, value)][:1]


def _is_of_speaker(text: str, value: str) -> bool:
    """Whether a clause that gives the value its subject says it of the speaker."""
    return any(FIRST_PERSON.search(clause) for clause in _subject_clauses(text, value))


def _subjects(clause: str, value: str) -> frozenset[str]:
    """Content words without the value, numbers, months, and words of change."""
    own = set(terms(clause)) - set(terms(value)) - GENERIC_TERMS
    return frozenset(term for term in own if not any(c.isdigit() for c in term))

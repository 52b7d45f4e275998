"""Apply the state of facts to a turn's lines: remove hidden, quarantined and superseded ones, change edited ones. Pure.

The index keeps the original sentences. The facts hold people's decisions on them, and what replaced them. The notes
that a model wrote of a turn stand beside its sentences.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from memorybank.core.fact_state import FactState, ReplacingFact
from memorybank.core.turns import NOTES_SPEAKER, STEERS_ASSISTANT
from memorybank.language.dates import format_date
from memorybank.language.repetition import tells_of_others
from memorybank.language.sentences import with_full_stop
from memorybank.language.terms import terms
from memorybank.safety.quoting import report_of
from memorybank.safety.reasons import Reported, is_reported

#: A sentence states a fact if they share this part of the shorter one's content words.
MIN_SHARED_WORDS = 0.6
#: A sentence states part of a replaced fact if it has this part of the fact's words; the rest of it still holds.
MIN_SHARED_WORDS_OF_PART = 0.4
#: A sentence replaced in part is shown, with what replaced it, if it has this many other content words.
MIN_REMAINING_WORDS = 4
#: A note has the same place in each turn that it cites: this, and its number. No turn has as many sentences.
FIRST_NOTE_PLACE = 1_000_000

#: Speaker, sentence, prior, and whether it is reported; as a document stores them.
StoredLine = Sequence[Any]


class VisibleSentence(NamedTuple):
    """A line that may be shown, with its place in its turn, and what replaced parts of it."""

    speaker: str
    text: str
    worth: float
    #: How its message is told (see ``Reported``).
    reported: int
    place: int
    ends: tuple[ReplacingFact, ...] = ()
    #: Whether a person approved or corrected it, or it is a note.
    approved: bool = False
    #: Whether it is a note that a model wrote of the chat, and no sentence of the turn.
    is_note: bool = False

    @property
    def is_report(self) -> bool:
        """Whether it is told in its speaker's name and in quotes."""
        return bool(self.reported)


class ChangedFact(NamedTuple):
    """A change of the fact with this text: a person's edit, or the fact that superseded it."""

    text: str
    correction: tuple[str, str] | None
    end: ReplacingFact | None


def visible_lines(
    lines: Mapping[int, Sequence[StoredLine]], facts: Iterable[FactState]
) -> dict[int, list[VisibleSentence]]:
    """The visible lines of each turn, given all its lines and the facts that cite it. Pure.

    A line's place counts all lines of the turn, so it stays the same whatever becomes of the others.
    """
    changes: dict[int, list[ChangedFact]] = defaultdict(list)
    steering: set[int] = set()
    released: dict[int, list[StoredLine]] = defaultdict(list)
    notes: dict[int, list[VisibleSentence]] = defaultdict(list)
    for fact in facts:
        if fact.quarantine == STEERS_ASSISTANT:
            steering.update(fact.citations)
        if fact.correction or not fact.is_visible:
            for turn in fact.citations:
                changes[turn].append(ChangedFact(fact.original_text, fact.correction, fact.end))
        if fact.is_visible and fact.is_note and not fact.correction:
            for turn in fact.citations:
                place = FIRST_NOTE_PLACE + fact.pk
                notes[turn].append(
                    VisibleSentence(NOTES_SPEAKER, fact.text, fact.weight, 0, place, approved=True, is_note=True)
                )
        elif fact.is_visible and fact.is_released:
            released[fact.citations[0]].append((fact.speaker, fact.text, fact.weight, 0))
    shown = {turn: [] if turn in steering else _with_places(own, released.get(turn, ())) for turn, own in lines.items()}
    return {turn: _apply_changes(own, changes.get(turn, ())) + notes[turn] for turn, own in shown.items()}


def trusting(
    lines: Mapping[int, Sequence[VisibleSentence]], trusted: Collection[str]
) -> dict[int, list[VisibleSentence]]:
    """The lines of each turn; what trusted speakers say is no report, unless it always is one."""

    def settled(line: VisibleSentence) -> VisibleSentence:
        is_report = is_reported(line.reported, trusted=line.speaker in trusted)
        return line if is_report else line._replace(reported=Reported.NO)

    return {turn: list(map(settled, own)) for turn, own in lines.items()}


def _with_places(lines: Sequence[StoredLine], released: Sequence[StoredLine]) -> list[VisibleSentence]:
    """All lines with their places; a released one stands in place of the report that it was until then."""
    texts = {text for _, text, *_ in released}
    said = [
        VisibleSentence(speaker, text, worth, reported, place)
        for place, (speaker, text, worth, reported) in enumerate(lines)
        if text not in texts
    ]
    approved = [
        VisibleSentence(speaker, text, worth, reported, place, approved=True)
        for place, (speaker, text, worth, reported) in enumerate(released, start=len(lines))
    ]
    return said + approved


def _apply_changes(lines: list[VisibleSentence], changes: Iterable[ChangedFact]) -> list[VisibleSentence]:
    """The lines without those that state a changed fact; the first of these gets the edited text instead.

    A line of which only a part was replaced stays, marked, if it says enough besides.
    """
    for text, correction, end in changes:
        words, places = frozenset(terms(text)), _stating(lines, text)
        after: list[VisibleSentence] = []
        for line in lines:
            line_words = frozenset(terms(line.text))
            if line.place not in places or (end and len(line_words & words) < MIN_SHARED_WORDS_OF_PART * len(words)):
                after.append(line)
            elif correction:
                after.append(line._replace(speaker=correction[0], text=correction[1], reported=0, approved=True))
                correction = None
            elif (
                end
                and len(line_words.difference(*(terms(part.text) for part in (*line.ends, end)))) >= MIN_REMAINING_WORDS
            ):
                after.append(line._replace(ends=tuple(dict.fromkeys((*line.ends, end)))))
        lines = after
    return [_mark_replaced(line) if line.ends else line for line in lines]


def _mark_replaced(line: VisibleSentence) -> VisibleSentence:
    """The line, marked as replaced in part on these days."""
    days = dict.fromkeys(format_date(day) for day in sorted(end.day for end in line.ends))
    return line._replace(text=" ".join([with_full_stop(line.text), *(f"(In part replaced on {day}.)" for day in days)]))


def _stating(lines: Sequence[VisibleSentence], fact: str) -> set[int]:
    """The places of the lines that state a fact; beside one with its text, only those with all its content words."""
    texts, stated = [line.text for line in lines], frozenset(terms(fact))
    places = stating(texts, fact)
    if fact in texts:
        places = {place for place in places if stated.issubset(terms(texts[place]))}
    return {lines[place].place for place in places}


def stating(texts: Sequence[str], fact: str) -> set[int]:
    """The places of the texts that state a fact: those that say the same, else those with most of its words.

    What a person hid must not be shown in other words, so where nothing else states it, a text of another name counts.
    """
    stated = frozenset(terms(fact))
    alike = {place for place, text in enumerate(texts) if shares_most_words(frozenset(terms(text)), stated)}
    return {place for place in alike if not tells_of_others(texts[place], fact)} or alike


def is_same_statement(sentence: str, fact: str) -> bool:
    """Whether a sentence and a fact share most content words, and neither is about what the other is not."""
    return shares_most_words(frozenset(terms(sentence)), frozenset(terms(fact))) and not tells_of_others(sentence, fact)


def shares_most_words(sentence: frozenset[str], fact: frozenset[str]) -> bool:
    """Whether a sentence and a fact with these content words share most of those of the shorter one."""
    shorter = min(len(sentence), len(fact))
    return shorter > 0 and len(sentence & fact) >= MIN_SHARED_WORDS * shorter


def replacing_line(
    end: ReplacingFact, lines: Mapping[int, Sequence[VisibleSentence]]
) -> tuple[int, VisibleSentence] | None:
    """The turn and the visible line that state the replacement; None if there is none, or it was replaced itself."""
    words = frozenset(terms(end.text))
    matches = [
        (len(words.intersection(terms(line.text))), -turn, -line.place, turn, line)
        for turn in end.citations
        for line in lines.get(turn, ())
        if not line.ends and is_same_statement(line.text, end.text)
    ]
    return max(matches)[-2:] if matches else None


def as_paragraphs(lines: Sequence[StoredLine]) -> str:
    """A document's lines as a person reads them: a paragraph for what a speaker says, and one for each report."""
    paragraphs = []
    for (speaker, is_report), own in groupby(lines, key=lambda line: (line[0], bool(line[3]))):
        *texts, last = [line[1] for line in own]
        text = " ".join([*map(with_full_stop, texts), last])
        paragraphs.append(report_of(speaker, text) if is_report else f"{speaker}: {text}")
    return "\n".join(paragraphs)

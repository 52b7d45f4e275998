"""Retention: does a block still contain the answers? A deterministic score without a judge, for benchmarks.quality.

For questions whose gold answer occurs literally in the chats:

- **recall** is the share of the answer's content words that are anywhere in the block;
- **anchored**, the headline: the answer is split into parts at commas, semicolons and "and"; a part
  counts if all its words stand within 25 content words of each other together with a word of the
  question that is neither a speaker's name nor in the answer. The share of parts is multiplied by a
  factor for prose, 0 when fewer than 10 % of the block's words are function words, 1 from 20 % on;
- **temporal** is the anchored score of questions for dates that were said only relatively
  ("yesterday"): a memory that copies the word cannot score;
- **control** is the anchored score of the same block on the next project's questions: chance.

Blocks are cut to their budget before scoring. English only, as its word lists are.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from memorybank.language import tokens

from .wording import FUNCTION_WORDS, content_words

WINDOW_WORDS = 25
#: A capitalised word in more than this share of a project's questions is a speaker's name.
MIN_NAME_SHARE = 0.15
#: The category of questions for a date.
DATES_CATEGORY = 2

_SEPARATORS = re.compile(r"[,;\n]|\band\b|&")
_YEAR = re.compile(r"\s*(?:19|20)\d\d\.?\s*")
_CAPITALISED = re.compile(r"\b[A-Z][a-z]+")


@dataclass(frozen=True, slots=True)
class Question:
    """One line of a question file."""

    qid: str
    project: str
    question: str
    answer: str
    category: int = 0
    literal: bool = True
    evidence_chats: Sequence[str] = ()

    @property
    def dated(self) -> bool:
        """Whether its answer is a date that nobody said in so many words."""
        return self.category == DATES_CATEGORY and not self.literal and bool(content_words(self.answer))


@dataclass(frozen=True, slots=True)
class Scored:
    """A block to be scored: on all questions of its project, or on the one it was built for."""

    project: str
    budget: int
    block: str
    qid: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """Means over the questions of one budget; ``fill`` is the share of the budget used, ``over`` counts overruns."""

    anchored: float
    recall: float
    temporal: float
    control: float
    fill: float
    over: int
    questions: int


class Text:
    """A block as the metric reads it."""

    def __init__(self, text: str) -> None:
        self.words = content_words(text)
        self.positions: dict[str, list[int]] = defaultdict(list)
        for position, word in enumerate(self.words):
            self.positions[word].append(position)
        spoken = re.findall(r"[a-z]+", text.lower())
        share = sum(word in FUNCTION_WORDS for word in spoken) / max(1, len(spoken))
        self.prose = min(1.0, max(0.0, (share - 0.1) / 0.1))

    def recall(self, answer: frozenset[str]) -> float:
        """Share of the words of ``answer`` that occur."""
        return len(answer & self.positions.keys()) / len(answer)

    def holds(self, part: frozenset[str], anchors: frozenset[str]) -> bool:
        """Whether some window has all of ``part`` and, if there are any, one of ``anchors``."""
        if not part <= self.positions.keys():
            return False
        rarest = min(part, key=lambda word: len(self.positions[word]))
        starts = (s for p in self.positions[rarest] for s in range(max(0, p - WINDOW_WORDS + 1), p + 1))
        windows = (frozenset(self.words[start : start + WINDOW_WORDS]) for start in starts)
        return any(part <= window and (not anchors or anchors & window) for window in windows)

    def anchored(self, question: Question, names: frozenset[str]) -> float:
        """The anchored score on one question."""
        answer = frozenset(content_words(question.answer))
        if not self.recall(answer):
            return 0.0
        anchors = frozenset(content_words(question.question)) - answer - names
        parts = parts_of(question.answer)
        return self.prose * sum(self.holds(part, anchors) for part in parts) / len(parts)


def parts_of(answer: str) -> list[frozenset[str]]:
    """The parts of an answer; a year after a comma belongs to the part before."""
    pieces: list[str] = []
    for piece in _SEPARATORS.split(answer):
        if not content_words(piece):
            continue
        if pieces and _YEAR.fullmatch(piece):
            pieces[-1] += f" {piece}"
        else:
            pieces.append(piece)
    return [frozenset(content_words(piece)) for piece in pieces]


def speakers(questions: Sequence[Question]) -> frozenset[str]:
    """The names of a project's people, as the questions about it use them."""
    seen: Counter[str] = Counter()
    for question in questions:
        seen.update(set(content_words(" ".join(_CAPITALISED.findall(question.question)))))
    return frozenset(word for word, count in seen.items() if count > MIN_NAME_SHARE * len(questions))


def cut(text: str, budget: int) -> tuple[str, int, bool]:
    """The text within its budget, its tokens, and whether it had to be cut."""
    ids = tokens.encode(text)
    if len(ids) <= budget:
        return text, len(ids), False
    kept = tokens.encoding("o200k_base").decode(ids[:budget])
    return kept.rstrip("\ufffd"), budget, True


@dataclass(slots=True)
class Sheet:
    """Scores of one budget, as they come in."""

    anchored: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    temporal: list[float] = field(default_factory=list)
    control: list[float] = field(default_factory=list)
    used: list[int] = field(default_factory=list)
    over: int = 0

    def result(self, budget: int) -> Result:
        """The means; 0 where there was no question of a kind."""
        anchored, recall, temporal, control = (
            fmean(scores) if scores else 0.0 for scores in (self.anchored, self.recall, self.temporal, self.control)
        )
        return Result(anchored, recall, temporal, control, fmean(self.used) / budget, self.over, len(self.anchored))


class Examination:
    """A question file, ready to score blocks against."""

    def __init__(self, questions: Sequence[Question]) -> None:
        by_project: dict[str, list[Question]] = defaultdict(list)
        for question in questions:
            by_project[question.project].append(question)
        self.names = {project: speakers(asked) for project, asked in by_project.items()}
        self.literal = {p: [q for q in asked if q.literal] for p, asked in by_project.items()}
        self.dated = {p: [q for q in asked if q.dated] for p, asked in by_project.items()}
        self.examined = sorted(project for project, asked in self.literal.items() if asked)

    def score(self, blocks: Iterable[Scored]) -> dict[int, Result]:
        """The result for each budget, smallest first."""
        sheets: dict[int, Sheet] = defaultdict(Sheet)
        for block in blocks:
            self._mark(block, sheets[block.budget])
        return {budget: sheets[budget].result(budget) for budget in sorted(sheets)}

    def _mark(self, block: Scored, sheet: Sheet) -> None:
        kept, used, over = cut(block.block, block.budget)
        text, names = Text(kept), self.names.get(block.project, frozenset())
        sheet.used.append(used)
        sheet.over += over
        for question in self.literal.get(block.project, []):
            if block.qid in ("", question.qid):
                sheet.anchored.append(text.anchored(question, names))
                sheet.recall.append(text.recall(frozenset(content_words(question.answer))))
        if not block.qid:
            sheet.temporal += [text.anchored(question, names) for question in self.dated.get(block.project, [])]
            self._control(block.project, text, sheet)

    def _control(self, project: str, text: Text, sheet: Sheet) -> None:
        if project in self.examined and len(self.examined) > 1:
            other = self.examined[(self.examined.index(project) + 1) % len(self.examined)]
            sheet.control += [text.anchored(question, self.names[other]) for question in self.literal[other]]

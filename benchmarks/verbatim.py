"""Check that a fact says only what its source says, with code of its own; a part of ``benchmarks.fidelity``."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, islice

from .aligning import DATE, UNPLACED_INDEX, Word, laid, spoken
from .idle import (
    BESIDE,
    CONDITION,
    COUNTED,
    INSTEAD,
    INTENSIFIERS,
    JOINTS,
    NEGATION,
    PHRASES,
    RELATIVE,
    SOUNDS,
    TORN_AFTER,
    TORN_BEFORE,
)

_UNSAID = re.compile(
    r"\]\([^()\s]*\)|\[(?!redacted)\w{2,20}: [^\[\]]*\]|(?<!\w)[:;]-?[)(DPp](?!\w)|^\s*(?:[-*>]\s*)?\(?\d{1,2}[.)]\s",
    re.M,
)
_SENTENCE = re.compile(r"(?<=[.!?。！？…])[\s\"'”’)\]]*\s|(?<=[。！？])|\n")
_END, _STOP, _COMMA = (
    re.compile(r"[.!?。！？\n]"),
    re.compile(r"[.!?;:。！？；：\n–—]|\s-\s"),
    re.compile(r"[,，、.!?;:。！？；：\n–—()]|\s-\s|\.\."),
)
LONGEST = max(map(len, PHRASES))


def bare(source: str) -> str:
    """The source without what is not prose in it: addresses of links, pictures, smileys, numbers of a list."""
    return _UNSAID.sub(lambda match: " " * len(match[0]), source)


def violations(fact: str, said: str, before: str = "", names: frozenset[str] = frozenset()) -> list[str]:
    """What the fact says that its turn (``said``) does not; [] when nothing. ``before`` is the turn before."""
    text, _, old = fact.partition(" (before: ")
    problems = [] if not old or _holds(said, old.rstrip(")")) else ["unsaid value"]
    if text.startswith("(") and ") " in text:
        question, _, text = text[1:].partition(") ")
        problems += _least(question, (before, said), names)
    return problems + _least(text, (said,), names)


def _least(text: str, sources: Sequence[str], names: frozenset[str]) -> list[str]:
    """The violations against the piece of the sources that says most of the text."""
    best: list[str] = ["no source"]
    wanted = Counter(word.text for word in spoken(text))
    pieces = sorted(_pieces(sources), key=lambda piece: -(wanted & Counter(w.text for w in spoken(piece))).total())
    for piece in pieces[:4]:
        comparisons = list(_compared(text, piece, names))
        if not comparisons:
            return []
        best = comparisons if best == ["no source"] or len(comparisons) < len(best) else best
    return best


def _pieces(sources: Sequence[str]) -> Iterator[str]:
    """Each sentence, each with the next one and the one after, and each source as a whole."""
    for source in sources:
        sentences = [sentence for sentence in _SENTENCE.split(bare(source)) if sentence and sentence.strip()]
        for count in (1, 2, 3):
            yield from ("\n".join(sentences[at : at + count]) for at in range(len(sentences) - count + 1))
        if len(source) < 5_000:
            yield "\n".join(sentences)


def _holds(source: str, value: str) -> bool:
    return " ".join(w.text for w in spoken(value)) in " ".join(w.text for w in spoken(source))


def _compared(text: str, piece: str, names: frozenset[str]) -> Iterator[str]:
    """Compare word for word what is said in the fact and in the piece."""
    ours, theirs = [word.text for word in spoken(_undated(text, piece))], spoken(piece)
    places = laid([word.text for word in theirs], ours)
    if not places:
        yield "unsaid word" if {*ours} & {word.text for word in theirs} else "no source"
        return
    kept = [place for place in places if place != UNPLACED_INDEX] or [len(theirs) - 1]
    alignment, at, dated = Alignment(text, piece, theirs, names, kept[0], kept[-1]), 0, False
    for place in [*places, len(theirs)]:
        if place == UNPLACED_INDEX:
            dated = True
            continue
        yield from (alignment.dated if dated else alignment.left_out)(at, place)
        at, dated = place + 1, False


def _undated(text: str, piece: str) -> str:
    """The text with a mark for each date that the piece does not have."""
    low = piece.casefold()
    text = BESIDE.sub(lambda match: match[0] if match[0].strip(" ()（）").casefold() in low else " ", text)
    return INSTEAD.sub(lambda match: match[0] if match[0].casefold() in low else f" {DATE} ", text)


@dataclass(frozen=True, slots=True)
class Alignment:
    """A fact laid over the piece of its source; ``first`` and ``last`` are the first and last word that it keeps."""

    text: str
    piece: str
    theirs: Sequence[Word]
    names: frozenset[str]
    first: int
    last: int

    def dated(self, a: int, b: int) -> Iterator[str]:
        """A date stands for exactly one phrase, and for the whole of it; what else is left out there is judged, too."""
        numbers = [number for number in range(a, b) if self.theirs[number].text not in SOUNDS]
        for begin in range(len(numbers)):
            for end in range(len(numbers), begin, -1):
                phrase = " ".join(self.theirs[number].text for number in numbers[begin:end])
                if RELATIVE.fullmatch(phrase):
                    yield from self._entire(numbers[begin], numbers[end - 1], phrase)
                    yield from self.left_out(a, numbers[begin] - (self.theirs[numbers[begin] - 1].text in ("on", "in")))
                    yield from self.left_out(numbers[end - 1] + 1, b)
                    return
        yield "date for no phrase"

    def _entire(self, start: int, end: int, phrase: str) -> Iterator[str]:
        before = self.theirs[start - 1].text if start else ""
        after = self.piece[self.theirs[end].end :].lstrip()
        if TORN_AFTER.match(after) or (before in TORN_BEFORE and COUNTED.fullmatch(phrase)):
            yield "date for part of a phrase"

    def left_out(self, a: int, b: int) -> Iterator[str]:
        """Words that are not in the fact: before it, behind it, or inside."""
        if a >= b:
            return
        if b <= self.first:
            yield from self._before(a, b)
        elif a > self.last:
            yield from self._behind(a, b)
        elif not self._sentences(a, b):
            yield from self._inside(a, b)

    def _before(self, a: int, b: int) -> Iterator[str]:
        """A fact begins where a clause begins, behind greetings and fillers, or shows that something stood before."""
        if self.text.startswith("…"):
            return
        run = [n for n in range(a, b) if not self._parted(_COMMA, n, b)]
        if run and not self._idle(run[0], b):
            yield "begins inside a clause"
        if any(self._denied(n) for n in run):
            yield "left out under negation"
        own = [n for n in range(a, b) if not self._parted(_END, n, b)]
        if any(self._conditional(n) for n in own) and not self._idle(own[0], b):
            yield "condition cut off"

    def _behind(self, a: int, b: int) -> Iterator[str]:
        """A fact ends where a clause ends, or shows that it goes on."""
        own = [n for n in range(a, b) if not self._parted(_END, a - 1, n)]
        if not own or self.text.rstrip().endswith("…") or self._idle(a, own[-1] + 1):
            return
        if not self._parted(_COMMA, a - 1, a) and not self._joined(a):
            yield "ends inside a clause"
        if any(self._conditional(n) for n in own):
            yield "condition cut off"
        if len(own) < 7 and any(NEGATION.fullmatch(self.theirs[n].text) for n in own):
            yield "negation cut off"

    def _inside(self, a: int, b: int) -> Iterator[str]:
        """Inside a fact only what says nothing is left out, and nothing where something is denied."""
        if not self._idle(a, b) and self.theirs[a - 1].text == self.theirs[b - 1].text:
            a, b = a - 1, b - 1  # of "you know, you" the other "you" is the one that stays
        if not self._idle(a, b):
            yield "left out"
        elif any(self._denied(n) for n in range(a, b)):
            yield "left out under negation"

    def _parted(self, marks: re.Pattern[str], one: int, other: int) -> bool:
        """Whether such a mark stands between two words."""
        end = self.theirs[other].start if other < len(self.theirs) else len(self.piece)
        return marks.search(self.piece, self.theirs[one].end, end) is not None

    def _sentences(self, a: int, b: int) -> bool:
        """Whether what is left out is one sentence or several."""
        return (a == 0 or self._parted(_END, a - 1, a)) and (b == len(self.theirs) or self._parted(_END, b - 1, b))

    def _idle(self, a: int, b: int) -> bool:
        """Whether these words are nothing but phrases that say nothing, and words that are said again at once."""
        while a < b:
            if not (step := self._says_nothing(a, b)):
                return False
            a += step
        return True

    def _says_nothing(self, a: int, b: int) -> int:
        """How many words from here, before the other, say nothing."""
        for end in range(min(b, a + LONGEST), a, -1):
            if tuple(word.text for word in self.theirs[a:end]) in PHRASES:
                return end - a
        word = self.theirs[a].text
        called = word in self.names or (len(word) > 2 and any(name.startswith(word) for name in self.names))
        return int(called or word in SOUNDS or word in INTENSIFIERS or self._again(a, b))

    def _joined(self, n: int) -> bool:
        """Whether behind sounds, from here, another clause is joined: "uh, but"."""
        rest = dropwhile(lambda at: self.theirs[at].text in SOUNDS, range(n, len(self.theirs)))
        at = next(rest, n)
        return self.theirs[at].text in JOINTS and self._parted(_COMMA, at - 1, at)

    def _again(self, n: int, until: int) -> bool:
        """Whether the word is said again before or soon behind this place, or just before; or is one that is begun."""
        word = self.theirs[n].text
        last, following = (
            self._words(range(n - 1, -1, -1), 3),
            self._words(range(n + 1, len(self.theirs)), until - n + 2),
        )
        repeats = any(other == word or other.startswith(f"{word}'") for other in (*last, *following))
        return repeats or (bool(following) and following[0].startswith(word))

    def _words(self, places: Iterable[int], most: int) -> list[str]:
        """The first words there that are no sounds."""
        spoken_words = (self.theirs[n].text for n in places)
        return list(islice((word for word in spoken_words if word not in SOUNDS), most))

    def _conditional(self, n: int) -> bool:
        """Whether a clause begins with it that is a condition."""
        before = self.piece[: self.theirs[n].start].rstrip()
        return CONDITION.fullmatch(self.theirs[n].text) is not None and (not before or before[-1] in ",，、.!?。\n")

    def _denied(self, n: int) -> bool:
        """Whether the fact denies something where the word stood: between commas for a sound, else in its sentence."""
        word = self.theirs[n]
        marks = _STOP if word.text in INTENSIFIERS and not self._again(n, n + 1) else _COMMA
        start = max((mark.end() for mark in marks.finditer(self.piece, 0, word.start)), default=0)
        end = marks.search(self.piece, word.end)
        until = min(end.start() if end else len(self.piece), self.theirs[self.last].end)
        return (
            NEGATION.search(self.piece, max(start, min(word.start, self.theirs[self.first].start)), until) is not None
        )

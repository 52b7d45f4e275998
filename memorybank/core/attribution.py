"""Find the lines of memory that an answer uses, by the words that they share; no model is called."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from memorybank.language.sentences.splitting import sentence_ends
from memorybank.language.terms import terms

#: The minimums of shared content words for a citation, of those that are not numbers, and of their share of the
#: sentence's content words that the rest of the prompt lacks.
MIN_SHARED_TERMS, MIN_SHARED_WORDS, MIN_SHARE_OF_SENTENCE = 3, 2, 0.3
#: Two shared words are enough if they are at least this share of those content words.
LARGE_SHARE_OF_SENTENCE = 0.75
#: One of the shared words must be rare: it occurs in at most this many lines.
MAX_LINES_WITH_RARE_TERM = 3
MAX_LINES_CITED_BY_SENTENCE = 2
_FENCE = re.compile(r"\s*(```|~~~)")
_TABLE_ROW = re.compile(r"\s*\|")


class SentenceCitation(NamedTuple):
    """A sentence of the answer ends at ``offset`` (after marks such as ``**``), and uses the line number ``line``."""

    offset: int
    line: int


def citations(answer: str, lines: Sequence[str], *, elsewhere: Set[str]) -> list[SentenceCitation]:
    """The lines that each sentence of ``answer`` uses, in the order of the answer.

    A sentence uses a line if both share several content words that occur nowhere else in the prompt (``elsewhere`` has
    the terms of the rest): the model can have them from memory only. Of several such lines the sentence cites the one
    that shares the rarest words, and another only for words that the first one lacks. Code and tables are skipped.
    """
    words = [_telling(line) - elsewhere for line in lines]
    frequency = Counter(word for line in words for word in line)
    cited = []
    for sentence, offset in _sentences(answer):
        said = _telling(sentence) - elsewhere
        cited += [SentenceCitation(offset, line) for line in sorted(_used(said, words, frequency))]
    return cited


def _telling(text: str) -> frozenset[str]:
    """The content words, without single digits and the zeros of thousands."""
    return frozenset(word for word in terms(text) if len(word) > 1 and word.strip("0"))


def _used(said: Set[str], lines: Sequence[Set[str]], frequency: Counter[str]) -> Iterator[int]:
    left = set(said)
    for _ in range(MAX_LINES_CITED_BY_SENTENCE):
        shared = {number: line & left for number, line in enumerate(lines) if _is_proof(line & left, said, frequency)}
        if not shared:
            return
        best = max(shared, key=lambda number: (sum(1 / frequency[word] for word in shared[number]), -number))
        left -= shared[best]
        yield best


def _is_proof(shared: Set[str], said: Set[str], frequency: Counter[str]) -> bool:
    """Whether the shared words prove a use. Numbers alone do not: two texts have the same ones by chance."""
    written = sum(not any(character.isdigit() for character in word) for word in shared)
    enough = len(shared) >= MIN_SHARED_TERMS and written >= MIN_SHARED_WORDS
    nearly_all = len(shared) >= 2 and written >= 1 and len(shared) >= LARGE_SHARE_OF_SENTENCE * len(said)
    return (
        (enough or nearly_all)
        and len(shared) >= MIN_SHARE_OF_SENTENCE * len(said)
        and any(frequency[word] <= MAX_LINES_WITH_RARE_TERM for word in shared)
    )


def _sentences(answer: str) -> Iterator[tuple[str, int]]:
    """The sentences of an answer's Markdown outside of code and tables, each with the offset where its mark can stand.

    A mark stands before white space, and not within a link or code.
    """
    start, fenced = 0, False
    for line in answer.splitlines(keepends=True):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and not _TABLE_ROW.match(line):
            for sentence, end in _sentences_of(line.rstrip()):
                yield sentence, start + end
        start += len(line)


def _sentences_of(line: str) -> Iterator[tuple[str, int]]:
    begin = 0
    for end in (*sentence_ends(line), len(line)):
        gap = re.compile(r"\s|$").search(line, end)
        end = gap.start() if gap else len(line)
        before = line[:end]
        is_open = before.count("[") != before.count("]") or before.count("`") % 2
        if end > begin and not is_open:
            yield line[begin:end], end
            begin = end

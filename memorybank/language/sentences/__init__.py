"""Split messages into clean single-line sentences, in any language."""

from collections.abc import Collection, Sequence

from memorybank.language import is_cjk, plain
from memorybank.language.sentences.cleaning import tidy
from memorybank.language.sentences.prose_lines import prose
from memorybank.language.sentences.splitting import (
    clauses,
    cut_at,
    fact_sized,
    has_content,
    sentence_ends,
    with_full_stop,
)
from memorybank.language.work_cache import once_per_work

__all__ = ["has_content", "joined", "names_in", "readable", "sentences", "tidy", "with_full_stop"]

# Of a longer message only the beginning and the end are read, so that the work stays bounded.
MAX_CHARACTERS_READ = 200_000


def readable(text: str) -> str:
    """The text to read: the whole message, or both ends of a very long one, without hidden characters."""
    if len(text) > MAX_CHARACTERS_READ:
        text = f"{text[: MAX_CHARACTERS_READ // 2]}\n{text[-MAX_CHARACTERS_READ // 2 :]}"
    return plain(text)


@once_per_work
def sentences(text: str) -> Sequence[str]:
    """The prose sentences of one message, each on one line, in order."""
    return [
        short
        for line in prose(readable(text))
        for sentence in cut_at(line, sentence_ends(line))
        for clause in clauses(sentence)
        for short in fact_sized(clause)
    ]


def joined(first: str, second: str) -> str:
    first = with_full_stop(first)
    return first + second if is_cjk(first[-2:-1]) else f"{first} {second}"


def names_in(speakers: Collection[str]) -> frozenset[str]:
    """The names by which people of a chat address each other: full and first names, case-folded."""
    names = {speaker.casefold() for speaker in speakers}
    names |= {speaker.split()[0].casefold() for speaker in speakers if speaker.split()}
    return frozenset(name for name in names if len(name) > 1 and name != "assistant")

"""Find where sentences end, and where long ones can be cut in two meaningful parts."""

import re
from collections.abc import Iterable, Iterator

from memorybank.language import Pack, alternation, collect, is_cjk, packs, whole_words
from memorybank.language.sentences.negation import denies
from memorybank.language.terms import informative_words, terms, word_count

#: A clause is cut off if it has at least this many content words, and the sentence at least this many words.
MIN_CLAUSE_TERMS, MIN_WORDS_TO_CUT = 4, 20
MAX_FACT_WORDS, MAX_FACT_CHARACTERS = 45, 400

SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s|$)|[。！？｡]+[」』”’）]*|[।؟۔](?=\s|$)")
ABBREVIATIONS = frozenset(collect(lambda pack: pack.words.abbreviations))


def clause_comma(pack: Pack) -> str:
    """A pattern for the comma of a language before a word that begins an independent clause."""
    words, (mark,) = pack.clauses, pack.clauses.comma
    if not pack.spaced:
        return rf"{mark}(?={alternation(words.opening)})"
    before = rf"|(?:{alternation(words.before_subject)}) (?:{alternation(words.subjects)})\b" if words.subjects else ""
    return rf"{mark}\s+(?=(?:{alternation(words.opening)}) {before})"


# A dash or semicolon in any language, or such a comma.
CLAUSE_START = re.compile("|".join([r"[;；]\s*", r"\s[–—-]+\s", *map(clause_comma, packs())]), re.IGNORECASE)
DROPPED_WORDS, CJK_DROPPED_WORDS = (
    alternation(collect(lambda pack: pack.clauses.dropped, spaced=spaced)) for spaced in (True, False)
)
CONJUNCTION = re.compile(rf"^(?:(?:{DROPPED_WORDS})\s+|(?:{CJK_DROPPED_WORDS}))", re.IGNORECASE)
#: A clause with this beginning holds for the whole sentence.
CONDITION = re.compile(rf"(?:^|[,，、]\s*)(?:{whole_words(lambda pack: pack.clauses.conditions)})", re.IGNORECASE)
COMMA = re.compile(r"[,，、;；]\s*")
#: What may stand between a sentence's last word and its full stop.
_CLOSING_MARKS = "\"'”’»)]」』）"


def sentence_ends(line: str) -> Iterator[int]:
    """Offsets where sentences end; not after an abbreviation, an initial or a German ordinal."""
    for match in SENTENCE_END.finditer(line):
        if match[0].strip(".…") or ends_sentence(line, match.start(), match.end()):
            yield match.end()


def ends_sentence(line: str, start: int, end: int) -> bool:
    """Whether the full stop between these offsets ends a sentence."""
    after = line[end : end + 2].strip()
    if after and after[0].islower():
        return False
    before = line[max(0, start - 12) : start].split()
    last = before[-1].lower().lstrip("([\"'„“") if before else ""
    short = (last.isalpha() and len(last) == 1) or (last.isdecimal() and len(last) < 3)
    return not short and last not in ABBREVIATIONS


def clauses(sentence: str) -> Iterator[str]:
    """The independent clauses of a sentence; the whole sentence if one clause is a condition."""
    if word_count(sentence) < MIN_WORDS_TO_CUT or CONDITION.search(sentence):
        yield sentence
        return
    piece = ""
    for clause in cut(sentence, CLAUSE_START):
        if piece and has_enough_terms(clause) and has_enough_terms(piece):  # shorter one first, else time is quadratic
            yield without_joining_marks(piece)
            piece = clause if denies(clause) else CONJUNCTION.sub("", clause, count=1)
        else:
            piece += clause
    yield without_joining_marks(piece)


def cut(text: str, marks: re.Pattern[str]) -> Iterator[str]:
    """The pieces of the text, each with the mark that ends it."""
    start = 0
    for match in marks.finditer(text):
        yield text[start : match.end()]
        start = match.end()
    yield text[start:]


def has_enough_terms(clause: str) -> bool:
    """Whether the clause has enough content words to be a fact."""
    return len(terms(clause)) >= MIN_CLAUSE_TERMS


def has_content(clause: str) -> bool:
    """Whether the clause has a word other than praise and small talk."""
    return bool(informative_words(clause))


def without_joining_marks(clause: str) -> str:
    """The clause without the marks that joined it to the next one."""
    return clause.strip(" ,;，；、–—-")


def with_full_stop(text: str) -> str:
    """The text with a full stop if it ends in a letter or digit, perhaps followed by brackets or quotation marks."""
    last = text.rstrip(_CLOSING_MARKS)[-1:]
    if not last.isalnum():
        return text
    return text + ("。" if is_cjk(last) else ".")


def fact_sized(sentence: str) -> Iterator[str]:
    """Pieces short enough for facts: cut at commas, or between words if there is none; "…" marks a cut."""
    if word_count(sentence) <= MAX_FACT_WORDS and len(sentence) <= MAX_FACT_CHARACTERS:
        yield sentence
        return
    piece = ""
    for breath in cut(sentence, COMMA):
        for part in fact_sized_runs(breath):
            if piece and (word_count(piece + part) > MAX_FACT_WORDS or len(piece + part) > MAX_FACT_CHARACTERS):
                yield f"{without_joining_marks(piece)}…"
                piece = "…"
            piece += part
    if without_joining_marks(piece):
        yield without_joining_marks(piece)


def fact_sized_runs(text: str) -> Iterator[str]:
    """Runs of at most MAX_FACT_WORDS words and MAX_FACT_CHARACTERS characters."""
    words = text.split(" ")
    for first in range(0, len(words), MAX_FACT_WORDS):
        run = " ".join(words[first : first + MAX_FACT_WORDS]) + (" " if first + MAX_FACT_WORDS < len(words) else "")
        for start in range(0, len(run), MAX_FACT_CHARACTERS):
            yield run[start : start + MAX_FACT_CHARACTERS]


def cut_at(line: str, ends: Iterable[int]) -> Iterator[str]:
    """The non-empty pieces of the line between these offsets."""
    start = 0
    for end in [*ends, len(line)]:
        piece = " ".join(line[start:end].split())
        start = end
        if piece:
            yield piece

"""Find where sentences end, and where long ones can be cut in two meaningful parts."""

import re
from collections.abc import Iterable, Iterator

from memorybank.language import Pack, either, every, is_cjk, packs, whole
from memorybank.language.sentences.negation import denies
from memorybank.language.terms import length, telling, terms

# An independent clause has at least this many content words; only longer sentences are cut; and limits of a fact.
LEAST_TERMS, CUT_FROM, MOST_WORDS, MOST_CHARACTERS = 4, 20, 45, 400

END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s|$)|[。！？｡]+[」』”’）]*|[।؟۔](?=\s|$)")
ABBREVIATIONS = frozenset(every(lambda pack: pack.words.abbreviations))


def comma(pack: Pack) -> str:
    """A pattern for the comma of a language before a word that begins an independent clause."""
    words, (mark,) = pack.clauses, pack.clauses.comma
    if not pack.spaced:
        return rf"{mark}(?={either(words.opening)})"
    before = rf"|(?:{either(words.before_subject)}) (?:{either(words.subjects)})\b" if words.subjects else ""
    return rf"{mark}\s+(?=(?:{either(words.opening)}) {before})"


# A dash or semicolon in any language, or such a comma.
CLAUSE = re.compile("|".join([r"[;；]\s*", r"\s[–—-]+\s", *map(comma, packs())]), re.IGNORECASE)
DROPPED, CJK_DROPPED = (either(every(lambda pack: pack.clauses.dropped, spaced=spaced)) for spaced in (True, False))
CONJUNCTION = re.compile(rf"^(?:(?:{DROPPED})\s+|(?:{CJK_DROPPED}))", re.IGNORECASE)
#: A clause with this beginning holds for the whole sentence.
CONDITION = re.compile(rf"(?:^|[,，、]\s*)(?:{whole(lambda pack: pack.clauses.conditions)})", re.IGNORECASE)
BREATH = re.compile(r"[,，、;；]\s*")


def sentence_ends(line: str) -> Iterator[int]:
    """Offsets where sentences end; not after an abbreviation, an initial or a German ordinal."""
    for match in END.finditer(line):
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
    if length(sentence) < CUT_FROM or CONDITION.search(sentence):
        yield sentence
        return
    piece = ""
    for clause in cut(sentence, CLAUSE):
        if piece and is_weighty(clause) and is_weighty(piece):  # shorter one first, else time is quadratic
            yield finished(piece)
            piece = clause if denies(clause) else CONJUNCTION.sub("", clause, count=1)
        else:
            piece += clause
    yield finished(piece)


def cut(text: str, marks: re.Pattern[str]) -> Iterator[str]:
    """The pieces of the text, each with the mark that ends it."""
    start = 0
    for match in marks.finditer(text):
        yield text[start : match.end()]
        start = match.end()
    yield text[start:]


def is_weighty(clause: str) -> bool:
    """Whether the clause has enough content words to be a fact."""
    return len(terms(clause)) >= LEAST_TERMS


def has_content(clause: str) -> bool:
    """Whether the clause has a word other than praise and small talk."""
    return bool(telling(clause))


def finished(clause: str) -> str:
    """The clause without the marks that joined it to the next one."""
    return clause.strip(" ,;，；、–—-")


def ended(text: str) -> str:
    """The text with a full stop if it ends in a letter or digit."""
    if not text or not text[-1].isalnum():
        return text
    return text + ("。" if is_cjk(text[-1]) else ".")


def bounded(sentence: str) -> Iterator[str]:
    """Pieces short enough for facts: cut at commas, or between words if there is none; "…" marks a cut."""
    if length(sentence) <= MOST_WORDS and len(sentence) <= MOST_CHARACTERS:
        yield sentence
        return
    piece = ""
    for breath in cut(sentence, BREATH):
        for part in chopped(breath):
            if piece and (length(piece + part) > MOST_WORDS or len(piece + part) > MOST_CHARACTERS):
                yield f"{finished(piece)}…"
                piece = "…"
            piece += part
    if finished(piece):
        yield finished(piece)


def chopped(text: str) -> Iterator[str]:
    """Runs of at most MAX_FACT_WORDS words and MAX_FACT_CHARACTERS characters."""
    words = text.split(" ")
    for first in range(0, len(words), MOST_WORDS):
        run = " ".join(words[first : first + MOST_WORDS]) + (" " if first + MOST_WORDS < len(words) else "")
        for start in range(0, len(run), MOST_CHARACTERS):
            yield run[start : start + MOST_CHARACTERS]


def cut_at(line: str, ends: Iterable[int]) -> Iterator[str]:
    """The non-empty pieces of the line between these offsets."""
    start = 0
    for end in [*ends, len(line)]:
        piece = " ".join(line[start:end].split())
        start = end
        if piece:
            yield piece

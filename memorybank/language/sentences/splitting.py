"""Where a sentence ends, and where a long one can be cut in two that both say something."""

import re
from collections.abc import Iterable, Iterator

from memorybank.language import Pack, either, every, is_cjk, packs, whole
from memorybank.language.sentences.negation import denies
from memorybank.language.terms import length, telling, terms

# A clause of its own has this many content words; a fact has at most so many words.
LEAST_TERMS, CUT_FROM, MOST_WORDS, MOST_CHARACTERS = 4, 20, 45, 400

END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s|$)|[。！？｡]+[」』”’）]*|[।؟۔](?=\s|$)")
ABBREVIATIONS = frozenset(every(lambda pack: pack.words.abbreviations))


def comma(pack: Pack) -> str:
    """The comma of a language, where a word follows that begins a clause of its own."""
    words, (mark,) = pack.clauses, pack.clauses.comma
    if not pack.spaced:
        return rf"{mark}(?={either(words.opening)})"
    before = rf"|(?:{either(words.before_subject)}) (?:{either(words.subjects)})\b" if words.subjects else ""
    return rf"{mark}\s+(?=(?:{either(words.opening)}) {before})"


# A dash or semicolon in any language.
CLAUSE = re.compile("|".join([r"[;；]\s*", r"\s[–—-]+\s", *map(comma, packs())]), re.IGNORECASE)
DROPPED, CJK_DROPPED = (either(every(lambda pack: pack.clauses.dropped, spaced=spaced)) for spaced in (True, False))
CONJUNCTION = re.compile(rf"^(?:(?:{DROPPED})\s+|(?:{CJK_DROPPED}))", re.IGNORECASE)
#: A clause that begins so holds for all of its sentence.
CONDITION = re.compile(rf"(?:^|[,，、]\s*)(?:{whole(lambda pack: pack.clauses.conditions)})", re.IGNORECASE)
BREATH = re.compile(r"[,，、;；]\s*")


def sentence_ends(line: str) -> Iterator[int]:
    """Where sentences end. No dot does behind an abbreviation, an initial or a German ordinal, or inside a sentence."""
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
    """The clauses of a sentence that can stand alone; all of it where one is the condition of another."""
    if length(sentence) < CUT_FROM or CONDITION.search(sentence):
        yield sentence
        return
    piece = ""
    for clause in cut(sentence, CLAUSE):
        if piece and is_weighty(clause) and is_weighty(piece):  # the shorter first: else time grows as its square
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
    """Enough content words to be a fact of its own."""
    return len(terms(clause)) >= LEAST_TERMS


def has_content(clause: str) -> bool:
    """Whether anything but praise and small talk is in it."""
    return bool(telling(clause))


def finished(clause: str) -> str:
    """Without the marks that joined it to the next."""
    return clause.strip(" ,;，；、–—-")


def ended(text: str) -> str:
    """The text with a full stop, if it ends in a letter or digit."""
    if not text or not text[-1].isalnum():
        return text
    return text + ("。" if is_cjk(text[-1]) else ".")


def bounded(sentence: str) -> Iterator[str]:
    """Pieces short enough to be facts: cut at commas, and between words where speech has none; "…" marks a cut."""
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
    """Runs of at most MOST_WORDS words and MOST_CHARACTERS characters."""
    spoken = text.split(" ")
    for at in range(0, len(spoken), MOST_WORDS):
        run = " ".join(spoken[at : at + MOST_WORDS]) + (" " if at + MOST_WORDS < len(spoken) else "")
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

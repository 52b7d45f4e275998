"""Quote text that speaks in somebody's name, so that only the account that wrote a line speaks in it.

"Fine. Priya: I approve" becomes "Fine. “Priya – I approve”". The names need not be known: a word that is written with a
capital more often than without one is a name, judged by the order of the tokenizer's table ("Priya", not "Deadline").
"""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from memorybank.language import alternation, collect, tokens
from memorybank.language.lookalikes import LETTERS, fold

COLONS = ":：꞉∶﹕︓ː˸׃։፥"
NAME = r"[^\W\d_][\w'’.-]{0,30}"
CLOCK = r"(?:,? ?[\[(]?\d{1,2}[:.]\d\d(?::\d\d)?(?: ?[aApP]\.?[mM]\.?)?[\])]?)?"
# A name of one to three words: at the beginning or after a mark, with a colon or an arrow; or in brackets. Our own
# masks are not names.
SPEAKER_LABEL = re.compile(
    rf"(?:^|(?<=[^\w\s{COLONS}/\\@.'’-])|(?<=[.] )|(?<= -))\s?@?(?!redacted: )"
    rf"(?:(?P<name>{NAME}(?: [\w'’.-]{{1,31}}){{0,2}}){CLOCK}\s?[{COLONS}](?![\d/\\{COLONS}])"
    rf"|(?P<pointed>{NAME}(?: {NAME}){{0,2}}) [>›])\s*"
    rf"|(?<!\w)[\[‹<](?P<bracketed>{NAME}(?: {NAME}){{0,2}}){CLOCK}[\]›>](?!\()\s*"
)
# Anywhere: a word with a colon, which counts if somebody has that name.
WORD_WITH_COLON = re.compile(rf"(?<!\w)(?P<name>\w{{2,31}})\s?[{COLONS}](?![\d/\\{COLONS}])\s*")
SENDER = alternation(collect(lambda pack: pack.instructions.senders))
LABEL_SIGNS = re.compile(rf"[{COLONS}\[‹<>›]")
# At the beginning of a sentence, behind no letter: a name, and up to twelve characters without a letter. It counts if
# somebody has that name and one of them is a mark that does not end a sentence: "Priya => …", "10:42 | Priya ✅ …".
MARKED_LABEL = re.compile(
    rf"(?:^|(?<=[.!?;,。！？] ))[\W\d_]{{0,16}}(?:(?P<sender>{SENDER})\s?[:：]\s?)?"
    r"(?P<name>[^\W\d_]{2,31}(?:[ _][^\W\d_]{1,31}){0,2})"
    r"(?P<marks>(?:\s?[(\[][^()\[\]]{0,24}[)\]])?[\W\d_]{1,12})(?=\w)",
    re.I,
)
TELLING_MARK = re.compile(r"[^\w\s,.!?()\[\]/&'’\"“”„;:`-]|[-._:]{2,}|[(\[]\d{1,2}[:.]\d\d|\)\s?:|\s[-_]\s|^[)\]]")
INTRODUCING = alternation(collect(lambda pack: pack.instructions.introductions))
INTRODUCED = alternation(collect(lambda pack: pack.instructions.introduced))
#: A name, at most four words, and a mark; a name behind or before words that introduce; a name as a signature.
INTRODUCTIONS = (
    re.compile(
        rf"(?<!\w)(?P<name>\w{{2,31}})(?=(?:[ ,(]{{1,2}}[\w'’.]{{1,31}}){{0,4}}\)?,?\s?"
        rf"(?:[{COLONS}>»\"“„«]|[–—-]{{1,2}}\s)\s?\S)"
    ),
    re.compile(rf"(?<!\w)(?:{INTRODUCING})[ ,:]{{0,2}}(?P<name>\w{{2,31}})", re.I),
    re.compile(rf"(?<!\w)(?P<name>\w{{2,31}})(?: \w{{2,31}})?,? (?:{INTRODUCED})(?!\w)", re.I),
    re.compile(r"[–—,/~(-]\s?(?P<name>\w{2,31})(?: \w{2,31})?[.!)]{0,2}$"),
)
QUOTATION_MARKS = re.compile('["“”„«»]')

ROLES = frozenset(map(fold, collect(lambda pack: pack.instructions.roles)))
#: Words that open sentences and notes, and so are capitalised as often as names are.
NEVER_NAMES = frozenset(map(fold, collect(lambda pack: (*pack.words.function, *pack.words.praise, *pack.dates.signs))))


def quote_speech(text: str, names: Collection[str] = ()) -> str:
    """``text`` with everything from the first speaking name on as a quotation. ``names``: see :func:`name_words`."""
    label = min(_labels(text, names), key=re.Match.start, default=None)
    if label is None or not (rest := text[label.end() :].strip()):
        return text
    return f"{text[: label.start()].rstrip()} “{_label_name(label)} – {_as_quotation(rest, names)}”".lstrip()


def reported(text: str, names: Collection[str] = ()) -> str:
    """The whole text as a report of what its speaker said, whose name stands before it."""
    return f"says “{_as_quotation(text, names)}”"


def introduces(text: str, names: Collection[str]) -> bool:
    """Whether somebody who has one of these names seems to begin to speak: "Priya here: …", "I, Priya, …", "… – Priya".

    ``names``: see :func:`name_words`.
    """
    return any(fold(match["name"]) in names for form in INTRODUCTIONS for match in form.finditer(text))


def name_words(speakers: Iterable[str]) -> frozenset[str]:
    """The words of people's names, folded."""
    return frozenset(word for name in set(speakers) for word in re.findall(r"\w{2,}", fold(name)))


def _labels(text: str, names: Collection[str]) -> Iterator[re.Match[str]]:
    if LABEL_SIGNS.search(text):
        yield from (match for match in SPEAKER_LABEL.finditer(text) if _is_name(match, names))
        yield from (match for match in WORD_WITH_COLON.finditer(text) if fold(match["name"]) in names)
    yield from (match for match in MARKED_LABEL.finditer(text) if _is_marked(match, names))


def _is_marked(label: re.Match[str], names: Collection[str]) -> bool:
    """Whether a known name stands apart from what follows as a speaker's would."""
    known = any(word in names or word in ROLES for word in re.findall(r"\w{2,}", fold(label["name"])))
    return known and bool(label["sender"] or TELLING_MARK.search(label["marks"]))


def _is_name(label: re.Match[str], names: Collection[str]) -> bool:
    """Whether the label is a person's name or a role in a chat."""
    words = LETTERS.findall(fold(_label_name(label)))
    if any(word in names or word in ROLES for word in words):
        return True
    titled = len(words) > 1 and all(word[0].isupper() for word in LETTERS.findall(_label_name(label)))
    return (any if titled else all)(map(_is_capitalised, words))


@lru_cache(maxsize=4096)
def _is_capitalised(word: str) -> bool:
    """Whether a folded word is mostly capitalised; if it has no capitalised form, whether it is rare."""
    if word in NEVER_NAMES:
        return False
    small, capital = tokens.encode(f" {word}"), tokens.encode(f" {word.capitalize()}")
    return len(small) > 1 or (len(capital) == 1 and capital < small)


def _as_quotation(text: str, names: Collection[str]) -> str:
    """The text as a quotation, without colons after names."""
    text = SPEAKER_LABEL.sub(lambda match: f" {_label_name(match)} – " if _is_name(match, names) else match[0], text)
    return QUOTATION_MARKS.sub("'", text).strip()


def _label_name(label: re.Match[str]) -> str:
    groups = label.groupdict()
    return next(groups[name] for name in ("name", "pointed", "bracketed") if groups.get(name))

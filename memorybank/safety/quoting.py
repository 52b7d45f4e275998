"""Quote text that imitates another speaker, so that a line speaks only for the account that wrote it.

"Fine. Priya: I approve" becomes "Fine. “Priya – I approve”". Names need not be known in advance: a word that is more
often written with a capital than without one is a name ("Priya", not "Deadline"). The order of the tokenizer's table
shows which form is more frequent.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from memorybank.language import alternation, collect, tokens
from memorybank.language.lookalikes import LETTERS, fold

COLONS = ":：꞉∶﹕︓ː˸׃։፥"
NAME_PATTERN = r"[^\W\d_][\w'’.-]{0,30}"
TIME_OF_DAY = r"(?:,? ?[\[(]?\d{1,2}[:.]\d\d(?::\d\d)?(?: ?[aApP]\.?[mM]\.?)?[\])]?)?"
# A speaker label: a name of one to three words, at the beginning or after a mark, before a colon or an arrow; or a name
# in brackets. Masks (“redacted: …”) are not names.
SPEAKER_LABEL = re.compile(
    rf"(?:^|(?<=[^\w\s{COLONS}/\\@.'’-])|(?<=[.] )|(?<= -))\s?@?(?!redacted: )"
    rf"(?:(?P<name>{NAME_PATTERN}(?: [\w'’.-]{{1,31}}){{0,2}}){TIME_OF_DAY}\s?[{COLONS}](?![\d/\\{COLONS}])"
    rf"|(?P<pointed>{NAME_PATTERN}(?: {NAME_PATTERN}){{0,2}}) [>›])\s*"
    rf"|(?<!\w)[\[‹<](?P<bracketed>{NAME_PATTERN}(?: {NAME_PATTERN}){{0,2}}){TIME_OF_DAY}[\]›>](?!\()\s*"
)
# A word with a colon, anywhere in the text. It counts only if it is a known name.
WORD_WITH_COLON = re.compile(rf"(?<!\w)(?P<name>\w{{2,31}})\s?[{COLONS}](?![\d/\\{COLONS}])\s*")
# Begins what a written line is about: "Priya's training: …". Nobody is said to speak.
POSSESSIVE = re.compile(r"['’]s \w")
SENDER = alternation(collect(lambda pack: pack.instructions.senders))
LABEL_SIGNS = re.compile(rf"[{COLONS}\[‹<>›]")
# A name at the beginning of a sentence, with up to twelve characters after it that are not letters. It counts if the
# name is known and one of these characters is a mark that does not end a sentence: "Priya => …", "10:42 | Priya ✅ …".
MARKED_LABEL = re.compile(
    rf"(?:^|(?<=[.!?;,。！？] ))(?P<before>[\W\d_]{{0,16}})(?:(?P<sender>{SENDER})\s?[:：]\s?)?"
    r"(?P<name>[^\W\d_]{2,31}(?:[ _][^\W\d_]{1,31}){0,2})"
    r"(?P<marks>(?P<aside>\s?[(\[][^()\[\]]{0,24}[)\]])?[\W\d_]{1,12})(?=\w)",
    re.I,
)
#: A number among these characters is no part of the label.
NUMBER_AMONG_MARKS = re.compile(r"(?:[≤≥±≈] ?|(?<![=-])[-+<>~])?[€$£¥]?\d")
TELLING_MARK = re.compile(r"[^\w\s,.!?()\[\]/&'’\"“”„;:`-]|[-._:]{2,}|[(\[]\d{1,2}[:.]\d\d|\)\s?:|\s[-_]\s|^[)\]]")
INTRODUCING = alternation(collect(lambda pack: pack.instructions.introductions))
INTRODUCED = alternation(collect(lambda pack: pack.instructions.introduced))
#: Ways to introduce a speaker: a name, at most four words and a mark; a name after or before introducing words; a name
#: as a signature; at the beginning, a name in brackets or after an at sign.
INTRODUCTIONS = (
    re.compile(
        rf"(?<!\w)(?P<name>\w{{2,31}})(?=(?:[ ,(]{{1,2}}[\w'’.]{{1,31}}){{0,4}}\)?,?\s?"
        rf"(?:[{COLONS}](?!\d\d)|[>»\"“„«]|[–—-]{{1,2}}\s)\s?\S)"
    ),
    re.compile(rf"(?<!\w)(?:{INTRODUCING})[ ,:]{{0,2}}(?P<name>\w{{2,31}})", re.I),
    re.compile(rf"(?<!\w)(?P<name>\w{{2,31}})(?: \w{{2,31}})?,? (?:{INTRODUCED})(?!\w)", re.I),
    re.compile(r"[–—,/~(-]\s?(?P<name>\w{2,31})(?: \w{2,31})?[.!)]{0,2}$"),
    re.compile(r"^\W{0,3}[@(\[‹](?P<name>\w{2,31})"),
)
QUOTATION_MARKS = re.compile('["“”„«»]')

ROLES = frozenset(map(fold, collect(lambda pack: pack.instructions.roles)))
#: Words that begin sentences and notes, and therefore are capitalised as often as names.
NEVER_NAMES = frozenset(map(fold, collect(lambda pack: (*pack.words.function, *pack.words.praise, *pack.dates.signs))))


def quote_speech(text: str, names: Collection[str] = (), *, has_subject: bool = False) -> str:
    """``text`` with everything from the first speaker label on in quotes. ``names``: see :func:`name_words`.

    ``has_subject``: a model wrote the text under its subject ("Priya's training: …", "Oracle: …"), which is no label.
    """
    labels = _labels(text, names)
    if has_subject:
        labels = (label for label in labels if not _is_subject(label, names))
    label = min(labels, key=re.Match.start, default=None)
    if label is None:
        return text
    start, end = _span(label)
    if not (rest := text[end:].strip()):
        return text
    return f"{text[:start].rstrip()} “{_label_name(label)} – {_as_quotation(rest, names)}”".lstrip()


def after_speaker(text: str, is_report: bool) -> str:
    """A text as it follows the name of its speaker; that of a report must be :func:`quotable`."""
    return f"says “{text}”" if is_report else text


def report_of(speaker: str, text: str) -> str:
    """The text as the report of its speaker: ann says “…”."""
    return f"{speaker} {after_speaker(quotable(text), True)}"


def as_shown(speaker: str, text: str, *, is_report: bool) -> str:
    """The text of a fact or turn, as the report of its speaker if it is one."""
    return report_of(speaker, text) if is_report else text


def speaking_name(text: str, names: Collection[str] = ()) -> str:
    """The name in the first speaker label of ``text`` if text follows it; "" if there is none."""
    label = min(_labels(text, names), key=re.Match.start, default=None)
    return _label_name(label) if label and text[label.end() :].strip() else ""


def is_known(name: str, names: Collection[str]) -> bool:
    """Whether a word of this name is in ``names`` or is a role in a chat, such as “assistant”."""
    return any(word in names or word in ROLES for word in LETTERS.findall(fold(name)))


def introduces_author(text: str, author: Collection[str]) -> bool:
    """Whether authors introduce themselves: "I'm Aoife, the product owner"."""
    return any(fold(match["name"]) in author for match in INTRODUCTIONS[1].finditer(text))


def quotable(text: str, names: Collection[str] = ()) -> str:
    """The text as it may stand in the quotes of a report: without quotation marks, and without colons after names."""
    text = text[1:-1] if len(text) > 1 and text[0] == "“" and text[-1] == "”" else text
    text = SPEAKER_LABEL.sub(lambda match: _without_colon(match[0]) if _is_name(match, names) else match[0], text)
    text = WORD_WITH_COLON.sub(
        lambda match: _without_colon(match[0]) if is_known(match["name"], names) else match[0], text
    )
    return QUOTATION_MARKS.sub("'", text).strip()


def _without_colon(label: str) -> str:
    return re.sub(rf"\s?[{COLONS}](?!\d)", " –", label)


def introduces(text: str, names: Collection[str]) -> bool:
    """Whether the text introduces one of these names as its speaker: "Priya here: …", "I, Priya, …", "… – Priya".

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


def _span(label: re.Match[str]) -> tuple[int, int]:
    """Where a label stands, without numbers before and after it: nothing that is said may be lost with it."""
    if label.re is not MARKED_LABEL:
        return label.span()
    number = NUMBER_AMONG_MARKS.search(label.string, max(label.start("marks"), label.end("aside")), label.end())
    is_numbered = any(map(str.isdigit, label["before"]))
    return label.end("before") if is_numbered else label.start(), number.start() if number else label.end()


def _is_subject(label: re.Match[str], names: Collection[str]) -> bool:
    """Whether a label in a model's line is what it is about: a possessive, or nobody's name with one word or a date."""
    name = _label_name(label)
    is_nobody = not is_known(name, names) and (" " not in name or any(map(str.isdigit, name)))
    return is_nobody or bool(POSSESSIVE.search(name))


def _is_marked(label: re.Match[str], names: Collection[str]) -> bool:
    """Whether a label has a known name that is set off from the following text like a speaker's."""
    known = any(word in names or word in ROLES for word in re.findall(r"\w{2,}", fold(label["name"])))
    return known and bool(label["sender"] or TELLING_MARK.search(label["marks"]))


def _is_name(label: re.Match[str], names: Collection[str]) -> bool:
    """Whether the label is a person's name or a role in a chat."""
    name = _label_name(label)
    if is_known(name, names):
        return True
    words = LETTERS.findall(fold(name))
    titled = len(words) > 1 and all(word[0].isupper() for word in LETTERS.findall(name))
    return (any if titled else all)(map(is_capitalised, words))


@lru_cache(maxsize=4096)
def is_capitalised(word: str) -> bool:
    """Whether a folded word is usually capitalised, or so rare that its lower-case form is several tokens."""
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

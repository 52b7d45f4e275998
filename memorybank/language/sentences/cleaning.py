"""Remove greetings, thanks, address by name and lead-ins from a sentence."""

import re

from memorybank.language import alternation, collect, literals
from memorybank.language.characters import EMOJI
from memorybank.language.sentences.disfluency import remove_disfluency
from memorybank.language.sentences.negation import (
    SENTENCE_MARKS,
    between_marks,
    denies,
    remove_unless_denied,
    replace_unless_denied,
)
from memorybank.language.terms import FUNCTION_WORDS
from memorybank.language.work_cache import once_per_work

OPENERS = literals(collect(lambda pack: pack.talk.openers, spaced=True))
CJK_OPENERS = literals(collect(lambda pack: pack.talk.openers, spaced=False))

# Names are looked up, never compiled into a pattern: patterns are cached, and people can be erased.
OPENER_END = r"\s?(?:[,!.…]+|\s[–—-])\s*"
OPENER = re.compile(rf"(?:{OPENERS})(?:,? (?P<name>[^\W\d_][\w'’-]*))?{OPENER_END}", re.IGNORECASE)
ADDRESS_FIRST = re.compile(r"(?P<name>[^\W\d_][\w'’-]{0,60}+)\s?[,!]\s*(?P<next>[\w'’-]{0,60}+)")
CJK_OPENER = re.compile(rf"(?:{CJK_OPENERS})[，。！、,!～~]+\s*")
LEAD_IN = re.compile(rf"(?:{literals(collect(lambda pack: pack.talk.lead_ins))})\b,?\s+", re.IGNORECASE)
ADDRESS_INSIDE = re.compile(
    r"(?<![\w'’-])(?P<before>[\w'’-]++),\s(?:(?P<last>[^\W\d_][\w'’-]*+)(?=[!?.]*$)|"
    r"(?P<inner>[^\W\d_][\w'’-]*+)(?=,\s(?P<next>[\w'’-]++)))"
)
#: In "Ana, Tom and Bea" nobody is addressed: three people are named.
NAME_CONJUNCTIONS = frozenset(collect(lambda pack: pack.clauses.joining))
#: Conjunctions at the end of an unfinished sentence: "My grandad is better at teletext, so". A single letter may be a
#: word that was begun.
CONJUNCTIONS = alternation(word for word in collect(lambda pack: pack.clauses.dropped) if len(word) > 1)
DANGLING = re.compile(rf"(?<=[\w,])\s+(?:{CONJUNCTIONS})$")
#: Of a list, a quotation or a heading; but not the star of “*.sql” or the sign of a number: “-5 °C”, “>3 days”, “#12”.
MARKS_BEFORE = re.compile(r"^(?:(?:[=-]>|[*| ]|[#+-](?![\d/])|>(?!=?\d)|[=~](?!=? ?\d))(?!\.\w|[€$£¥]\d))+")
LIST_NUMBER = re.compile(r"^\(\d{1,2}\)\s+")
FILLER = re.compile(rf"\b(?:{alternation(collect(lambda pack: pack.talk.fillers))})\s+(?=\w)")
SMILEYS = re.compile(rf"[{EMOJI}\u200d]+|(?<!\w)[:;]-?[)(DPp](?!\w)")


def is_called(word: str, names: frozenset[str]) -> bool:
    """Whether the capitalised word is a name or its short form: "Mel" addresses a Melanie."""
    folded = word.casefold()
    return folded in names or (len(word) > 2 and word[0].isupper() and any(n.startswith(folded) for n in names))


def opening(sentence: str, names: frozenset[str]) -> int:
    """Offset of the first word after a greeting, thanks or a name; 0 if there is none."""
    match = OPENER.match(sentence)
    if match and (match["name"] is None or is_called(match["name"], names)):
        return match.end()
    match = ADDRESS_FIRST.match(sentence)
    if match and is_called(match["name"], names) and not is_listed(match["next"], names):
        return match.start("next")
    match = CJK_OPENER.match(sentence)
    if match:
        return match.end()
    match = LEAD_IN.match(sentence)
    return (
        match.end() if match and not denies(between_marks(sentence, match.start(), match.end(), SENTENCE_MARKS)) else 0
    )


def is_listed(beside: str, names: frozenset[str]) -> bool:
    """Whether the neighbouring word is another name or joins one: then several are named and nobody is addressed."""
    folded = beside.casefold()
    return (
        is_called(beside, names)
        or folded in NAME_CONJUNCTIONS
        or (beside[:1].isupper() and folded not in FUNCTION_WORDS)
    )


def unaddressed(match: re.Match[str], names: frozenset[str]) -> str:
    """The match without the word after the comma, if that word addresses somebody by name."""
    called = is_called(match["last"] or match["inner"], names)
    listed = match["before"][:1].isupper() or is_listed(match["next"] or "", names)
    return match["before"] if called and not listed else match[0]


@once_per_work
def tidy(sentence: str, names: frozenset[str] = frozenset()) -> str:
    """The sentence without greeting, thanks, address, lead-in or smileys; "" if nothing else is left."""
    sentence = remove_disfluency(LIST_NUMBER.sub("", MARKS_BEFORE.sub("", " ".join(SMILEYS.sub("", sentence).split()))))
    for _ in range(4):
        begin = opening(sentence, names)
        if not begin:
            break
        sentence = sentence[begin:]
    if names:
        sentence = ADDRESS_INSIDE.sub(lambda match: unaddressed(match, names), sentence)
    sentence = DANGLING.sub(remove_unless_denied, FILLER.sub(replace_unless_denied, sentence).strip(" ,;")).rstrip(" ,")
    return sentence[:1].upper() + sentence[1:]

"""Tell by a few signs whether a sentence may be a rule: what it is about, and whether it is meant in general.

The signs are classes of words in the language packs, not wordings of rules: texts and what they say, people and what
they are told, secrets and handing them out, matters and what spares them a check, and somebody's authority. Signs that
together make a rule are listed in ``RULES``; fewer make a *claim*, which is told as its speaker's words.
What somebody tells of themselves, asks, or tells of the past is neither. Linear in the text.
"""

import re
from collections.abc import Iterator
from functools import cache

from memorybank.language import Words, alternation, fill_in, packs
from memorybank.language.characters import cjk_length
from memorybank.language.pack_loader import Pack, detect_language

SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])|\n")
WORD = re.compile(r"[\w']+")
#: Signs that make a rule. A text is what the rule is about only if it stands before what it says.
RULES = (
    ("texts", "wording"),
    ("in_texts", "wording"),
    ("general", "wording", "people"),
    ("general", "saying", "people"),
    ("people", "told"),
    ("giving", "secrets", "people"),
    ("giving", "secrets", "general"),
    ("giving", "secrets", "authority"),
    ("matters", "passing"),
    ("authority", "secrets"),
    ("authority", "passing"),
    ("authority", "texts"),
    ("authority", "wording"),
)
SIGNS = frozenset(sign for rule in RULES for sign in rule)
#: Kinds of texts in general: enough for a claim, because facts are about one of them.
TEXTS = frozenset(["texts", "in_texts"])
#: Signs of which a claim has one, beside any other.
TELLING = frozenset(["general", "authority", "passing", "told", "wording", "secrets"])
#: Signs that hold also in what is told of the past: "the board decided that …".
TIMELESS = frozenset(["general", "authority"])

Signs = dict[str, re.Pattern[str]]


def is_rule(text: str) -> bool:
    """Whether a sentence of ``text`` is a rule, by signs alone. What takes up the sentence before is read with it."""
    return any(_is_rule(signs, sentence) for sentence in _sentences(text) for signs in _of_language(sentence))


def is_claim(text: str) -> bool:
    """Whether a sentence of ``text`` may be a rule: it is told as what its speaker claims."""
    return any(_is_claim(signs, sentence) for sentence in _sentences(text) for signs in _of_language(sentence))


def _sentences(text: str) -> Iterator[str]:
    """The sentences, folded; one that depends on the sentence before, with that one."""
    together: list[str] = []
    for sentence in filter(str.strip, SENTENCE_END.split(text.casefold().replace("’", "'"))):
        if together and not any(signs["depends"].match(sentence) for signs in _of_language(sentence)):
            yield ", ".join(together)
            together.clear()
        together.append(sentence.rstrip(".!。！ "))
    yield ", ".join(together)


def _of_language(sentence: str) -> Iterator[Signs]:
    """The signs of the sentence's language; of all that have spaces, or none, if it is not clear which."""
    spaced = not cjk_length(sentence)
    code = detect_language(WORD.findall(sentence)) if spaced else ""
    return (_signs()[pack.code] for pack in packs() if pack.spaced == spaced and code in ("", pack.code))


@cache
def _signs() -> dict[str, Signs]:
    """The signs of each language, by its code."""
    return {pack.code: _compiled(pack) for pack in packs()}


def _compiled(pack: Pack) -> Signs:
    parts = {name: f"(?:{alternation(words)})" for name, words in pack.normative.parts.items()}

    def compiled(words: Words) -> re.Pattern[str]:
        return re.compile(alternation(fill_in(word, parts) for word in words))

    return {name: compiled(words) for name, words in pack.normative.signs.items()}


def _is_rule(signs: Signs, sentence: str) -> bool:
    if _tells_of_oneself(signs, sentence):
        return False
    is_past = bool(signs["past"].search(sentence))
    rules = (rule for rule in RULES if not is_past or not TIMELESS.isdisjoint(rule))
    return any(_has(signs, rule, sentence) for rule in rules)


def _has(signs: Signs, rule: tuple[str, ...], sentence: str) -> bool:
    found = [signs[sign].search(sentence) for sign in rule]
    if not all(found) or ("people" in rule and signs["report"].search(sentence)):
        return False
    first = found[0]
    return rule != ("texts", "wording") or bool(first and signs["wording"].search(sentence, first.end()))


def _is_claim(signs: Signs, sentence: str) -> bool:
    if _tells_of_oneself(signs, sentence) or signs["past"].search(sentence):
        return False
    found = {sign for sign in SIGNS if signs[sign].search(sentence)}
    return not TEXTS.isdisjoint(found) or (len(found) > 1 and not TELLING.isdisjoint(found))


def _tells_of_oneself(signs: Signs, sentence: str) -> bool:
    return sentence.rstrip().endswith(("?", "？")) or bool(signs["own"].search(sentence))

"""Detect sentences that may be rules by a few signs: their subject, and whether they are meant in general.

Signs are classes of words in the language packs, not wordings of rules: texts and their wording, people and what they
are told, secrets and disclosing them, matters and skipping their checks, safeguards and lifting them, and authority.
``RULE_SIGNS`` lists combinations of signs that make a rule, ``CLAIMS`` and ``NEAR_RULES`` those that make a *claim*.
Questions and statements about oneself are not rules; statements about the past are rules only with a ``TIMELESS`` sign.
All checks take linear time.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from memorybank.language import Words, alternation, fill_in, packs, partial_packs
from memorybank.language.characters import cjk_length
from memorybank.language.pack_loader import Pack, PartialPack, detect_language
from memorybank.language.patterns import MATCH_NOTHING

SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])|\n")
WORD = re.compile(r"[\w']+")
#: A short term in quotes, with up to two words between it and its definition.
QUOTED_TERM = re.compile(r"[\"“”„«»‘'「『][^\"“”„«»‘'「」『』.!?]{2,40}[\"“”«»’'」』] ?(?:\w{1,12} ){0,2}?(?=\w)")
#: Signs that together make a rule. In ``("texts", "wording")``, the text must come before its wording.
RULE_SIGNS = (
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
#: Signs that make a claim, even about oneself or the past: a safeguard is lifted; it concerns the assistant; a command.
CLAIMS = (("controls", "lifted"), ("assistants",), ("commands",))
#: Incomplete rules, which make a claim unless the sentence is about the speaker or the past.
NEAR_RULES = (
    ("secrets", "giving"),
    ("secrets", "general"),
    ("general", "wording"),
    ("general", "saying"),
    ("people", "passing"),
)
#: Signs that define the quoted word before them; that name an office which may decide; that report a decision.
DEFINING, OFFICIALS, DECIDING = "defining", "officials", "deciding"
#: Signs of what other people act on: rights, rules, checks, money, secrets, and who decides. One of them suffices.
AUTHORITY_SIGNS = (
    *("authority", "commands", "controls", "general", "lifted", "matters", "officials", "passing", "people", "secrets"),
)
#: Signs that make a rule also in a statement about the past: "the board decided that …".
TIMELESS = frozenset(["general", "authority"])

Signs = dict[str, re.Pattern[str]]


def is_rule(text: str) -> bool:
    """Whether a sentence of ``text`` is a rule. A sentence that depends on the previous one is read with it."""
    return any(_is_rule(signs, sentence) for sentence in folded_sentences(text) for signs in signs_of(sentence))


def is_claim(text: str) -> bool:
    """Whether a sentence of ``text`` may be a rule, or would bind other people on its speaker's word alone."""
    return any(_is_claim(signs, sentence) for sentence in folded_sentences(text) for signs in signs_of(sentence))


def concerns_others(text: str) -> bool:
    """Whether a sentence of ``text`` is about something that other people act on, and not about its speaker."""
    return any(_concerns_others(signs, sentence) for sentence in folded_sentences(text) for signs in signs_of(sentence))


def folded_sentences(text: str) -> Iterator[str]:
    """The sentences of ``text``, case-folded; a sentence that depends on the previous one is joined to it."""
    together: list[str] = []
    for sentence in filter(str.strip, SENTENCE_END.split(text.casefold().replace("’", "'"))):
        if together and not any(signs["depends"].match(sentence) for signs in signs_of(sentence)):
            yield ", ".join(together)
            together.clear()
        together.append(sentence.rstrip(".!。！ "))
    yield ", ".join(together)


def signs_of(sentence: str) -> Iterator[Signs]:
    """The signs of each language that the sentence may be in: the detected one, or all that use spaces as it does."""
    spaced = not cjk_length(sentence)
    code = detect_language(WORD.findall(sentence)) if spaced else ""
    yield from (_signs()[pack.code] for pack in packs() if pack.spaced == spaced and code in ("", pack.code))
    if spaced:  # too little is known of these languages to detect them
        yield from (_signs()[pack.code] for pack in partial_packs() if pack.normative.signs)


@cache
def _signs() -> dict[str, Signs]:
    """The signs of each language, by its code."""
    languages: tuple[Pack | PartialPack, ...] = (*packs(), *partial_packs())
    return {pack.code: _compiled(pack) for pack in languages}


def _compiled(pack: Pack | PartialPack) -> Signs:
    parts = {name: f"(?:{alternation(words)})" for name, words in pack.normative.parts.items()}

    def compiled(words: Words) -> re.Pattern[str]:
        return re.compile(alternation(fill_in(word, parts) for word in words))

    absent = re.compile(MATCH_NOTHING)
    return defaultdict(lambda: absent, {name: compiled(words) for name, words in pack.normative.signs.items()})


def _is_rule(signs: Signs, sentence: str) -> bool:
    if _tells_of_oneself(signs, sentence):
        return False
    is_past = bool(signs["past"].search(sentence))
    rules = (rule for rule in RULE_SIGNS if not is_past or not TIMELESS.isdisjoint(rule))
    return any(_has(signs, rule, sentence) for rule in rules)


def _has(signs: Signs, rule: tuple[str, ...], sentence: str) -> bool:
    matches = [signs[sign].search(sentence) for sign in rule]
    if not all(matches) or ("people" in rule and signs["report"].search(sentence)):
        return False
    first = matches[0]
    return rule != ("texts", "wording") or bool(first and signs["wording"].search(sentence, first.end()))


def _is_claim(signs: Signs, sentence: str) -> bool:
    if sentence.rstrip().endswith(("?", "？")):
        return False
    if _has_any(signs, CLAIMS, sentence) or _defines(signs, sentence):
        return True
    is_own = _tells_of_oneself(signs, sentence) or signs["past"].search(sentence)
    return not is_own and _has_any(signs, NEAR_RULES, sentence)


def _concerns_others(signs: Signs, sentence: str) -> bool:
    return not _tells_of_oneself(signs, sentence) and any(signs[sign].search(sentence) for sign in AUTHORITY_SIGNS)


def _has_any(signs: Signs, claims: Iterable[Sequence[str]], sentence: str) -> bool:
    return any(all(signs[sign].search(sentence) for sign in claim) for claim in claims)


def _defines(signs: Signs, sentence: str) -> bool:
    return any(signs[DEFINING].match(sentence, term.end()) for term in QUOTED_TERM.finditer(sentence))


def _tells_of_oneself(signs: Signs, sentence: str) -> bool:
    return sentence.rstrip().endswith(("?", "？")) or bool(signs["own"].search(sentence))

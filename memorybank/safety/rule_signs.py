"""Detect sentences that may be rules by a few signs: their subject, and whether they are meant in general.

Signs are classes of words in the language packs, not wordings of rules: texts and their wording, people and what they
are told, secrets and disclosing them, matters and skipping their checks, safeguards and lifting them, and authority.
``RULE_SIGNS`` lists combinations of signs that make a rule, ``CLAIMS`` and ``NEAR_RULES`` those that make a *claim*.
Questions and statements about oneself are not rules; statements about the past are rules only with a ``TIMELESS`` sign.
All checks take linear time.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from memorybank.language import Words, alternation, fill_in, packs, partial_packs
from memorybank.language.characters import cjk_length
from memorybank.language.pack_loader import Pack, PartialPack, detect_language
from memorybank.language.patterns import MATCH_NOTHING

SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])|\n")
CLAUSE_END = re.compile(r"(?<=[,;:])\s|(?<=[，；：])")
WORD = re.compile(r"[\w']+")
#: A short term in quotes, with up to two words between it and its definition.
QUOTED_TERM = re.compile(r"[\"“”„«»‘'「『][^\"“”„«»‘'「」『』.!?]{2,40}[\"“”«»’'」』] ?(?:\w{1,12} ){0,2}?(?=\w)")
#: Signs that define the quoted word before them; that speak of the assistant or its notes; that name an office.
DEFINING, ASSISTANTS, OFFICIALS = "defining", "assistants", "officials"
#: Signs of what other people act on: what they should do, who they are, money, checks, and who decides. One suffices.
AUTHORITY_SIGNS = ("addressed", "general", "people", "matters", "controls", "lifted", OFFICIALS)

Signs = dict[str, re.Pattern[str]]


def is_claim(text: str) -> bool:
    """Whether a sentence of ``text`` says what a word means, or what the assistant or its notes are."""
    return any(_is_claim(signs, sentence) for sentence in folded_sentences(text) for signs in signs_of(sentence))


def concerns_others(text: str) -> bool:
    """Whether a sentence of ``text`` is about something that other people act on, and not about its speaker."""
    return any(_concerns_others(signs, sentence) for sentence in folded_sentences(text) for signs in signs_of(sentence))


def folded_sentences(text: str) -> Iterator[str]:
    """The sentences of ``text``, case-folded."""
    yield from filter(str.strip, SENTENCE_END.split(text.casefold().replace("’", "'")))


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


def _is_claim(signs: Signs, sentence: str) -> bool:
    return bool(signs[ASSISTANTS].search(sentence)) or _defines(signs, sentence)


def _concerns_others(signs: Signs, sentence: str) -> bool:
    """Whether a clause has a sign and not its speaker as its subject. A question concerns nobody."""
    clauses = [] if sentence.rstrip().endswith(("?", "？")) else CLAUSE_END.split(sentence)
    others = [clause for clause in clauses if not signs["own"].search(clause)]
    return any(signs[sign].search(clause) for clause in others for sign in AUTHORITY_SIGNS)


def _defines(signs: Signs, sentence: str) -> bool:
    return any(signs[DEFINING].match(sentence, term.end()) for term in QUOTED_TERM.finditer(sentence))

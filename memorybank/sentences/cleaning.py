"""Cutting what only the moment needed: greetings, thanks, address by name, lead-ins."""

import re
from collections.abc import Collection
from functools import lru_cache

from memorybank.sentences.vocabulary import CJK_OPENERS, LEAD_INS, OPENERS


def alternation(phrases: Collection[str]) -> str:
    """Longest first, apostrophes of both kinds."""
    longest = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    return "|".join(re.escape(phrase).replace("'", "['’]") for phrase in longest)


CJK_OPENER = re.compile(rf"(?:{alternation(CJK_OPENERS)})[，。！、,!～~]+\s*")
LEAD_IN = re.compile(rf"(?:{alternation(LEAD_INS)})\b,?\s+", re.IGNORECASE)
INTENSIFIER = re.compile(r"\b(?:really|actually|basically|literally|super|so so|honestly|just)\s+(?=\w)")
SMILEYS = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\U0001f1e6-\U0001f1ff\u2b50\u200d]+|(?<!\\w)[:;]-?[)(DPp](?!\\w)"
)


@lru_cache(maxsize=256)
def openers(names: frozenset[str]) -> re.Pattern[str]:
    """A greeting or thanks, with or without a name, up to its punctuation."""
    called = f"(?:,? (?:{alternation(names)}))?" if names else ""
    alone = f"|(?:{alternation(names)})" if names else ""
    return re.compile(
        rf"(?:(?:{alternation(OPENERS)}){called}{alone})\s?(?:[,!.…]+|\s[–—-])\s*", re.IGNORECASE
    )


@lru_cache(maxsize=256)
def address(names: frozenset[str]) -> re.Pattern[str]:
    """ ", Anna" before a stop or another clause."""
    return re.compile(
        rf",? (?:{alternation(names)})(?=[!?.]*$)|,\s(?:{alternation(names)})(?=,)", re.IGNORECASE
    )


def nicknames(sentence: str, names: frozenset[str]) -> frozenset[str]:
    """Names and their short forms that occur here: "Mel" is address to a Melanie."""
    spoken = {word.casefold() for word in re.findall(r"[^\W\d_]{3,20}", sentence) if word[0].isupper()}
    return names | {word for word in spoken if any(name.startswith(word) for name in names)}


def tidy(sentence: str, names: frozenset[str] = frozenset()) -> str:
    """The sentence without greeting, thanks, address, lead-in or smileys; "" when nothing else was in it."""
    called = nicknames(sentence, names)
    sentence = " ".join(SMILEYS.sub("", sentence).split()).lstrip("#>-*+=|~ ")
    for _ in range(4):
        match = openers(called).match(sentence) or CJK_OPENER.match(sentence) or LEAD_IN.match(sentence)
        if match is None:
            break
        sentence = sentence[match.end() :]
    if called:
        sentence = address(called).sub("", sentence)
    sentence = INTENSIFIER.sub("", sentence).strip(" ,;")
    return sentence[:1].upper() + sentence[1:]

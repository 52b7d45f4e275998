"""Whether a text tells a model what to do: by what it speaks of, sentence by sentence, in the words of each language.

No word is an attack. "Always" and "answer" are not, nor "the assistant"; but somebody who says always, answer and
whenever they ask in one sentence lays down rules for a model. What makes a rule when it comes together is listed here;
the words are in the packs.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from memorybank.language import beyond, packs
from memorybank.language.guards import Directions
from memorybank.language.lookalikes import folded
from memorybank.language.pack import Beyond, Pack

OVERRIDE = "tells a model to drop its instructions"
PERSONA = "gives a model another role"
STANDING = "commands every future answer"
REVEAL = "asks for hidden prompts or secrets"
TRUST = "has somebody believed or obeyed"
WAIVER = "frees a model from asking or checking"
ORDER = "has a model use a tool"
KEEPING = "has something kept for every chat"
CONCEALMENT = "hides something from the user"
MANY = "speaks of much that only a model is told"
#: So many topics in one sentence are enough, if so many of them are none that people speak of all day.
ENOUGH, RARE = 6, 2
TELLING = frozenset(
    "model call orders drop over answers persona unbound secret waive trust tools keep chats conceal".split()
)

#: Why, and what a sentence speaks of then: the entries of ``Directions``.
RULES = tuple(
    (why, frozenset(needs.split()))
    for why, together in {
        OVERRIDE: (
            "drop orders before", "drop orders model", "drop orders you", "drop orders always", "drop model always",
            "over orders you", "over orders model", "over orders always",
        ),
        PERSONA: (
            "persona unbound", "persona model", "persona answers", "persona chats", "persona say you",
            "unbound answers", "unbound model say",
        ),
        STANDING: (
            "always asked say", "answers always you", "answers model you", "model always say",
            "call model say", "call model always", "call model reveal",
            "model say dictated", "answers say dictated",
        ),
        REVEAL: (
            "reveal secret orders you", "reveal secret orders always", "reveal secret model", "reveal secret answers",
            "reveal secret chats",
        ),
        WAIVER: ("model waive", "call waive", "trust waive"),
        TRUST: ("model trust", "call trust", "answers trust", "chats trust keep", "trust you always"),
        ORDER: (
            "tools answers", "tools conceal reveal", "tools model always", "tools waive say", "tools waive always",
            "away model reveal", "away answers", "away always reveal",
        ),
        KEEPING: ("keep chats you", "keep chats model", "keep chats always", "keep chats call", "keep chats drop"),
        CONCEALMENT: (
            "conceal say asked", "conceal answers", "conceal model", "conceal always you", "conceal call",
        ),
    }.items()
    for needs in together
)  # fmt: skip

SENTENCE = re.compile(r"(?<=[.!?])\s|(?<=[。！？])|\n")
# Scripts whose words are not parted, or carry their particles before or behind them: there a word is found anywhere.
ATTACHED = "\u0600-\u06ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
WORD = re.compile(rf"[^\W_{ATTACHED}]+")
PART = re.compile(r"[^\W_]+\*?|\*")
RUN = re.compile(f"[{ATTACHED}][{ATTACHED} ]*")
GAP, SHORTEST_STEM = 3, 2
#: Signs of a topic in any language: a web or e-mail address, masked or not; dictated words.
ANY = ""
SIGNS = {
    "away": re.compile(r"https?://|\w@\w|\[redacted: e-mail"),
    "dictated": re.compile(r"[\"“„«「『][^\"“”„«»「」『』]{4,200}[\"”“»」』]"),
}

#: A language, and what a word or phrase of it speaks of.
Topic = tuple[str, str]


class Phrase(NamedTuple):
    """What follows the first word: words, stems ("answer*"), or a gap ("*")."""

    rest: tuple[str, ...]
    topic: Topic


class Lexicon(NamedTuple):
    """Phrases by their first word, by its stem; and words that are found anywhere, with the length of the longest."""

    words: dict[str, list[Phrase]]
    stems: dict[str, list[Phrase]]
    anywhere: dict[str, list[Topic]]
    longest: int


def direction(text: str) -> str:
    """What ``text`` tells a model to do; "" when nothing. Two neighbouring sentences are read together, too. Linear."""
    spoken = [topics(sentence) for sentence in SENTENCE.split(text) if sentence.strip()]
    pairs = (one | other for one, other in pairwise(spoken))
    return next((why for found in (*spoken, *pairs) if (why := _told(found))), "")


def topics(sentence: str) -> frozenset[Topic]:
    """What a sentence speaks of, by language."""
    known, text = _lexicon(), folded(sentence)
    words = WORD.findall(text)
    found = {phrase.topic for at in range(len(words)) for phrase in _phrases(known, words, at)}
    for run in RUN.findall(text):
        for at in range(len(run)):
            for end in range(at + 1, min(len(run), at + known.longest) + 1):
                found.update(known.anywhere.get(run[at:end], ()))
    found.update((ANY, topic) for topic, signs in SIGNS.items() if signs.search(sentence))
    return frozenset(found)


def _told(found: Iterable[Topic]) -> str:
    """Why what is spoken of in one language makes a rule."""
    spoken: dict[str, set[str]] = defaultdict(set)
    for language, topic in found:
        spoken[language].add(topic)
    signs = spoken.pop(ANY, set())
    why = next((why for why, needs in RULES for named in spoken.values() if needs <= named | signs), "")
    many = any(len(named) >= ENOUGH and len(named & TELLING) >= RARE for named in spoken.values())
    return why or (MANY if many else "")


def _phrases(known: Lexicon, words: Sequence[str], at: int) -> Iterator[Phrase]:
    """The phrases that begin at a word."""
    word = words[at]
    stems = (word[:end] for end in range(SHORTEST_STEM, len(word) + 1))
    for phrases in (known.words.get(word, ()), *(known.stems.get(stem, ()) for stem in stems)):
        yield from (phrase for phrase in phrases if _goes_on(phrase.rest, words, at + 1))


def _goes_on(rest: Sequence[str], words: Sequence[str], at: int) -> bool:
    """Whether the words from ``at`` on are the rest of a phrase; no phrase has two gaps."""
    for place, part in enumerate(rest):
        if part == "*":
            return any(_goes_on(rest[place + 1 :], words, after) for after in range(at, at + GAP + 1))
        if at >= len(words) or not (words[at].startswith(part[:-1]) if part.endswith("*") else words[at] == part):
            return False
        at += 1
    return True


@cache
def _lexicon() -> Lexicon:
    known = Lexicon({}, {}, {}, 0)
    languages: tuple[Pack | Beyond, ...] = (*packs(), *beyond())
    for each in languages:
        for topic in fields(Directions):
            for written in getattr(each.directions, topic.name):
                _enter(known, folded(written), (each.code, topic.name))
    return known._replace(longest=max(map(len, known.anywhere), default=0))


def _enter(known: Lexicon, written: str, topic: Topic) -> None:
    if RUN.match(written):
        known.anywhere.setdefault(written, []).append(topic)
        return
    first, *rest = PART.findall(written)
    table = known.stems if first.endswith("*") else known.words
    table.setdefault(first.removesuffix("*"), []).append(Phrase(tuple(rest), topic))

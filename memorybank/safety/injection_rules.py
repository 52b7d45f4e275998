"""Whether a text tells a model what to do: by what it speaks of, sentence by sentence, in the words of each language.

No word is an attack. "Always" and "answer" are not, nor "the assistant"; but somebody who says always, answer and
whenever they ask in one sentence lays down rules for a model. What is spoken of together is weighed; the words are in
the packs.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from memorybank.language import beyond, packs
from memorybank.language.lookalikes import folded
from memorybank.language.masks import MASK
from memorybank.language.pack import Beyond, Pack
from memorybank.language.safety_sections import Directions
from memorybank.language.terms import FUNCTION
from memorybank.safety.injection_score import heaviest, is_heavy

OVERRIDE = "tells a model to drop its instructions"
PERSONA = "gives a model another role"
STANDING = "commands every future answer"
REVEAL = "asks for hidden prompts or secrets"
TRUST = "has somebody believed or obeyed"
WAIVER = "frees a model from asking or checking"
KEEPING = "has something kept for every chat"
CONCEALMENT = "hides something from the user"
FAVOUR = "has something preferred in every answer"
MANY = "speaks of much that only a model is told"
SENTENCE = re.compile(r"(?<=[.!?])\s|(?<=[。！？])|\n")
# Scripts whose words are not parted, or carry their particles before or behind them: there a word is found anywhere.
ATTACHED = "\u0600-\u06ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
WORD = re.compile(rf"[^\W_{ATTACHED}]+")
PART = re.compile(r"[^\W_]+\*?|\*")
RUN = re.compile(f"[{ATTACHED}][{ATTACHED} ]*")
GAP, SHORTEST_STEM = 3, 2
#: A language counts that has this share of the topics of the one that has most: words mean other things elsewhere.
LEAST = 0.7
#: Where a lesson is spoken of so many characters before or behind a quotation, it is an example.
LESSON, AROUND = "lesson", 120
#: Signs of a topic in any language: a web or e-mail address, masked or not; dictated words; markup and data that nobody
#: types into a chat; a question; a quotation behind its source.
ANY = ""
SIGNS = {
    "away": re.compile(
        r"https?://|\w@\w|\[redacted: e-mail|"
        r"(?<![\w/.@-])(?:[\w-]{1,40}\.){1,4}(?:example|com|net|org|io|dev|app|info|co|ai|eu|xyz|link)/\S"
    ),
    "dictated": re.compile(r"[\"“„«「『][^\"“”„«»「」『』]{4,200}[\"”“»」』]"),
    "form": re.compile(
        r"<!--|-->|display ?: ?none|font-size ?: ?0|^</?\w[^<>]{0,80}>"
        r"|^\W{0,3}\[[^\]]{2,30}\]|[\"']\w{2,20}[\"'] ?: ?[\[{\"']|^(?://|/\*|#|>) "
    ),
    "inquires": re.compile(r"[?？؟]\W{0,3}$"),
    "cited": re.compile(
        r"[:：] ?[\"“„«「『][^\"“”„«»「」『』]{8,}[\"”“»」』]\W{0,3}$"
        r"|[\"“„«「『][^\"“”„«»「」『』]{8,}[\"”“»」』](?!$|\W{1,3}$)"
    ),
}

#: Whoever speaks of himself by his name, in more words than a signature has, speaks for himself as of somebody else.
SELF, SIGNATURE = "self", 3
TOPICS = (*(each.name for each in fields(Directions)), *SIGNS, SELF)
#: What the heaviest topic of a sentence says of it.
REASONS = {
    topic: why
    for why, named in {
        OVERRIDE: "drop orders", PERSONA: "persona unbound", REVEAL: "reveal secret away",
        WAIVER: "waive", TRUST: "trust grant self", KEEPING: "keep chats memo", CONCEALMENT: "conceal",
        FAVOUR: "favour only", STANDING: "always onward answers output duty relay whoever",
    }.items()
    for topic in named.split()
}  # fmt: skip

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


def direction(text: str, by: str = "") -> str:
    """What ``text``, written by somebody of that name, tells a model to do; "" when nothing. Linear."""
    among = len(_sentences(text))
    return next((why for spoken in spoken_of(text, by) if (why := _told(spoken, among))), "")


def spoken_of(text: str, by: str = "") -> Iterator[frozenset[str]]:
    """What each sentence speaks of in the languages it has most of; two neighbouring ones are read together, too."""
    names = _names(by)
    spoken = [topics(sentence, names) for sentence in _sentences(text)]
    for found in (*spoken, *(one | other for one, other in pairwise(spoken))):
        named: dict[str, set[str]] = defaultdict(set)
        for language, topic in found:
            named[language].add(topic)
        signs = named.pop(ANY, set())
        most = max(map(len, named.values()), default=0)
        yield from (frozenset(each | signs) for each in named.values() or [set()] if len(each) >= LEAST * most)


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in SENTENCE.split(text) if sentence.strip()]


def _names(by: str) -> frozenset[str]:
    """What somebody calls himself by: no letter and no function word of "Grad A", or every sentence would."""
    said = frozenset(WORD.findall(folded(by)))
    return frozenset(word for word in said if len(word) > 1 and word not in FUNCTION) or said


def used(text: str) -> str:
    """``text`` without what it quotes to speak about it: in lessons, stories, and warnings of fraud. Linear."""

    def shown(quoted: re.Match[str]) -> str:
        around = text[max(0, quoted.start() - AROUND) : quoted.start()], text[quoted.end() : quoted.end() + AROUND]
        return "" if any(topic == LESSON for _, topic in topics(" ".join(around))) else quoted[0]

    return SIGNS["dictated"].sub(shown, text)


def topics(sentence: str, names: Collection[str] = ()) -> frozenset[Topic]:
    """What a sentence speaks of, by language. Who wrote it is called ``names``."""
    known, text = _lexicon(), folded(MASK.sub(" ", sentence))
    words = WORD.findall(text)
    found = {phrase.topic for at in range(len(words)) for phrase in _phrases(known, words, at)}
    for run in RUN.findall(text):
        for at in range(len(run)):
            for end in range(at + 1, min(len(run), at + known.longest) + 1):
                found.update(known.anywhere.get(run[at:end], ()))
    found.update((ANY, topic) for topic, signs in SIGNS.items() if signs.search(sentence))
    if len(words) > SIGNATURE and not set(words).isdisjoint(names):
        found.add((ANY, SELF))
    return frozenset(found)


def _told(spoken: Collection[str], among: int) -> str:
    """Why what is spoken of in one of so many sentences tells a model what to do; "" if it weighs too little."""
    if not is_heavy(spoken, among):
        return ""
    return next((REASONS[topic] for topic in heaviest(spoken) if topic in REASONS), MANY)


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

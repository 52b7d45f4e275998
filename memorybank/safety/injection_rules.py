"""Detect instructions to a model by the topics of each sentence, in the words of each language.

No single word is an attack: neither "always" nor "answer" nor "the assistant". But a sentence with "always", "answer"
and "whenever they ask" gives a model a rule. So the combination of topics is weighed. The words are in the packs.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from memorybank.language import packs, partial_packs
from memorybank.language.lookalikes import fold
from memorybank.language.masks import MASK
from memorybank.language.pack_loader import Pack, PartialPack
from memorybank.language.safety_sections import InjectionTopics
from memorybank.language.terms import FUNCTION_WORDS
from memorybank.safety.injection_score import heaviest, is_injection

OVERRIDE = "tells a model to drop its instructions"
PERSONA = "gives a model another role"
STANDING = "commands every future answer"
REVEAL = "asks for hidden prompts or secrets"
TRUST = "has somebody believed or obeyed"
WAIVER = "frees a model from asking or checking"
KEEPING = "has something kept for every chat"
CONCEALMENT = "hides something from the user"
FAVOUR = "has something preferred in every answer"
MANY_TOPICS = "speaks of much that only a model is told"
SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s|(?<=[。！？])|\n")
# Scripts without spaces, or with particles attached to words: there a word is found inside longer runs.
ATTACHED_SCRIPTS = "\u0600-\u06ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
SPACED_WORD = re.compile(rf"[^\W_{ATTACHED_SCRIPTS}]+")
PHRASE_PART = re.compile(r"[^\W_]+\*?|\*")
ATTACHED_RUN = re.compile(f"[{ATTACHED_SCRIPTS}][{ATTACHED_SCRIPTS} ]*")
MAX_GAP_WORDS, MIN_STEM_CHARACTERS = 3, 2
#: A language counts if it has at least this share of the topics of the language with most, because words mean other
#: things in other languages.
MIN_TOPIC_SHARE = 0.7
#: A quotation is an example if a lesson is mentioned at most this far before or after it.
LESSON_TOPIC, MAX_LESSON_CHARACTERS = "lesson", 120
#: Signs of a topic in any language: a web or e-mail address, masked or not; dictated words; markup and data that nobody
#: types into a chat; a question; a quotation after its source.
ANY_LANGUAGE = ""
TOPIC_SIGNS = {
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

#: An author who uses their own name in more words than a signature has makes a claim about themselves.
SELF_TOPIC, MAX_SIGNATURE_WORDS = "self", 3
TOPICS = (*(field.name for field in fields(InjectionTopics)), *TOPIC_SIGNS, SELF_TOPIC)
#: The reason given when this topic is the heaviest of a sentence.
REASONS = {
    topic: why
    for why, names in {
        OVERRIDE: "drop orders", PERSONA: "persona unbound", REVEAL: "reveal secret away",
        WAIVER: "waive", TRUST: "trust grant self", KEEPING: "keep chats memo", CONCEALMENT: "conceal",
        FAVOUR: "favour only", STANDING: "always onward answers output duty relay whoever",
    }.items()
    for topic in names.split()
}  # fmt: skip

#: A language code and a topic.
LanguageTopic = tuple[str, str]


class TopicPhrase(NamedTuple):
    """The parts after the first word: words, stems ("answer*"), or a gap ("*")."""

    rest: tuple[str, ...]
    topic: LanguageTopic


class Lexicon(NamedTuple):
    """Phrases by first word and by its stem; words of scripts without spaces, with the length of the longest."""

    words: dict[str, list[TopicPhrase]]
    stems: dict[str, list[TopicPhrase]]
    anywhere: dict[str, list[LanguageTopic]]
    longest: int


def injection_reason(text: str, by: str = "") -> str:
    """Why ``text`` by an author called ``by`` reads like an instruction to a model; "" if it does not. Linear."""
    sentence_count = len(_sentences(text))
    return next((why for topics in sentence_topics(text, by) if (why := _reason(topics, sentence_count))), "")


def sentence_topics(text: str, by: str = "") -> Iterator[frozenset[str]]:
    """The topics of each sentence, and of each two neighbours, in the languages with most topics."""
    names = _names(by)
    by_sentence = [topics(sentence, names) for sentence in _sentences(text)]
    for sentence_topics in (*by_sentence, *(one | other for one, other in pairwise(by_sentence))):
        by_language: dict[str, set[str]] = defaultdict(set)
        for language, topic in sentence_topics:
            by_language[language].add(topic)
        signs = by_language.pop(ANY_LANGUAGE, set())
        most = max(map(len, by_language.values()), default=0)
        for named in by_language.values() or [set()]:
            if len(named) >= MIN_TOPIC_SHARE * most:
                yield frozenset(named | signs)


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in SENTENCE_BREAK.split(text) if sentence.strip()]


def _names(by: str) -> frozenset[str]:
    """The words of an author's name, without single letters and function words, which every sentence contains."""
    name_words = frozenset(SPACED_WORD.findall(fold(by)))
    return frozenset(word for word in name_words if len(word) > 1 and word not in FUNCTION_WORDS) or name_words


def without_examples(text: str) -> str:
    """``text`` without quotations that are examples: in lessons, stories and fraud warnings. Linear."""

    def shown(quoted: re.Match[str]) -> str:
        around = (
            text[max(0, quoted.start() - MAX_LESSON_CHARACTERS) : quoted.start()],
            text[quoted.end() : quoted.end() + MAX_LESSON_CHARACTERS],
        )
        return "" if any(topic == LESSON_TOPIC for _, topic in topics(" ".join(around))) else quoted[0]

    return TOPIC_SIGNS["dictated"].sub(shown, text)


def topics(sentence: str, names: Collection[str] = ()) -> frozenset[LanguageTopic]:
    """The topics of a sentence, by language. ``names`` are its author's."""
    lexicon, text = _lexicon(), fold(MASK.sub(" ", sentence))
    words = SPACED_WORD.findall(text)
    topics = {phrase.topic for index in range(len(words)) for phrase in _phrases(lexicon, words, index)}
    for run in ATTACHED_RUN.findall(text):
        for start in range(len(run)):
            for end in range(start + 1, min(len(run), start + lexicon.longest) + 1):
                topics.update(lexicon.anywhere.get(run[start:end], ()))
    topics.update((ANY_LANGUAGE, topic) for topic, signs in TOPIC_SIGNS.items() if signs.search(sentence))
    if len(words) > MAX_SIGNATURE_WORDS and not set(words).isdisjoint(names):
        topics.add((ANY_LANGUAGE, SELF_TOPIC))
    return frozenset(topics)


def _reason(topics: Collection[str], sentence_count: int) -> str:
    """Why one of ``sentence_count`` sentences with these topics is an instruction; "" if they weigh too little."""
    if not is_injection(topics, sentence_count):
        return ""
    return next((REASONS[topic] for topic in heaviest(topics) if topic in REASONS), MANY_TOPICS)


def _phrases(lexicon: Lexicon, words: Sequence[str], index: int) -> Iterator[TopicPhrase]:
    """The phrases that begin with this word."""
    word = words[index]
    stems = (word[:end] for end in range(MIN_STEM_CHARACTERS, len(word) + 1))
    for phrases in (lexicon.words.get(word, ()), *(lexicon.stems.get(stem, ()) for stem in stems)):
        yield from (phrase for phrase in phrases if _continues(phrase.rest, words, index + 1))


def _continues(rest: Sequence[str], words: Sequence[str], index: int) -> bool:
    """Whether the words from ``index`` on are the rest of a phrase; no phrase has two gaps."""
    for number, part in enumerate(rest):
        if part == "*":
            return any(
                _continues(rest[number + 1 :], words, after) for after in range(index, index + MAX_GAP_WORDS + 1)
            )
        if index >= len(words):
            return False
        if not (words[index].startswith(part[:-1]) if part.endswith("*") else words[index] == part):
            return False
        index += 1
    return True


@cache
def _lexicon() -> Lexicon:
    lexicon = Lexicon({}, {}, {}, 0)
    languages: tuple[Pack | PartialPack, ...] = (*packs(), *partial_packs())
    for language in languages:
        for topic in fields(InjectionTopics):
            for phrase in getattr(language.directions, topic.name):
                _add_phrase(lexicon, fold(phrase), (language.code, topic.name))
    return lexicon._replace(longest=max(map(len, lexicon.anywhere), default=0))


def _add_phrase(lexicon: Lexicon, phrase: str, topic: LanguageTopic) -> None:
    if ATTACHED_RUN.match(phrase):
        lexicon.anywhere.setdefault(phrase, []).append(topic)
        return
    first, *rest = PHRASE_PART.findall(phrase)
    table = lexicon.stems if first.endswith("*") else lexicon.words
    table.setdefault(first.removesuffix("*"), []).append(TopicPhrase(tuple(rest), topic))

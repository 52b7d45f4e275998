"""The prior weight of a sentence: how likely it is to be asked for later, whether a person or a model wrote it."""

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from memorybank.core.extraction.kinds import is_question, is_request, kind_by, signs_in
from memorybank.language import is_cjk, plain, tokens, whole_words
from memorybank.language.sentences.disfluency import is_halting
from memorybank.language.terms import FUNCTION_WORDS, PRAISE_WORDS, words

CAPITALISED = re.compile(r"(?<=[^\W_][ ,;])(?:[A-Z]|[^\W\d_a-z])[\w'’-]+")
# A number that is not part of a date: dates count once, as time.
DIGIT = re.compile(r"\d")
DATE_TEXT = re.compile(r"(?:\b\d{1,2} )?(?:\b[A-Z][a-z]+ )?\b(?:19|20)\d\d\b(?:[-/]\d\d){0,4}")
QUOTED = re.compile(r"[\"“„«「『][^\"”“»」』]{2,80}[\"”“»」』]")
TIMED = re.compile(rf"\b(?:19|20)\d\d\b|{whole_words(lambda pack: pack.dates.signs)}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MeasuredSentence:
    """A sentence and its place in the chat: the input of all features.

    ``information`` grows with the rarity of its distinct content words; ``signs`` are those of :func:`signs_in`;
    ``answers``: it follows a question; ``position`` is 0 at the chat's beginning and 1 at its end.
    """

    text: str
    words: Sequence[str]
    information: float
    signs: frozenset[str]
    assistant: bool
    answers: bool
    position: float


@dataclass(frozen=True, slots=True)
class Feature:
    """A measurable property of a sentence. ``weight`` is in log odds per unit."""

    name: str
    weight: float
    measure: Callable[[MeasuredSentence], float]


@dataclass(frozen=True, slots=True)
class Discount:
    """A property that reduces a sentence's weight to this ``share``."""

    name: str
    share: float
    applies: Callable[[MeasuredSentence], bool]


BIAS_LOG_ODDS = -4.0
#: The weights are rounded, so that none is fitted to one data set.
FEATURES = (
    Feature("information", 1.1, lambda sentence: sentence.information),
    Feature("capitals", 0.6, lambda sentence: min(2, len(CAPITALISED.findall(sentence.text)) ** 0.5)),
    Feature("number", 1.5, lambda sentence: bool(DIGIT.search(DATE_TEXT.sub("", sentence.text)))),
    Feature("quotation", 1.5, lambda sentence: bool(QUOTED.search(sentence.text))),
    Feature("time", 1.6, lambda sentence: bool(TIMED.search(sentence.text))),
    Feature("answer", 0.7, lambda sentence: sentence.answers),
    Feature("position", -0.6, lambda sentence: sentence.position),
    Feature("decision", 1.0, lambda sentence: kind_by(sentence.text, sentence.signs) == "decision"),
    Feature("purpose", 1.0, lambda sentence: "purpose" in sentence.signs),
    Feature("role", 1.0, lambda sentence: "role" in sentence.signs),
    Feature("open or owed", 1.0, lambda sentence: "owed" in sentence.signs),
    Feature(
        "praise",
        -3.0,
        lambda sentence: sum(word in PRAISE_WORDS for word in sentence.words) / max(1, len(sentence.words)),
    ),
)
DISCOUNTS = (
    Discount("question or request", 0.4, lambda sentence: is_question(sentence.text) or is_request(sentence.text)),
    Discount("said by the assistant", 0.25, lambda sentence: sentence.assistant),
    Discount("halting speech", 0.4, lambda sentence: is_halting(sentence.text)),
)


class Prior:
    """Weighs sentences by their own features and their place in the chat.

    The rarity of a word is read from the tokenizer: its table is sorted by the frequency of each piece of text on the
    web, in all languages. One instance serves one call, so that no word is kept in memory after it.
    """

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self._rarity: dict[str, float] = {}

    def rare(self, word: str) -> float:
        """0 for the thousand most common words, about 1 for a name or a technical term."""
        if word not in self._rarity:
            ids = tokens.encode(word if is_cjk(word) else " " + word, self.encoding)
            bits = math.log2(ids[0] + 256) if len(ids) == 1 else 17.6 + len(ids) / 2
            self._rarity[word] = max(0.0, min(bits, 20.0) - 10) / 8
        return self._rarity[word]

    def information(self, text_words: Collection[str]) -> float:
        """The summed rarity of the distinct content words, with diminishing returns."""
        return math.log1p(sum(self.rare(word) for word in set(text_words) if word not in FUNCTION_WORDS))

    def read(self, text: str, *, assistant: bool, answers: bool = False, position: float = 0.5) -> MeasuredSentence:
        """The sentence with everything that its features are measured on."""
        text_words = words(text)
        information = self.information(text_words)
        return MeasuredSentence(text, text_words, information, signs_in(text), assistant, answers, position)

    def weigh(self, text: str, *, assistant: bool) -> float:
        """How likely the sentence will be asked for, 0…1."""
        return prior_weight(self.read(text, assistant=assistant))


def prior_weight(sentence: MeasuredSentence) -> float:
    """How likely the sentence will be asked for, 0…1: the features in log odds, then the discounts."""
    score = BIAS_LOG_ODDS + sum(feature.weight * feature.measure(sentence) for feature in FEATURES)
    share = math.prod(discount.share for discount in DISCOUNTS if discount.applies(sentence))
    return round(share / (1 + math.exp(-score)), 4)


def weigh(text: str, *, encoding: str, names: Collection[str] = ()) -> float:
    """The prior weight of a line that an LLM wrote, on the scale of the extracted facts.

    ``names`` must be case-folded and are ignored, because the line says "Ana moved" where Ana said "I moved".
    """
    text = plain(text)
    if names:
        text = " ".join(word for word in text.split() if _folded_word(word) not in names)
    return Prior(encoding).weigh(text, assistant=False)


def _folded_word(word: str) -> str:
    return word.strip(".,;:!?()").casefold().removesuffix("'s").removesuffix("’s")

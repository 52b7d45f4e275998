"""The prior: how likely a sentence is to be asked for later, whoever wrote it down."""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass

from memorybank import tokens
from memorybank.extractive.kinds import is_question, is_request, kind_of
from memorybank.sentences import is_cjk, plain, words
from memorybank.sentences.vocabulary import FUNCTION, PRAISE
from memorybank.turns import Role

CAPITAL = re.compile(r"(?<=[^\W_][ ,;])(?:[A-Z]|[^\W\d_a-z])[\w'’-]+")
# A number that is not a date: those count once, as time.
NUMBER = re.compile(r"\d")
DATE = re.compile(r"(?:\b\d{1,2} )?(?:\b[A-Z][a-z]+ )?\b(?:19|20)\d\d\b(?:[-/]\d\d){0,4}")
QUOTED = re.compile(r"[\"“„«「『][^\"”“»」』]{2,80}[\"”“»」』]")
TIMED = re.compile(
    r"\b(?:(?:19|20)\d\d|january|february|march|april|june|july|august|september|october|november|december|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekend|week|month|year|years|ago|since|"
    r"montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|januar|februar|märz|mai|juni|juli|oktober|dezember|"
    r"woche|monat|jahr|seit|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|semaine|mois|année|depuis|"
    r"lunes|martes|miércoles|jueves|viernes|sábado|domingo|semana|mes|año|desde|segunda|terça|quarta|quinta|sexta|"
    r"mês|ano)\b|[年月日週周]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Weights:
    """Log odds that a sentence will be asked for; rounded, so that nothing hangs on one data set."""

    bias: float = -4.0
    information: float = 1.1
    capitals: float = 0.6
    digit: float = 1.5
    decision: float = 1.0
    quotation: float = 1.5
    time: float = 1.6
    answer: float = 0.7
    praise: float = -3.0
    position: float = -0.6
    question: float = 0.4
    assistant: float = 0.25


W = Weights()


class Prior:
    """Scores sentences by their own features and their place in the chat.

    How much a word tells is read off the tokenizer: its table is sorted by how common a piece of text is
    on the whole web, in every language. One instance serves one call, so that no word outlives it.
    """

    def __init__(self, encoding: str = "o200k_base") -> None:
        self.encoding = encoding
        self.rarity: dict[str, float] = {}

    def rare(self, word: str) -> float:
        """0 for the thousand commonest words, about 1 for a name or a term."""
        if word not in self.rarity:
            ids = tokens.encode(word if is_cjk(word) else " " + word, self.encoding)
            bits = math.log2(ids[0] + 256) if len(ids) == 1 else 17.6 + len(ids) / 2
            self.rarity[word] = max(0.0, min(bits, 20.0) - 10) / 8
        return self.rarity[word]

    def information(self, spoken: Collection[str]) -> float:
        """How much the distinct content words tell, with diminishing returns."""
        return math.log1p(sum(self.rare(word) for word in set(spoken) if word not in FUNCTION))

    def weigh(self, text: str, *, assistant: bool, answers: bool = False, position: float = 0.5) -> float:
        """How likely the sentence will be asked for, 0…1."""
        spoken = words(text)
        score = W.bias + W.information * self.information(spoken)
        score += W.capitals * min(2, len(CAPITAL.findall(text)) ** 0.5)
        score += W.digit * bool(NUMBER.search(DATE.sub("", text))) + W.quotation * bool(QUOTED.search(text))
        score += W.time * bool(TIMED.search(text)) + W.answer * answers + W.position * position
        score += W.decision * (kind_of(text) == "decision")
        score += W.praise * sum(word in PRAISE for word in spoken) / max(1, len(spoken))
        weight = 1 / (1 + math.exp(-score))
        weight *= W.question if is_question(text) or is_request(text) else 1
        return round(weight * (W.assistant if assistant else 1), 4)


def weigh(text: str, *, role: Role = "user", encoding: str = "o200k_base") -> float:
    """The prior of a line that an LLM wrote, on the scale of the extracted facts."""
    return Prior(encoding).weigh(plain(text), assistant=role == "assistant")

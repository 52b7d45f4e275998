"""The prior: how likely a sentence is to be asked for later, whoever wrote it down."""

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from memorybank.core.extraction.kinds import OWED, PURPOSE, ROLE, is_question, is_request, kind_of
from memorybank.core.turns import Role
from memorybank.language import is_cjk, plain, tokens, whole
from memorybank.language.sentences.disfluency import halts
from memorybank.language.terms import FUNCTION, PRAISE, words

CAPITAL = re.compile(r"(?<=[^\W_][ ,;])(?:[A-Z]|[^\W\d_a-z])[\w'’-]+")
# A number that is not a date: those count once, as time.
NUMBER = re.compile(r"\d")
DATE = re.compile(r"(?:\b\d{1,2} )?(?:\b[A-Z][a-z]+ )?\b(?:19|20)\d\d\b(?:[-/]\d\d){0,4}")
QUOTED = re.compile(r"[\"“„«「『][^\"”“»」』]{2,80}[\"”“»」』]")
TIMED = re.compile(rf"\b(?:19|20)\d\d\b|{whole(lambda pack: pack.dates.signs)}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence and its place in the chat: what features are measured on.

    ``information`` is how much its distinct content words tell; ``answers`` if a question stands before it;
    ``position`` is 0 at the chat's beginning and 1 at its end.
    """

    text: str
    words: Sequence[str]
    information: float
    assistant: bool
    answers: bool
    position: float


@dataclass(frozen=True, slots=True)
class Feature:
    """What a sentence has more or less of. ``weight`` is in log odds for one unit of it."""

    name: str
    weight: float
    measure: Callable[[Said], float]


@dataclass(frozen=True, slots=True)
class Discount:
    """What makes a sentence worth only this ``share`` of what it would be."""

    name: str
    share: float
    applies: Callable[[Said], bool]


BIAS = -4.0
#: Rounded, so that nothing hangs on one data set.
FEATURES = (
    Feature("information", 1.1, lambda said: said.information),
    Feature("capitals", 0.6, lambda said: min(2, len(CAPITAL.findall(said.text)) ** 0.5)),
    Feature("number", 1.5, lambda said: bool(NUMBER.search(DATE.sub("", said.text)))),
    Feature("quotation", 1.5, lambda said: bool(QUOTED.search(said.text))),
    Feature("time", 1.6, lambda said: bool(TIMED.search(said.text))),
    Feature("answer", 0.7, lambda said: said.answers),
    Feature("position", -0.6, lambda said: said.position),
    Feature("decision", 1.0, lambda said: kind_of(said.text) == "decision"),
    Feature("purpose", 1.0, lambda said: bool(PURPOSE.search(said.text))),
    Feature("role", 1.0, lambda said: bool(ROLE.search(said.text))),
    Feature("open or owed", 1.0, lambda said: bool(OWED.search(said.text))),
    Feature("praise", -3.0, lambda said: sum(word in PRAISE for word in said.words) / max(1, len(said.words))),
)
DISCOUNTS = (
    Discount("question or request", 0.4, lambda said: is_question(said.text) or is_request(said.text)),
    Discount("said by the assistant", 0.25, lambda said: said.assistant),
    Discount("halting speech", 0.4, lambda said: halts(said.text)),
)


class Prior:
    """Scores sentences by their own features and their place in the chat.

    How much a word tells is read off the tokenizer: its table is sorted by how common a piece of text is
    on the whole web, in every language. One instance serves one call, so that no word outlives it.
    """

    def __init__(self, encoding: str) -> None:
        self.encoding = encoding
        self._rarity: dict[str, float] = {}

    def rare(self, word: str) -> float:
        """0 for the thousand commonest words, about 1 for a name or a term."""
        if word not in self._rarity:
            ids = tokens.encode(word if is_cjk(word) else " " + word, self.encoding)
            bits = math.log2(ids[0] + 256) if len(ids) == 1 else 17.6 + len(ids) / 2
            self._rarity[word] = max(0.0, min(bits, 20.0) - 10) / 8
        return self._rarity[word]

    def information(self, spoken: Collection[str]) -> float:
        """How much the distinct content words tell, with diminishing returns."""
        return math.log1p(sum(self.rare(word) for word in set(spoken) if word not in FUNCTION))

    def read(self, text: str, *, assistant: bool, answers: bool = False, position: float = 0.5) -> Said:
        """The sentence with all that its features are measured on."""
        spoken = words(text)
        return Said(text, spoken, self.information(spoken), assistant, answers, position)

    def weigh(self, text: str, *, assistant: bool, answers: bool = False, position: float = 0.5) -> float:
        """How likely the sentence will be asked for, 0…1."""
        return worth(self.read(text, assistant=assistant, answers=answers, position=position))


def worth(said: Said) -> float:
    """How likely what was said will be asked for, 0…1: the features in log odds, then the discounts."""
    score = BIAS + sum(feature.weight * feature.measure(said) for feature in FEATURES)
    share = math.prod(discount.share for discount in DISCOUNTS if discount.applies(said))
    return round(share / (1 + math.exp(-score)), 4)


def weigh(text: str, *, role: Role = "user", encoding: str, names: Collection[str] = ()) -> float:
    """The prior of a line that an LLM wrote, on the scale of the extracted facts.

    ``names``, case-folded, tell nothing: it says "Ana moved" where Ana said "I moved".
    """
    told = " ".join(word for word in plain(text).split() if _bare(word) not in names) if names else plain(text)
    return Prior(encoding).weigh(told, assistant=role == "assistant")


def _bare(word: str) -> str:
    return word.strip(".,;:!?()").casefold().removesuffix("'s").removesuffix("’s")

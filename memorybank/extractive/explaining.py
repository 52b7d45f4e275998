"""Why extraction would keep a sentence, and why not: the features behind its worth, as plain values."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from memorybank import quarantine
from memorybank.extractive import Sentence, candidates
from memorybank.extractive.kinds import kind_of
from memorybank.extractive.prior import BIAS, DISCOUNTS, FEATURES, Prior, worth
from memorybank.turns import Turn, Utterance


@dataclass(frozen=True, slots=True)
class Measured:
    """One feature of a sentence: ``measure`` × ``weight`` is what it adds to the log odds."""

    name: str
    measure: float
    weight: float


@dataclass(frozen=True, slots=True)
class ExplainedLine:
    """What extraction makes of one sentence. ``held_back`` says why no prompt would get it ("": one would).

    ``worth`` is 0…1: the log odds of ``bias`` and ``features`` as a probability, times the share of each discount.
    """

    text: str
    kind: str
    too_short: bool
    held_back: str
    bias: float
    features: tuple[Measured, ...]
    discounts: tuple[tuple[str, float], ...]
    worth: float


def explain(text: str, *, assistant: bool, at: datetime, encoding: str) -> Iterator[ExplainedLine]:
    """Every sentence of ``text`` as if it were a message of its own, said at ``at`` by a person or by the model."""
    said = Utterance("assistant", "assistant", text) if assistant else Utterance("user", "somebody", text)
    prior = Prior(encoding)
    for sentence in candidates([Turn(1, at, (said,))]):
        yield _explained(sentence, prior)


def _explained(sentence: Sentence, prior: Prior) -> ExplainedLine:
    said = sentence.read(prior)
    return ExplainedLine(
        text=said.text,
        kind=kind_of(said.text),
        too_short=not sentence.stands_alone(),
        held_back=quarantine.reason(said.text),
        bias=BIAS,
        features=tuple(Measured(each.name, float(each.measure(said)), each.weight) for each in FEATURES),
        discounts=tuple((each.name, each.share) for each in DISCOUNTS if each.applies(said)),
        worth=worth(said),
    )

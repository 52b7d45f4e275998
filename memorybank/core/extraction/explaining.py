"""Explain why extraction would keep a sentence or not: the features behind its weight, as plain values."""

from collections.abc import Iterator
from datetime import datetime

from memorybank.core.extraction import CandidateSentence, candidates
from memorybank.core.extraction.kinds import kind_of
from memorybank.core.extraction.salience import BIAS_LOG_ODDS, DISCOUNTS, FEATURES, Prior, prior_weight
from memorybank.core.reports import ExplainedLine, FeatureValue
from memorybank.core.turns import Turn, Utterance
from memorybank.safety import quarantine


def explain(text: str, *, assistant: bool, at: datetime, encoding: str) -> Iterator[ExplainedLine]:
    """Every sentence of ``text`` as if it were a separate message, said at ``at`` by a person or by the model."""
    utterance = Utterance("assistant", "assistant", text) if assistant else Utterance("user", "somebody", text)
    prior = Prior(encoding)
    for sentence in candidates([Turn(1, at, (utterance,))]):
        yield _explained(sentence, prior)


def _explained(sentence: CandidateSentence, prior: Prior) -> ExplainedLine:
    measured = sentence.read(prior)
    return ExplainedLine(
        text=measured.text,
        kind=kind_of(measured.text),
        too_short=not sentence.stands_alone(),
        held_back=quarantine.reason(measured.text),
        bias=BIAS_LOG_ODDS,
        features=tuple(
            FeatureValue(feature.name, float(feature.measure(measured)), feature.weight) for feature in FEATURES
        ),
        discounts=tuple((discount.name, discount.share) for discount in DISCOUNTS if discount.applies(measured)),
        worth=prior_weight(measured),
    )

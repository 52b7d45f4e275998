"""Why extraction would keep a sentence, and why not: the features behind its worth, as plain values."""

from collections.abc import Iterator
from datetime import datetime

from memorybank.core.extraction import Sentence, candidates
from memorybank.core.extraction.kinds import kind_of
from memorybank.core.extraction.salience import BIAS, DISCOUNTS, FEATURES, Prior, worth
from memorybank.core.reports import ExplainedLine, Measured
from memorybank.core.turns import Turn, Utterance
from memorybank.safety import quarantine


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

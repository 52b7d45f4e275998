"""Explain how extraction judges a sentence."""

from datetime import datetime

from memorybank import conf
from memorybank.clock import PRESENT, at_present
from memorybank.core.extraction import explaining
from memorybank.core.reports import ExplainedLine


@at_present
def explain_line(text: str, *, assistant: bool = False, now: datetime = PRESENT) -> list[ExplainedLine]:
    """Why extraction would keep each sentence of ``text``, or not, as if it were a separate message."""
    return list(explaining.explain(text, assistant=assistant, at=now, encoding=conf.current().encoding))

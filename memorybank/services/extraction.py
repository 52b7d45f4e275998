"""Explain why extraction keeps or drops a sentence."""

from datetime import datetime

from memorybank import conf
from memorybank.clock import PRESENT, at_present
from memorybank.core.extraction import explaining
from memorybank.core.reports import ExplainedLine


@at_present
def explain_line(text: str, *, assistant: bool = False, now: datetime = PRESENT) -> list[ExplainedLine]:
    """For each sentence of ``text``, why extraction would keep or drop it if it were a separate message."""
    return list(explaining.explain(text, assistant=assistant, at=now, encoding=conf.current().encoding))

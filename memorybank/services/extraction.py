"""Why extraction would keep a sentence, and why not."""

from datetime import datetime

from memorybank import conf
from memorybank.clock import PRESENT, at_present
from memorybank.core.extraction import explaining
from memorybank.core.reports import ExplainedLine


@at_present
def explain_line(text: str, *, assistant: bool = False, now: datetime = PRESENT) -> list[ExplainedLine]:
    """Why extraction would keep a sentence of ``text``, and why not, as if it were a message of its own."""
    return list(explaining.explain(text, assistant=assistant, at=now, encoding=conf.current().encoding))

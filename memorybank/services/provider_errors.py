"""Clean the errors of providers that another app calls."""

from collections.abc import Sequence

from memorybank.llm.error_scrubbing import MAX_ERROR_CHARACTERS, scrub
from memorybank.safety.redaction import redact


def clean_error(message: str, *, sent: Sequence[str]) -> str:
    """A provider's error without words of ``sent``, secrets and personal data; bounded."""
    return redact(scrub(message[:MAX_ERROR_CHARACTERS], sent)).text[:MAX_ERROR_CHARACTERS]

"""Clean error messages of model providers that other apps call."""

from collections.abc import Sequence

from memorybank.llm.error_scrubbing import MAX_ERROR_CHARACTERS, scrub
from memorybank.safety.redaction import redact


def clean_error(message: str, *, sent: Sequence[str]) -> str:
    """A provider's error message without words of ``sent``, secrets and personal data; at most 500 characters."""
    return redact(scrub(message[:MAX_ERROR_CHARACTERS], sent)).text[:MAX_ERROR_CHARACTERS]

"""The app's exceptions, whose class tells a caller whether a retry can succeed."""

import re
from traceback import format_tb


class MemoryBankError(Exception):
    """Base class of the app's exceptions, with messages for people."""


class InvalidInput(MemoryBankError, ValueError):
    """The caller's data is wrong; the message names the field and the limit, and repeats nothing that was sent."""


class DisclosureRequired(InvalidInput):
    """The bank may not be switched on before somebody has accepted the privacy disclosure."""


class NotRemembered(MemoryBankError):
    """The bank is off or the chat is private: it may not be summarised."""


class AppendOnly(MemoryBankError):
    """An attempt to change or delete a row of an audit log."""


class OutdatedWork(MemoryBankError):
    """The state changed during the work (lease lost, epoch raised, entry absorbed), so nothing may be written."""


class LLMError(MemoryBankError):
    """A model call failed. The message is the provider's, at most 500 characters.

    ``outcome`` is its name in the ledger (a value of ``LLMCall.Outcome``).
    """

    outcome = "rejected"


class LLMUnavailable(LLMError):
    """An outage, a timeout or a rate limit: delay all calls to this endpoint, then retry.

    ``retry_after`` is the provider's Retry-After in seconds, if it sent one.
    """

    outcome = "unavailable"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class LLMMisconfigured(LLMError):
    """Wrong key, model or address (401, 403, 404): calls fail until an operator corrects the configuration."""

    outcome = "misconfigured"


class LLMRejected(LLMError):
    """The request is at fault (400, an unusable answer): the same request will fail again."""


class LLMTooLong(LLMRejected):
    """The prompt exceeds the model's context window; a shorter prompt may succeed."""


class UnusableAnswer(LLMRejected):
    """The model answered, but no line of the answer passed validation. The call still costs money."""

    outcome = "unusable"


class NotCompacted(MemoryBankError):
    """A chat was not compacted and is unchanged; the message gives the reason and the token counts."""


class NothingToCompact(NotCompacted):
    """There is nothing to compact yet, which is no failure: retry after more turns."""


def describe(error: LLMError) -> str:
    """For the log: the exception class and HTTP status, without the provider's message, which may quote a chat."""
    status = re.match(r"HTTP \d{3}", str(error))
    return f"{type(error).__name__}{f' ({status[0]})' if status else ''}"


def public_message(error: Exception) -> str:
    """For users and the database: the error's type without its message, which may contain chat text."""
    return f"Unexpected {type(error).__name__}: see the log."


def log_message(error: Exception) -> str:
    """For the log: the error's type and traceback without its message, which may contain chat text."""
    return f"unexpected {type(error).__name__}\n{''.join(format_tb(error.__traceback__))}"

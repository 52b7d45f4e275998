"""The app's exceptions; the class says whether to try again."""

import re
from traceback import format_tb


class MemoryBankError(Exception):
    """Base class: everything this app refuses or fails at, with a message for people."""


class InvalidInput(MemoryBankError, ValueError):
    """The caller's data is wrong; the message names the field and the limit."""


class DisclosureRequired(InvalidInput):
    """The bank may not be switched on before somebody has accepted the privacy disclosure."""


class NotRemembered(MemoryBankError):
    """The bank is off or the chat is private: it may not be summarised."""


class AppendOnly(MemoryBankError):
    """Somebody tried to change or delete a row of an audit log."""


class OutdatedWork(MemoryBankError):
    """The state changed during the work (lease lost, epoch raised, entry absorbed): write nothing."""


class LLMError(MemoryBankError):
    """A model call failed. The message is the provider's, at most 500 characters.

    ``outcome`` is its name in the ledger (a value of ``LLMCall.Outcome``).
    """

    outcome = "rejected"


class LLMUnavailable(LLMError):
    """An outage, a time-out or a rate limit. Try again later, with all calls to this endpoint.

    ``retry_after`` is the provider's Retry-After in seconds, if it sent one.
    """

    outcome = "unavailable"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class LLMMisconfigured(LLMError):
    """Wrong key, model or address (401, 403, 404): it fails until an operator acts."""

    outcome = "misconfigured"


class LLMRejected(LLMError):
    """The request is at fault (400, an unusable answer): the same request will fail again."""


class LLMTooLong(LLMRejected):
    """The prompt exceeds the model's context window: a shorter one may be answered."""


class UnusableAnswer(LLMRejected):
    """The model answered, but no line of the answer may be kept. The call was still paid for."""

    outcome = "unusable"


class NotCompacted(MemoryBankError):
    """A chat was not compacted and is unchanged; the message says why, with its tokens."""


class NothingToCompact(NotCompacted):
    """There is nothing to compact: no failure, and worth another attempt after more turns."""


def describe(error: LLMError) -> str:
    """For the log: the kind of failure with its HTTP status, without the provider's words, which may quote a chat."""
    status = re.match(r"HTTP \d{3}", str(error))
    return f"{type(error).__name__}{f' ({status[0]})' if status else ''}"


def public_message(error: Exception) -> str:
    """For people and for the database: there was an error, without its text, which may be chat text."""
    return f"Unexpected {type(error).__name__}: see the log."


def log_message(error: Exception) -> str:
    """For the log: the type and traceback of the error without its text, which may be chat text."""
    return f"unexpected {type(error).__name__}\n{''.join(format_tb(error.__traceback__))}"

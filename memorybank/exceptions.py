"""What can go wrong; the class says whether to try again."""

from traceback import format_tb


class MemoryBankError(Exception):
    """Anything this app refuses or fails at, with a message fit for a person."""


class InvalidInput(MemoryBankError, ValueError):
    """The caller's data is wrong; the message names the field and the limit."""


class DisclosureRequired(InvalidInput):
    """The bank may not be switched on before somebody has accepted the privacy disclosure."""


class NotRemembered(MemoryBankError):
    """The bank is off, or the chat is private: nothing may be summarised from it."""


class AppendOnly(MemoryBankError):
    """Somebody tried to change or delete a row of an audit trail."""


class Stale(MemoryBankError):
    """The world moved while we worked (lease lost, epoch bumped, entry absorbed): write nothing."""


class LLMError(MemoryBankError):
    """A model call failed. Carries the provider's own words, at most 500 characters.

    ``outcome`` is how the cost ledger calls it (a value of ``LLMCall.Outcome``).
    """

    outcome = "rejected"


class LLMUnavailable(LLMError):
    """Nobody's fault: an outage, a time-out, a rate limit. Try again later, all of you.

    ``retry_after`` is the provider's own wish in seconds, if it gave one.
    """

    outcome = "unavailable"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class LLMMisconfigured(LLMError):
    """Wrong key, model or address (401, 403, 404): an operator must act before it can work."""

    outcome = "misconfigured"


class LLMRejected(LLMError):
    """This request is at fault (400, an unusable answer): the same request will fail again."""


class LLMTooLong(LLMRejected):
    """The prompt is longer than the model reads: a shorter one may be answered."""


class Unusable(LLMRejected):
    """The model answered, but not one line of it may be kept. It was paid for all the same."""

    outcome = "unusable"


class NotCompacted(MemoryBankError):
    """A chat was not shortened and is as it was; the message says why, with its tokens."""


class NothingToCompact(NotCompacted):
    """There is nothing that a checkpoint could stand for: no failure, and worth trying again when more was said."""


def blurred(error: Exception) -> str:
    """For people and for the database: that something is wrong which is nobody's to read here."""
    return f"Unexpected {type(error).__name__}: see the log."


def unexpected(error: Exception) -> str:
    """For the log: what it is and where it happened, not its own words, which may be chat text."""
    return f"unexpected {type(error).__name__}\n{''.join(format_tb(error.__traceback__))}"

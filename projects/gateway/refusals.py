"""The gateway's errors, before a protocol formats them."""


class Refusal(Exception):
    """A refused request, with its HTTP status and a message for the client's developer."""

    def __init__(self, status: int, message: str, retry_after: int = 0) -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after

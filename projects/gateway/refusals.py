"""What the gateway says instead of an answer, before its protocol gives it a shape."""


class Refusal(Exception):
    """A request that goes no further. ``status`` is HTTP's, the message is for whoever wrote the program."""

    def __init__(self, status: int, message: str, retry_after: int = 0) -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after

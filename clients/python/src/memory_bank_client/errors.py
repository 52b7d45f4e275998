"""The errors that a refused request raises."""

from collections.abc import Sequence
from typing import Any


class MemoryBankError(Exception):
    """The server refused a request. ``errors`` names the fields, as RFC 9457 problem documents do."""

    def __init__(self, status: int, detail: str, errors: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__(f"{status}: {detail}")
        self.status, self.detail, self.errors = status, detail, list(errors)

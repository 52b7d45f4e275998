"""A model that sends a word only when the test calls ``say``, so that tests can look at unfinished answers."""

import threading
from typing import Any

from .openai_server import OpenAIServer

WORDS = ["# Plan", "\n\nFirst ", "**second** ", "third ", "fourth ", "fifth."]
#: More pieces than any answer has; the first and the last piece are empty.
ALL = 20


class Dictated(OpenAIServer):
    """Sends the pieces of its latest answer that :meth:`say` allowed, even in advance; a request sets ``asked``."""

    def __init__(self) -> None:
        super().__init__(keep=1000)
        self.answer = lambda messages: "".join(WORDS)
        self.asked = threading.Event()
        self._here = threading.local()
        self.begin()

    def begin(self) -> None:
        """Let earlier answers run to their end without :meth:`say`, and reset ``asked``."""
        self.mode, self._pieces, self._latest = "ok", threading.Semaphore(0), object()
        self.asked.clear()

    def record(self, body: dict[str, Any], key: str) -> None:
        super().record(body, key)
        self._here.call = self._latest = object()
        self.asked.set()

    def before_piece(self) -> None:
        while self._here.call is self._latest and not self.stopping.is_set() and not self._pieces.acquire(timeout=0.1):
            pass

    def say(self, pieces: int) -> None:
        """Allow this many more pieces of the answer."""
        self._pieces.release(pieces)

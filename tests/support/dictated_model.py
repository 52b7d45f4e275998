"""A model that says a word when it is told to, so that a test may look at an answer in the making."""

import threading
from typing import Any

from .openai_server import OpenAIServer

WORDS = ["# Plan", "\n\nFirst ", "**second** ", "third ", "fourth ", "fifth."]
#: More pieces than an answer has, which begins with one that is empty and ends with another.
ALL = 20


class Dictated(OpenAIServer):
    """Says one more word of its latest answer whenever it is told to, also beforehand; ``asked`` when it was asked."""

    def __init__(self) -> None:
        super().__init__(keep=1000)
        self.answer = lambda messages: "".join(WORDS)
        self.asked = threading.Event()
        self._here = threading.local()
        self.begin()

    def begin(self) -> None:
        """Whoever waited for another word waits no more."""
        self.mode, self._told, self._latest = "ok", threading.Semaphore(0), object()
        self.asked.clear()

    def record(self, body: dict[str, Any], key: str) -> None:
        super().record(body, key)
        self._here.call = self._latest = object()
        self.asked.set()

    def before_piece(self) -> None:
        while self._here.call is self._latest and not self.stopping.is_set() and not self._told.acquire(timeout=0.1):
            pass

    def say(self, pieces: int) -> None:
        """As many more."""
        self._told.release(pieces)

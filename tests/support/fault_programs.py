"""The programs of a fault run: each writes, streams, corrects, pins, erases and changes audiences in chats of its own.

They tell ``fault_history`` what was acknowledged. What a failed request did is not known, and not judged.
"""

import json
import random
import threading
import time
from contextlib import suppress
from http.client import HTTPException
from typing import Any

from .fault_history import EVERYBODY, NOBODY, FaultHistory, SentText
from .gateway_site import PROJECTS, Gateway

MEMBER = "ann"
#: What a request about a chat's audience says.
AUDIENCES: dict[str, dict[str, Any]] = {
    EVERYBODY: {"private": False},
    MEMBER: {"private": True, "readers": [MEMBER]},
    NOBODY: {"private": True},
}
FIRST_TURNS = 4
#: So few are pinned at once that the block has room for all.
MOST_PINS = 5


class FaultProgram(threading.Thread):
    """A program. It sends a request again a few times, then lets it be."""

    def __init__(
        self,
        number: int,
        seed: int,
        found: Gateway,
        keys: dict[str, str],
        history: FaultHistory,
        over: threading.Event,
        answer: str = "Noted.",
    ) -> None:
        super().__init__(name=f"program-{number}", daemon=True)
        self.number, self.found, self.keys, self.history, self.over = number, found, keys, history, over
        self.answer = answer
        self.draw, self.texts = random.Random(seed * 100 + number), 0
        self.failure: Exception | None = None

    def run(self) -> None:
        weights = {
            self.write: 45, self.stream: 12, self.correct: 14, self.pin: 8, self.replace: 7, self.erase: 8,
            self.change_audience: 8, self.withdraw: 2,
        }  # fmt: skip
        try:
            for project in PROJECTS[::2]:
                for _ in range(FIRST_TURNS):
                    self.write(project, self.kept_chat())
            while not self.over.is_set():
                project = self.draw.choice(PROJECTS[::2])
                self.draw.choices(list(weights), list(weights.values()))[0](project)
                self.history.counts["steps"] += 1
                time.sleep(self.draw.uniform(0, 0.1))
        except Exception as error:
            self.failure = error

    def erased_chat(self) -> str:
        """One of the chats that are erased from time to time."""
        return f"chat-{self.number}-{self.draw.randrange(6)}"

    def kept_chat(self) -> str:
        """One of the chats that are never erased, whose facts are corrected and pinned."""
        return f"kept-{self.number}-{self.draw.randrange(3)}"

    def write(self, project: str, chat: str = "") -> None:
        chat = chat or self.draw.choice([self.erased_chat, self.kept_chat])()
        marker, text = self.new(project, chat, self.history.said)
        self.say(text, marker, f"Pallet {marker} is in hall {self.draw.randrange(9)}.")

    def stream(self, project: str) -> None:
        """Through the gateway, which promises less: at most once."""
        marker, _ = self.new(project, f"gateway-{self.erased_chat()}", self.history.said)
        messages = [{"role": "user", "content": f"Pallet {marker} is in hall {self.draw.randrange(9)}."}]
        self.request(project, "/v1/chat/completions", {"model": "m", "stream": True, "messages": messages})

    def correct(self, project: str) -> None:
        """Give a fact another text; most are said once, some were corrected before."""
        chat = self.draw.choice([self.erased_chat, self.kept_chat, self.kept_chat])()
        facts = [fact for fact in self.facts(project, chat) if "Pallet mk-" in fact["text"] and not fact["pinned"]]
        if not facts:
            return
        fact = self.draw.choice(facts)
        marker, text = self.new(project, chat, self.history.edits)
        words = {"text": f"Pallet {marker} was moved to the yard."}
        status, _ = self.request(project, f"/api/v1/facts/{fact['id']}", words, method="PATCH")
        text.acknowledged = status == 200
        self.history.correct(fact["text"], is_certain=text.acknowledged)

    def pin(self, project: str) -> None:
        """Pin a fact of a chat that stays, or unpin one."""
        facts = [fact for fact in self.facts(project, self.kept_chat()) if "mk-" in fact["text"]]
        pinned = [fact for fact in facts if fact["pinned"]]
        facts = pinned if len(pinned) >= MOST_PINS else facts
        if facts:
            fact = self.draw.choice(facts)
            change = {"pinned": not fact["pinned"]}
            status, _ = self.request(project, f"/api/v1/facts/{fact['id']}", change, method="PATCH")
            self.history.pin(fact["id"], fact["text"], change["pinned"] if status == 200 else None)

    def replace(self, project: str) -> None:
        """Say a value, and later in the same chat that another one holds."""
        chat, (old, new) = self.kept_chat(), self.draw.sample(range(1, 9), 2)
        before, first = self.new(project, chat, self.history.said)
        crate = f"Crate C{self.number}Q{self.texts}"  # each marker is in one text only
        self.say(first, before, f"{crate} stands in Hall {old} ({before}).")
        after, second = self.new(project, chat, self.history.said)
        self.say(second, after, f"{crate} moved from Hall {old} to Hall {new} ({after}).")
        if first.acknowledged and second.acknowledged:
            self.history.replaced[before] = after

    def erase(self, project: str) -> None:
        chat = self.erased_chat()
        if self.send(project, "/api/v1/forget", {"chat": chat}, SentText(project, chat), least=True) in (200, 422):
            self.history.erase(project, chat)
            self.history.counts["erasures"] += 1

    def change_audience(self, project: str) -> None:
        """Write in a chat, then choose who may read it."""
        chat = f"turned-{self.number}-{self.draw.randrange(3)}"
        self.write(project, chat)
        audience = self.draw.choice(list(AUDIENCES))
        status, _ = self.request(project, f"/api/v1/chats/{chat}", AUDIENCES[audience], method="PATCH")
        if status != 404:
            self.history.audiences[project, chat] = audience if status == 200 else None

    def withdraw(self, project: str) -> None:
        """Make a chat private for nobody, for good."""
        chat = f"private-{self.erased_chat()}"
        self.write(project, chat)
        status, _ = self.request(project, f"/api/v1/chats/{chat}", AUDIENCES[NOBODY], method="PATCH")
        if status == 200:
            self.history.audiences[project, chat] = NOBODY

    def new(self, project: str, chat: str, kept: dict[str, SentText]) -> tuple[str, SentText]:
        self.texts += 1
        marker, text = f"mk-{self.number}-{self.texts}-x", SentText(project, chat)
        with self.history.lock:
            kept[marker] = text
        return marker, text

    def facts(self, project: str, chat: str) -> list[dict[str, Any]]:
        """The newest facts of a chat."""
        status, listed = self.request(project, f"/api/v1/facts?limit=50&chat={chat}")
        return listed.get("items", []) if status == 200 else []

    def say(self, text: SentText, marker: str, words: str) -> None:
        body = {"chat": text.chat, "author": MEMBER, "question": words, "answer": self.answer, "id": marker}
        self.send(text.project, "/api/v1/outputs", body, text)

    def send(self, project: str, path: str, body: dict[str, Any], text: SentText, *, least: bool = False) -> int:
        """Send it up to four times, or until it is answered; the last status."""
        status, tries = 0, 0
        while status not in (200, 201, 422) and (least or tries < 4) and not (tries > 100):
            status, _ = self.request(project, path, body)
            tries += 1
            time.sleep(0.05 * min(tries, 10))
        text.acknowledged = status in (200, 201)
        return status

    def request(self, project: str, path: str, body: Any = None, method: str = "") -> tuple[int, dict[str, Any]]:
        """The status, 0 if nobody answered to the end, and the body if it is JSON."""
        try:
            status, _, content = self.found.post(
                path, body, method=method, Authorization=f"Bearer {self.keys[project]}"
            )
        except (OSError, HTTPException):
            status, content = 0, b""
            time.sleep(0.5)  # it is being started again
        self.history.counts["requests"] += 1
        self.history.counts[f"status {status}"] += 1
        with suppress(ValueError):
            parsed = json.loads(content)
            return status, parsed if isinstance(parsed, dict) else {}
        return status, {}

"""Dry run of an import: count people, chats, turns, dates, tokens and model cost without recording anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from memorybank import services

from .exports import BadConversation, ExportedConversation, ExportedTurn, LeftOut

#: Tokens are counted in this many turns; for all others they are estimated from the characters.
SAMPLE_TURNS = 200
#: How many error messages are kept and shown; further errors are only counted.
MAX_ERRORS_SHOWN = 100


@dataclass(slots=True)
class Estimate:
    """Counts of the contents of a file. ``known`` counts turns that are already recorded.

    A turn is a question with its answer; ``messages`` counts both, as people do. ``empty`` counts chats without turns.
    """

    people: Counter[str] = field(default_factory=Counter)
    chats: int = 0
    turns: int = 0
    messages: int = 0
    empty: int = 0
    versions: int = 0
    known: int = 0
    first: datetime | None = None
    last: datetime | None = None
    left_out: Counter[LeftOut] = field(default_factory=Counter)
    bad: int = 0
    reasons: list[str] = field(default_factory=list)
    _chats: set[tuple[str, str]] = field(default_factory=set)
    _characters: int = 0
    _sample: list[str] = field(default_factory=list)

    def add(self, conversation: ExportedConversation | BadConversation, known: int = 0) -> None:
        """Count a conversation, of which ``known`` turns are already recorded."""
        if isinstance(conversation, BadConversation):
            self.add_bad(str(conversation), is_end=conversation.is_end)
            return
        self.empty += not conversation.turns
        self.add_turns(conversation.person, conversation.key, conversation.turns)
        self.versions += sum(1 for _ in conversation.in_order()) - len(conversation.turns)
        self.left_out.update(conversation.left_out)
        self.known += known

    def add_turns(self, person: str, chat: str, turns: Iterable[ExportedTurn]) -> None:
        """Count turns of a chat. May be called again for the same chat with further turns."""
        for turn in turns:
            if (person, chat) not in self._chats:
                self._chats.add((person, chat))
                self.people[person] += 1
                self.chats += 1
            self.turns += 1
            self.messages += bool(turn.question) + bool(turn.answer)
            self.first = min(self.first or turn.created_at, turn.created_at)
            self.last = max(self.last or turn.created_at, turn.created_at)
            self._characters += len(turn.question) + len(turn.answer)
            if len(self._sample) < SAMPLE_TURNS:
                self._sample.append(turn.question + turn.answer)

    def add_bad(self, why: str, *, is_end: bool = False) -> None:
        """Count a line or conversation that cannot be imported. That nothing after it was read is said first."""
        self.bad += 1
        self.reasons = ([why, *self.reasons] if is_end else [*self.reasons, why])[:MAX_ERRORS_SHOWN]

    @property
    def tokens(self) -> int:
        """All tokens, estimated from the tokens per character of the first ``SAMPLE_TURNS`` turns."""
        counted = sum(map(services.count_tokens, self._sample))
        return round(self._characters * counted / (sum(map(len, self._sample)) or 1))

    @property
    def cost(self) -> tuple[int, Decimal | None]:
        """The number of calls to the summary model, and their cost; the cost is None without a model."""
        return services.summary_cost(self.chats, self.tokens)

    def as_dict(self) -> dict[str, Any]:
        """The counts for a report. Without a model, there are no calls and the cost is "0"."""
        calls, cost = self.cost
        return {
            "people": len(self.people),
            "chats": self.chats,
            "turns": self.turns,
            "messages": self.messages,
            "empty_chats": self.empty,
            "other_versions": self.versions,
            "known_turns": self.known,
            "first": self.first.isoformat() if self.first else "",
            "last": self.last.isoformat() if self.last else "",
            "tokens": self.tokens,
            "model_calls": calls,
            "cost": "0" if cost is None else f"{cost:f}",
            "left_out": {reason.value: count for reason, count in self.left_out.items() if count},
            "bad": self.bad,
        }

"""The responses that clients got in a fault run, and checks of the database against them, without product code.

Every sent text contains a unique marker. The marker of an acknowledged text must be stored exactly once, that of a
failed request at most once, and that of an erased text in no table.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

Ask = Callable[[str], list[tuple[Any, ...]]]
MARKER = re.compile(r"mk-\d+-\d+-x")
#: A number that the lying model invents.
LIE = "77424242"
#: Tables with data derived from turns: data of a private chat without readers must not be there.
DERIVED = ("memorybank_fact", "memorybank_searchdocument", "memorybank_storedblock", "memorybank_blocklineversion")


@dataclass
class SentText:
    """One text that a client sent."""

    project: str
    chat: str
    acknowledged: bool = False
    erased: bool = False


@dataclass
class FaultHistory:
    """The history of one fault run; clients in several threads write to it."""

    said: dict[str, SentText] = field(default_factory=dict)
    private: set[tuple[str, str]] = field(default_factory=set)
    edits: dict[str, SentText] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    lock: Lock = field(default_factory=Lock)

    def erase(self, project: str, chat: str) -> None:
        """Record that a client's request to erase the chat was acknowledged."""
        with self.lock:
            for text in (*self.said.values(), *self.edits.values()):
                if (text.project, text.chat) == (project, chat):
                    text.erased = True

    def acknowledged_of(self, client: int) -> int:
        """The number of a client's acknowledged texts."""
        with self.lock:
            return sum(text.acknowledged for marker, text in self.said.items() if marker.startswith(f"mk-{client}-"))

    def judge(self, ask: Ask) -> list[str]:
        """All errors found in the database, through the SQL function ``ask``; empty if there are none."""
        return [*self._lost_or_doubled(ask), *self._resurrected(ask), *self._uncovered(ask), *self._leaked(ask)]

    def _lost_or_doubled(self, ask: Ask) -> Iterator[str]:
        questions = ask("SELECT question FROM memorybank_output")
        counts = Counter(marker for (question,) in questions for marker in set(MARKER.findall(question)))
        for marker, text in self.said.items():
            if counts[marker] > 1:
                yield f"{marker} is there {counts[marker]} times"
            if text.acknowledged and not text.erased and not counts[marker]:
                yield f"{marker} of {text.chat} was acknowledged and is lost"
        edited = self._markers(ask, "memorybank_fact")
        for marker, text in self.edits.items():
            withdrawn = text.erased or (text.project, text.chat) in self.private
            if text.acknowledged and not withdrawn and marker not in edited:
                yield f"the correction {marker} of a fact of {text.chat} is lost"

    def _resurrected(self, ask: Ask) -> Iterator[str]:
        erased = {marker for marker, text in (*self.said.items(), *self.edits.items()) if text.erased}
        tables = ask("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        for (table,) in tables:
            for marker in sorted(erased & self._markers(ask, table)):
                yield f"{marker} was erased and is in {table}"

    def _uncovered(self, ask: Ask) -> Iterator[str]:
        """Each answered turn of a non-private chat must be in exactly one leaf."""
        yield from (
            f"turn {pk} of chat {chat} is in {leaves} leaves"
            for pk, chat, leaves in ask(
                "SELECT o.id, c.key, count(e.id) FROM memorybank_output o JOIN memorybank_chat c ON c.id = o.chat_id"
                " LEFT JOIN memorybank_entry e ON e.chat_id = c.id AND e.granularity = 'conversation'"
                " AND o.sequence BETWEEN e.first_output AND e.last_output"
                " WHERE o.status = 'ok' AND NOT c.private GROUP BY o.id, c.key HAVING count(e.id) <> 1"
            )
        )

    def _leaked(self, ask: Ask) -> Iterator[str]:
        private = {marker for marker, text in self.said.items() if (text.project, text.chat) in self.private}
        for table in DERIVED:
            for marker in sorted(private & self._markers(ask, table)):
                yield f"{marker} of a private chat is in {table}"
        blocks = ask(
            "SELECT t.slug || '/' || p.slug, b.text FROM memorybank_storedblock b JOIN projects_project p"
            " ON p.bank_id = b.bank_id JOIN projects_tenant t ON t.id = p.tenant_id"
        )
        for project, block in blocks:
            for marker in set(MARKER.findall(block)):
                known_text = self.said.get(marker) or self.edits.get(marker)
                if known_text and known_text.project != project:
                    yield f"{marker} of {known_text.project} is in the block of {project}"
        if any(LIE in text for (text,) in ask("SELECT text FROM memorybank_fact")):
            yield "a number that a model invented is a fact"

    @staticmethod
    def _markers(ask: Ask, table: str) -> set[str]:
        """All markers in any column of a table."""
        return {marker for (row,) in ask(f"SELECT t::text FROM {table} t") for marker in MARKER.findall(row)}

"""What clients of a fault run were told, and a judge of what the database has of it, which uses no code of the product.

Every text that is said contains a marker that no other text has. A marker that was acknowledged must be there once; one
whose request failed, at most once; one that was erased, nowhere in any table.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

Ask = Callable[[str], list[tuple[Any, ...]]]
MARKER = re.compile(r"mk-\d+-\d+-x")
#: What a model says that lies.
LIE = "77424242"
#: What is derived from turns: nothing of a chat that is private for nobody may be there.
DERIVED = ("memorybank_fact", "memorybank_searchdocument", "memorybank_storedblock", "memorybank_blocklineversion")


@dataclass
class Said:
    """One text that a client sent."""

    project: str
    chat: str
    acknowledged: bool = False
    erased: bool = False


@dataclass
class History:
    """Of one fault run; clients in several threads write into it."""

    said: dict[str, Said] = field(default_factory=dict)
    private: set[tuple[str, str]] = field(default_factory=set)
    edits: dict[str, Said] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    lock: Lock = field(default_factory=Lock)

    def erase(self, project: str, chat: str) -> None:
        """A client was told that the chat is erased."""
        with self.lock:
            for text in (*self.said.values(), *self.edits.values()):
                if (text.project, text.chat) == (project, chat):
                    text.erased = True

    def acknowledged_of(self, client: int) -> int:
        """How many of a client's texts were acknowledged."""
        with self.lock:
            return sum(text.acknowledged for marker, text in self.said.items() if marker.startswith(f"mk-{client}-"))

    def judge(self, ask: Ask) -> list[str]:
        """Everything that is wrong; empty if nothing is."""
        return [*self._lost_or_doubled(ask), *self._resurrected(ask), *self._uncovered(ask), *self._leaked(ask)]

    def _lost_or_doubled(self, ask: Ask) -> Iterator[str]:
        questions = ask("SELECT question FROM memorybank_output")
        found = Counter(marker for (question,) in questions for marker in set(MARKER.findall(question)))
        for marker, text in self.said.items():
            if found[marker] > 1:
                yield f"{marker} is there {found[marker]} times"
            if text.acknowledged and not text.erased and not found[marker]:
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
        """Each answered turn of a chat that is remembered is in exactly one leaf."""
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
                told = self.said.get(marker) or self.edits.get(marker)
                if told and told.project != project:
                    yield f"{marker} of {told.project} is in the block of {project}"
        if any(LIE in text for (text,) in ask("SELECT text FROM memorybank_fact")):
            yield "a number that a model invented is a fact"

    @staticmethod
    def _markers(ask: Ask, table: str) -> set[str]:
        """The markers anywhere in a table."""
        return {marker for (row,) in ask(f"SELECT t::text FROM {table} t") for marker in MARKER.findall(row)}

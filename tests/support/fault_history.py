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
#: What a replaced value is a value of.
CRATE = re.compile(r"\bC\d+Q\d+\b")
#: A number that the lying model invents.
LIE = "77424242"
#: Who may read a chat; a member's name is the third.
EVERYBODY, NOBODY = "everybody", "nobody"
#: Tables with data derived from turns: data of a private chat without readers must not be there.
DERIVED = ("memorybank_fact", "memorybank_searchdocument", "memorybank_storedblock", "memorybank_blocklineversion")


@dataclass
class SentText:
    """One text that a client sent."""

    project: str
    chat: str
    acknowledged: bool = False
    erased: bool = False
    #: Of a correction: a later one may have taken its place.
    overwritten: bool = False


@dataclass
class FaultHistory:
    """The history of one fault run; clients in several threads write to it."""

    said: dict[str, SentText] = field(default_factory=dict)
    edits: dict[str, SentText] = field(default_factory=dict)
    #: Markers of facts whose text a correction took away.
    corrected: set[str] = field(default_factory=set)
    #: The marker of an old value, with that of the new one.
    replaced: dict[str, str] = field(default_factory=dict)
    #: Whether the fact with a marker is pinned, and which it is; None: not known.
    pins: dict[str, tuple[str, bool | None]] = field(default_factory=dict)
    #: Who may read a chat of a project; None: not known.
    audiences: dict[tuple[str, str], str | None] = field(default_factory=dict)
    #: Facts up to this one were written by a release that lets one crate's move end another's place; not judged.
    last_unjudged_end: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    lock: Lock = field(default_factory=Lock)

    def erase(self, project: str, chat: str) -> None:
        """Record that a client's request to erase the chat was acknowledged."""
        with self.lock:
            for text in (*self.said.values(), *self.edits.values()):
                if (text.project, text.chat) == (project, chat):
                    text.erased = True

    def correct(self, text: str, *, is_certain: bool) -> None:
        """Record that a fact of this text was given another, or may have been."""
        for marker in MARKER.findall(text):
            self.pins.pop(marker, None)
            if marker in self.edits:
                self.edits[marker].overwritten = True
            if is_certain:
                self.corrected.add(marker)

    def pin(self, fact: str, text: str, pinned: bool | None) -> None:
        """Record that a fact of this text was pinned or not; a text that two facts have is not judged."""
        for marker in MARKER.findall(text):
            known, _ = self.pins.get(marker, (fact, None))
            self.pins[marker] = (known, pinned if known == fact else None)

    def judged(self) -> dict[str, int]:
        """How many of each that only some runs have will be judged."""
        return {
            "corrections": sum(text.acknowledged and not text.overwritten for text in self.edits.values()),
            "replaced values": len(self.replaced),
            "pins": sum(pinned is not None for _, pinned in self.pins.values()),
            "audiences": sum(audience is not None for audience in self.audiences.values()),
        }

    def judge(self, ask: Ask) -> list[str]:
        """All errors found in the database, through the SQL function ``ask``; empty if there are none."""
        checks = (
            self._lost_or_doubled,
            self._resurrected,
            self._uncovered,
            self._leaked,
            self._misread,
            self._undecided,
        )
        return [error for check in checks for error in check(ask)]

    def _lost_or_doubled(self, ask: Ask) -> Iterator[str]:
        questions = ask("SELECT question FROM memorybank_output")
        counts = Counter(marker for (question,) in questions for marker in set(MARKER.findall(question)))
        for marker, text in self.said.items():
            if counts[marker] > 1:
                yield f"{marker} is there {counts[marker]} times"
            if text.acknowledged and not text.erased and not counts[marker]:
                yield f"{marker} of {text.chat} was acknowledged and is lost"

    def _resurrected(self, ask: Ask) -> Iterator[str]:
        erased = {marker for marker, text in (*self.said.items(), *self.edits.items()) if text.erased}
        tables = ask("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        for (table,) in tables:
            for marker in sorted(erased & self._markers(ask, table)):
                yield f"{marker} was erased and is in {table}"

    def _uncovered(self, ask: Ask) -> Iterator[str]:
        """Each answered turn of a chat that somebody may read must be in exactly one leaf."""
        yield from (
            f"turn {pk} of chat {chat} is in {leaves} leaves"
            for pk, chat, leaves in ask(
                "SELECT o.id, c.key, count(e.id) FROM memorybank_output o JOIN memorybank_chat c ON c.id = o.chat_id"
                " LEFT JOIN memorybank_entry e ON e.chat_id = c.id AND e.granularity = 'conversation'"
                " AND o.sequence BETWEEN e.first_output AND e.last_output"
                " WHERE o.status = 'ok' AND (NOT c.private OR EXISTS (SELECT 1 FROM memorybank_chatreader r"
                " WHERE r.chat_id = c.id)) GROUP BY o.id, c.key HAVING count(e.id) <> 1"
            )
        )

    def _leaked(self, ask: Ask) -> Iterator[str]:
        private = self._said_for(NOBODY)
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

    def _misread(self, ask: Ask) -> Iterator[str]:
        """A chat's audience must be the last acknowledged; what only some may read must be in nothing for everybody."""
        rows = ask(
            "SELECT t.slug || '/' || p.slug, c.key, c.private, EXISTS (SELECT 1 FROM memorybank_chatreader r"
            " WHERE r.chat_id = c.id) FROM memorybank_chat c JOIN projects_project p ON p.bank_id = c.bank_id"
            " JOIN projects_tenant t ON t.id = p.tenant_id"
        )
        for project, chat, private, has_readers in rows:
            audience = self.audiences.get((project, chat))
            wanted = (audience != EVERYBODY, audience not in (EVERYBODY, NOBODY))
            if audience and (private, has_readers) != wanted:
                yield f"{chat} of {project} is for {audience}: private {private}, with readers {has_readers}"
        some = {marker for marker, text in self.said.items() if self._audience(text) not in (EVERYBODY, None)}
        digests = "(SELECT f.text FROM memorybank_fact f JOIN memorybank_entry e ON e.id = f.entry_id"
        for table in ("memorybank_storedblock", f"{digests} WHERE e.chat_id IS NULL)"):
            for marker in sorted(some & self._markers(ask, table)):
                yield f"{marker} of {self.said[marker].chat}, which only some may read, is in {table}"

    def _undecided(self, ask: Ask) -> Iterator[str]:
        """What people decided must hold: corrections, pins, and values that others replaced."""
        leaf = "memorybank_fact f JOIN memorybank_entry e ON e.id = f.entry_id WHERE e.chat_id IS NOT NULL"
        pinned, edited, stands, says = (
            self._markers(ask, f"(SELECT text FROM {leaf} AND {condition})")
            for condition in ("pinned", "edited_by <> ''", "superseded_by_id IS NULL AND NOT pinned", "quarantine = ''")
        )
        shown = self._markers(ask, "(SELECT text FROM memorybank_storedblock)")
        yield from self._lost_corrections(edited)
        yield from (f"{marker} was corrected and is in the block" for marker in sorted(self.corrected & shown))
        yield from self._lost_pins(pinned, shown)
        for before, after in self.replaced.items():
            # Whoever pins what was replaced says that it holds, also when it is unpinned later.
            if before in stands - edited - self.pins.keys() and after in says:
                yield f"{before} stands although {after} replaced it"
        ends = (
            f"memorybank_fact f JOIN memorybank_fact n ON n.id = f.superseded_by_id AND n.id > {self.last_unjudged_end}"
        )
        for old, new in ask(f"SELECT f.text, n.text FROM {ends}"):
            if set(CRATE.findall(old)).isdisjoint(crates := set(CRATE.findall(new))) and crates:
                yield f"{new!r} ended {old!r}"

    def _lost_corrections(self, edited: set[str]) -> Iterator[str]:
        for marker, text in self.edits.items():
            if text.acknowledged and not text.erased and not text.overwritten and marker not in edited:
                yield f"the correction {marker} of a fact of {text.chat} is lost"

    def _lost_pins(self, pinned: set[str], shown: set[str]) -> Iterator[str]:
        for marker, (_, is_pinned) in self.pins.items():
            if is_pinned is not None and is_pinned is not (marker in pinned):
                yield f"{marker} should be pinned: {is_pinned}"
            if is_pinned and marker not in shown:
                yield f"{marker} is pinned and not in the block"

    def _audience(self, text: SentText) -> str | None:
        return self.audiences.get((text.project, text.chat))

    def _said_for(self, audience: str) -> set[str]:
        return {marker for marker, text in self.said.items() if self._audience(text) == audience}

    @staticmethod
    def _markers(ask: Ask, table: str) -> set[str]:
        """All markers in any column of a table or query."""
        return {marker for (row,) in ask(f"SELECT t::text FROM {table} t") for marker in MARKER.findall(row)}

"""The tables that hold people's words, with their rules for erasing, retention, export and docs/privacy.md.

Erasure, receipts, exports and docs/privacy.md list the tables in this order. Other apps add their tables with
:func:`register`. A test fails if a model with a text column is in neither ``TABLES`` nor ``NO_WORDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from django.db.models import Model, QuerySet
from django.utils.functional import Promise
from django.utils.translation import ngettext_lazy

from memorybank.models import (
    AnswerRating,
    AuditLog,
    Bank,
    BlockLineVersion,
    Chat,
    ChatReader,
    Checkpoint,
    Compaction,
    Embedding,
    Entry,
    Erasure,
    ErasureRequest,
    Event,
    Fact,
    Job,
    LLMCall,
    LLMEndpoint,
    MaskedValue,
    OptOut,
    Output,
    SearchDocument,
    StoredBlock,
)
from memorybank.models.public_id import PublicIdKey

#: Outputs that are removed from memory: chat id → output id → sequence.
OutputsByChat = Mapping[int, Mapping[int, int]]


class Erasing(Enum):
    """The effect of an erasure on a row that contains erased text."""

    DELETE = "delete"
    REWRITE = "rewrite"
    REBUILD = "rebuild"
    KEEP = "keep"


class Age(Enum):
    """The bank setting with the maximum age of a row."""

    TURNS = "keep_turns_days"
    MEMORY = "keep_memory_days"


@dataclass(frozen=True, slots=True)
class PrivacyRow:
    """One row of the table "What is stored" in docs/privacy.md. Tables of one kind share it."""

    what: str
    where: str
    until: str


@dataclass(frozen=True, slots=True)
class Expiry:
    """Retention rule: delete rows whose column ``time`` is older than ``age``, or only reset the ``blank`` columns."""

    age: Age
    time: str
    counted: str = ""
    blank: Mapping[str, Any] = field(default_factory=dict)
    whole_days: bool = False


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table that holds people's words, in the columns ``words``.

    ``bank`` is the lookup from a row to its bank, through a chat or turn if the words belong to one. It is "" if they
    belong to no bank but to what owns banks in the outer application; ``owner`` is the lookup to that. ``drop`` deletes
    (or blanks) the rows derived from erased outputs and returns their number. Without ``drop``, rows are deleted with
    their turn by foreign key, or ``erasure.cascade`` checks them one by one.
    """

    model: type[Model]
    words: tuple[str, ...]
    bank: str
    erasing: Erasing
    privacy: PrivacyRow
    owner: str = ""
    #: The counts that a receipt shows for this table: name → label.
    counts: Mapping[str, Promise] = field(default_factory=dict)
    drop: Callable[[Bank, OutputsByChat], int] | None = None
    #: Retention rules that use the row's own time. Facts and checkpoints expire with their sources instead.
    expiries: tuple[Expiry, ...] = ()
    #: The ``type`` of its rows in an export, and the exported fields: name → column.
    section: str = ""
    exported: Mapping[str, str] = field(default_factory=dict)

    def rows(self, bank: Bank) -> QuerySet[Any]:
        """The rows that belong to ``bank``."""
        rows = self.model._default_manager
        return rows.filter(**{self.bank: bank.pk}) if self.bank else rows.none()


def _same(names: str) -> dict[str, str]:
    """Map each column to itself: an export uses the same name."""
    return {name: name for name in names.split()}


SETTINGS_ROW = PrivacyRow(
    "what the project's memory should be about (`focus`)", "as written", "changed, or the project is deleted"
)
RECORDS_ROW = PrivacyRow(
    "receipts of erasures, the audit log, the ledger of model calls, jobs",
    "counts, times, account names; never chat text",
    "the project is deleted",
)
REQUESTS_ROW = PrivacyRow(
    "who opted out, requests to forget, and objections to lines with their reasons",
    "account names and ids of turns and lines; reasons with secrets masked",
    "the project is deleted; a reason when the owners have decided, when its line or author is erased, or when it is "
    "older than the project keeps turns",
)
INDEX_ROW = PrivacyRow(
    "the search index and, with an embedding model, vectors of turns",
    "masked; words as keyed hashes",
    "the turn or its memory is deleted",
)

TABLES = [
    StoredTable(
        Bank,
        ("focus",),
        "pk",
        Erasing.KEEP,
        SETTINGS_ROW,
        section="bank",
        exported=_same("enabled max_tokens idle_minutes timezone focus redact_personal"),
    ),
    StoredTable(
        Chat,
        ("title",),
        "bank",
        Erasing.DELETE,
        PrivacyRow(
            "titles of chats, which have words of the first message or were written by hand",
            "as written",
            "a turn of the chat is erased, or its last turn is too old",
        ),
        counts={"chats": ngettext_lazy("chat", "chats")},
        expiries=(Expiry(Age.TURNS, "last_output_at", blank={"title": ""}),),
        section="chat",
        exported={"chat": "key", "title": "title", "private": "private"},
    ),
    StoredTable(
        Output,
        ("question", "answer", "author", "said_by", "answered_by", "messages", "metadata", "error"),
        "chat__bank",
        Erasing.DELETE,
        PrivacyRow(
            "turns: author, question, answer, tool results in between, and the application's metadata",
            "as written, in plain text",
            "erased, or older than the project keeps turns",
        ),
        counts={
            "turns": ngettext_lazy("message and any answer to it", "messages and any answers to them"),
            "halves_of_turns": ngettext_lazy("message or answer by itself", "messages or answers by themselves"),
        },
        expiries=(
            Expiry(
                Age.TURNS,
                "created_at",
                "turns",
                {"question": "", "answer": "", "messages": [], "metadata": {}, "error": ""},
            ),
        ),
        section="output",
        exported={
            "chat": "chat__key",
            "user": "author",
            **_same("said_by answered_by question answer messages metadata status created_at quotes_private"),
        },
    ),
    StoredTable(
        Fact,
        ("text", "speaker", "original", "original_speaker", "edited_by", "released_by", "quarantine_confirmed_by"),
        "bank",
        Erasing.DELETE,
        PrivacyRow(
            "memory: facts that cite turns, and digests of days, weeks and months",
            "with secrets masked, and personal data if the project masks it",
            "erased, or older than the project keeps memory; what rests on a private chat is read by its readers only",
        ),
        counts={
            "summaries": ngettext_lazy("summary of a chat", "summaries of chats"),
            "facts": ngettext_lazy("fact", "facts"),
            "digests": ngettext_lazy("summary of a period", "summaries of periods"),
            "digest_lines": ngettext_lazy("line in a summary of a period", "lines in summaries of periods"),
        },
        section="fact",
        exported=_same(
            "position part kind text speaker said_on tokens weight detail citations pinned edited_by original "
            "quarantine normative reported released_by"
        ),
    ),
    StoredTable(
        SearchDocument,
        ("words", "lines"),
        "bank",
        Erasing.REBUILD,
        INDEX_ROW,
        counts={"documents": ngettext_lazy("searchable message", "searchable messages")},
        expiries=(Expiry(Age.TURNS, "output__created_at"), Expiry(Age.MEMORY, "said_at", "documents")),
    ),
    StoredTable(
        Embedding,
        ("vector",),
        "bank",
        Erasing.REBUILD,
        INDEX_ROW,
        counts={"vectors": ngettext_lazy("vector", "vectors")},
    ),
    StoredTable(
        MaskedValue,
        ("digest",),
        "bank",
        Erasing.DELETE,
        PrivacyRow(
            "values that were masked, so that every mention can be masked",
            "as keyed hashes, never as values",
            "the last turn with the value is erased",
        ),
        counts={"masked_values": ngettext_lazy("masked value, known by a hash", "masked values, known by hashes")},
    ),
    StoredTable(
        StoredBlock,
        ("text", "lines"),
        "bank",
        Erasing.REBUILD,
        PrivacyRow("the latest versions of the memory block", "masked", "the next rendering"),
    ),
    StoredTable(
        BlockLineVersion,
        ("text", "speaker"),
        "bank",
        Erasing.DELETE,
        PrivacyRow(
            "lines that left the block, with the times they were in it",
            "masked",
            "`HISTORY_DAYS` (90) after they left; or anything of their chats is erased (withheld while one is private)",
        ),
        counts={"past_lines": ngettext_lazy("line in memory history", "lines in memory history")},
        expiries=(Expiry(Age.MEMORY, "said_at", "past_lines", whole_days=True),),
    ),
    StoredTable(
        Checkpoint,
        ("notes", "text"),
        "chat__bank",
        Erasing.DELETE,
        PrivacyRow(
            "checkpoints: notes of a chat's earlier turns and its latest messages, for this chat's prompts only",
            "with secrets masked",
            "a turn it covers is erased, withdrawn by its author or too old, or the author opts out",
        ),
        counts={"checkpoints": ngettext_lazy("checkpoint of a long chat", "checkpoints of long chats")},
        drop=lambda _bank, outputs: Checkpoint.objects.drop(outputs),
    ),
    StoredTable(
        Compaction,
        ("focus", "error"),
        "chat__bank",
        Erasing.REWRITE,
        PrivacyRow("what a checkpoint should be about", "as written", "the checkpoint is made, or a turn is erased"),
    ),
    StoredTable(
        ChatReader,
        ("person",),
        "chat__bank",
        Erasing.DELETE,
        PrivacyRow("whom a private chat is for", "keys of people", "the audience is changed, or the chat is erased"),
    ),
    StoredTable(OptOut, ("author",), "bank", Erasing.KEEP, REQUESTS_ROW),
    StoredTable(
        ErasureRequest,
        ("author", "closed_by", "reason"),
        "bank",
        Erasing.KEEP,
        REQUESTS_ROW,
        drop=lambda bank, _outputs: ErasureRequest.objects.drop_objections(bank),
        expiries=(Expiry(Age.TURNS, "asked_at", blank={"reason": ""}),),
    ),
    StoredTable(Erasure, ("asked_by", "subject"), "bank", Erasing.KEEP, RECORDS_ROW),
    StoredTable(Event, ("actor", "detail"), "bank", Erasing.KEEP, RECORDS_ROW),
    StoredTable(
        LLMCall,
        ("error",),
        "bank",
        Erasing.KEEP,
        PrivacyRow(
            "errors of model calls in the ledger",
            "the provider's words without what it was sent, secrets masked",
            "anything of the project is erased, or older than the project keeps turns",
        ),
        drop=lambda bank, _outputs: LLMCall.objects.filter(bank=bank).exclude(error="").update(error=""),
        expiries=(Expiry(Age.TURNS, "at", blank={"error": ""}),),
    ),
    StoredTable(
        AnswerRating,
        ("person",),
        "output__chat__bank",
        Erasing.DELETE,
        PrivacyRow(
            "ratings of answers: who found which answer helpful",
            "account names, and the name of the model",
            "taken back, the person's words or the turn are erased, or older than the project keeps turns",
        ),
        expiries=(Expiry(Age.TURNS, "at"),),
        section="rating",
        exported=_same("output_id person helpful model at"),
    ),
    StoredTable(Job, ("asked_by",), "bank", Erasing.KEEP, RECORDS_ROW),
]

#: Models whose text columns contain no people's words, each with what they contain instead.
NO_WORDS: dict[type[Model], str] = {
    Entry: "a granularity and the name of a model; its words are its facts",
    LLMEndpoint: "a hash of settings, and the provider's error without what it was sent",
    PublicIdKey: "a random key",
    AuditLog: "a hash",
}


def register(tables: Iterable[StoredTable], no_words: Mapping[type[Model], str]) -> None:
    """Add the tables of another app, to be erased, expired, exported and documented like the built-in ones."""
    TABLES.extend(tables)
    NO_WORDS.update(no_words)

"""Citations: of turns by leaf facts, of leaf facts by digests and their lines, and of chats by answers.

A fact must be deleted with its source. So deleting a source does not cascade to the citation (``DO_NOTHING``), and the
database checks the foreign key only at commit: until then, erasure uses the citation to find the facts to delete.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import ClassVar

from django.db import models

from memorybank import prepared

from .chat import Chat, Output


class FactOutputQuerySet(models.QuerySet["FactOutput"]):
    def by_fact(self, facts: Collection[int]) -> dict[int, list[int]]:
        """The ids of the outputs that each of these facts cites, in order."""
        outputs: dict[int, list[int]] = defaultdict(list)
        for fact, output in self.filter(fact__in=facts).values_list("fact_id", "output_id"):
            outputs[fact].append(output)
        return outputs

    def add(self, links: Iterable[tuple[int, int]]) -> None:
        """Save which output each of these new facts cites: pairs of ids."""
        prepared.insert(FactOutput(fact_id=fact, output_id=output) for fact, output in links)


class FactOutput(models.Model):
    """A turn that a leaf's fact cites."""

    # No separate index: the constraint's index starts with this column.
    fact = models.ForeignKey("Fact", models.CASCADE, related_name="output_links", db_index=False)
    output = models.ForeignKey(Output, models.DO_NOTHING, related_name="fact_links", db_index=False)

    objects: ClassVar[FactOutputQuerySet] = FactOutputQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["pk"]
        constraints = [
            # A fact cites a turn once. The index finds a fact's turns.
            models.UniqueConstraint(name="fact_cites_output_once", fields=["fact", "output"]),
        ]
        indexes = [
            # Read by erasure and erasure requests (facts that cite a turn), and by the database when a turn is deleted.
            models.Index(name="fact_output_cited", fields=["output"]),
        ]

    def __str__(self) -> str:
        return f"fact {self.fact_id} cites output {self.output_id}"


class FactSource(models.Model):
    """A leaf fact that a digest's line cites."""

    # No separate index: the constraint's index starts with this column.
    fact = models.ForeignKey("Fact", models.CASCADE, related_name="source_links", db_index=False)
    source = models.ForeignKey("Fact", models.DO_NOTHING, related_name="restating_links", db_index=False)
    source_edited_at = models.DateTimeField(
        null=True, help_text="When the source had been edited as the line was written; another time outdates the line."
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            # A line cites a leaf fact once. The index finds a line's leaf facts.
            models.UniqueConstraint(name="fact_rests_on_source_once", fields=["fact", "source"]),
        ]
        indexes = [
            # Read by search, export and erasure (lines that cite a fact), and by the database when a fact is deleted.
            models.Index(name="fact_source_restated", fields=["source"]),
        ]

    def __str__(self) -> str:
        return f"fact {self.fact_id} rests on fact {self.source_id}"


class KeptFactQuerySet(models.QuerySet["KeptFact"]):
    def replace(self, entry: int, facts: Sequence[int]) -> None:
        """Replace the facts that a digest keeps by the facts with these ids, in this order."""
        self.filter(entry=entry).delete()
        self.add(entry, facts)

    def add(self, entry: int, facts: Sequence[int]) -> None:
        """Let a digest keep the facts with these ids, too, after those that it keeps."""
        self.bulk_create((KeptFact(entry_id=entry, fact_id=fact) for fact in facts), ignore_conflicts=True)


class KeptFact(models.Model):
    """A leaf fact that a digest keeps unchanged instead of restating it. Deleted with the fact."""

    # No separate index: the constraint's index starts with this column.
    entry = models.ForeignKey("Entry", models.CASCADE, related_name="kept_links", db_index=False)
    # Read by the database when a fact is deleted.
    fact = models.ForeignKey("Fact", models.CASCADE, related_name="kept_links")

    objects: ClassVar[KeptFactQuerySet] = KeptFactQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["pk"]
        constraints = [
            # A fact that is kept twice would be counted twice. The index finds a digest's kept facts.
            models.UniqueConstraint(name="entry_keeps_fact_once", fields=["entry", "fact"]),
        ]

    def __str__(self) -> str:
        return f"entry {self.entry_id} keeps fact {self.fact_id}"


class QuotedChatQuerySet(models.QuerySet["QuotedChat"]):
    def record(self, output: Output, chats: Iterable[Chat]) -> None:
        """Record that the answer of ``output`` repeats words of these chats, in addition to those recorded before."""
        prepared.insert((QuotedChat(output=output, chat=chat) for chat in chats), ignore_conflicts=True)


class QuotedChat(models.Model):
    """Links an answer to another chat from which it repeats some word.

    Each word that an answer repeats from public memory has one such chat. Read when that becomes private: the answer is
    then linked to another public chat with the word, or must not be shown to everybody any more.
    """

    # No separate index: the constraint's index starts with this column.
    output = models.ForeignKey(Output, models.CASCADE, related_name="quoted_chats", db_index=False)
    # Indexed: read when a chat becomes private, and by the database when a chat is deleted.
    chat = models.ForeignKey(Chat, models.CASCADE, related_name="quoted_in")

    objects: ClassVar[QuotedChatQuerySet] = QuotedChatQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # An answer quotes a chat once. The index finds the chats that an answer quotes.
            models.UniqueConstraint(name="output_quotes_chat_once", fields=["output", "chat"]),
        ]

    def __str__(self) -> str:
        return f"output {self.output_id} quotes chat {self.chat_id}"

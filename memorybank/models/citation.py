"""Citations: the turns that a leaf's fact cites, and the leaf facts that a digest's line cites or a digest keeps.

Nothing may outlive what it cites. So the foreign key to what is cited neither deletes the citation nor is checked
before the transaction commits (``DO_NOTHING``): until then erasure finds by it what else has to be deleted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import ClassVar

from django.db import models

from .chat import Output


class FactOutputQuerySet(models.QuerySet["FactOutput"]):
    def by_fact(self, facts: Collection[int]) -> dict[int, list[int]]:
        """The ids of the outputs that each of these facts cites, in order."""
        outputs: dict[int, list[int]] = defaultdict(list)
        for fact, output in self.filter(fact__in=facts).values_list("fact_id", "output_id"):
            outputs[fact].append(output)
        return outputs


class FactOutput(models.Model):
    """A turn that a leaf's fact cites."""

    # No index of its own: that of the constraint begins with it.
    fact = models.ForeignKey("Fact", models.CASCADE, related_name="output_links", db_index=False)
    output = models.ForeignKey(Output, models.DO_NOTHING, related_name="fact_links", db_index=False)

    objects: ClassVar[FactOutputQuerySet] = FactOutputQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["pk"]
        constraints = [
            # A fact cites a turn once. Its index finds a fact's turns.
            models.UniqueConstraint(name="fact_cites_output_once", fields=["fact", "output"]),
        ]
        indexes = [
            # Read by erasure and by requests for it (what cites a turn), and by the database when a turn is deleted.
            models.Index(name="fact_output_cited", fields=["output"]),
        ]

    def __str__(self) -> str:
        return f"fact {self.fact_id} cites output {self.output_id}"


class FactSource(models.Model):
    """A leaf fact that a digest's line cites."""

    # No index of its own: that of the constraint begins with it.
    fact = models.ForeignKey("Fact", models.CASCADE, related_name="source_links", db_index=False)
    source = models.ForeignKey("Fact", models.DO_NOTHING, related_name="restating_links", db_index=False)

    class Meta:
        ordering = ["pk"]
        constraints = [
            # A line cites a leaf fact once. Its index finds a line's leaf facts.
            models.UniqueConstraint(name="fact_rests_on_source_once", fields=["fact", "source"]),
        ]
        indexes = [
            # Read by search, export and erasure (which lines rest on a fact), and by the database when one is deleted.
            models.Index(name="fact_source_restated", fields=["source"]),
        ]

    def __str__(self) -> str:
        return f"fact {self.fact_id} rests on fact {self.source_id}"


class KeptFactQuerySet(models.QuerySet["KeptFact"]):
    def replace(self, entry: int, facts: Sequence[int]) -> None:
        """Have the digest keep the facts with these ids, in this order, and no others."""
        self.filter(entry=entry).delete()
        self.bulk_create(KeptFact(entry_id=entry, fact_id=fact) for fact in facts)


class KeptFact(models.Model):
    """A leaf fact that a digest keeps unchanged instead of restating it. Deleted with the fact."""

    # No index of its own: that of the constraint begins with it.
    entry = models.ForeignKey("Entry", models.CASCADE, related_name="kept_links", db_index=False)
    # Read by the database when a fact is deleted.
    fact = models.ForeignKey("Fact", models.CASCADE, related_name="kept_links")

    objects: ClassVar[KeptFactQuerySet] = KeptFactQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["pk"]
        constraints = [
            # A fact that is kept twice would be counted twice. Its index finds a digest's facts.
            models.UniqueConstraint(name="entry_keeps_fact_once", fields=["entry", "fact"]),
        ]

    def __str__(self) -> str:
        return f"entry {self.entry_id} keeps fact {self.fact_id}"

"""Entries: the lossless tree of memory.

Leaves cover contiguous, disjoint ranges of one chat's outputs. Digests absorb finer entries by
becoming their parent; nothing is deleted by rolling up. Entries without a parent are the live frontier.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import TYPE_CHECKING, ClassVar

from django.db import models
from django.db.models import Exists, F, Max, Min, OuterRef, Q, Sum
from django.db.models.functions import Coalesce, Least

from memorybank.core.granularity import Granularity

from .bank import Bank
from .chat import Chat
from .citation import FactSource, KeptFact
from .output import Output, OutputQuerySet

if TYPE_CHECKING:
    from .fact import Fact

#: The path of ``select_related`` from an entry to every digest above it.
ABOVE = "__".join(["parent"] * len(Granularity.digests()))
#: Methods of entries that no model wrote: extracted sentences, and a digest that stands for facts as they are.
EXTRACTIVE, CARRIED = "extractive/1", "carried over"
#: What somebody wrote for memory, and not in a chat with a model.
BY_HAND = "by hand"
#: As the first, for as long as the month's cap leaves no money for a model.
CAPPED = f"{EXTRACTIVE}, as the monthly cap is reached"


class EntryQuerySet(models.QuerySet["Entry"]):
    """Sets of entries."""

    def live(self) -> EntryQuerySet:
        """The frontier: entries that no digest has absorbed."""
        return self.filter(parent=None)

    def frontier(self) -> list[tuple[int, str, date, datetime, int]]:
        """Of each live entry its id, granularity, period, newest turn, and the tokens of what it tells.

        What a model noted and what was said of it count once.
        """
        noted, said = (Coalesce(Sum("facts__tokens", filter=Q(facts__detail=detail)), 0) for detail in (False, True))
        sized = self.live().annotate(size=F("tokens") - Least(noted, said))
        return list(sized.values_list("pk", "granularity", "period_start", "last_at", "size"))

    def leaves(self) -> EntryQuerySet:
        """Conversation entries."""
        return self.filter(granularity=Granularity.CONVERSATION)

    def digests(self) -> EntryQuerySet:
        """Entries of periods, on every rung above that of chats."""
        return self.exclude(granularity=Granularity.CONVERSATION)

    def with_digests(self) -> EntryQuerySet:
        """Each with its chat and every digest above it, in one query."""
        return self.select_related("chat", ABOVE)

    def in_order(self) -> EntryQuerySet:
        """Oldest first, coarsest first, on every database the same."""
        return self.order_by("period_start", "first_at", "pk")

    def above(self) -> EntryQuerySet:
        """The digests over them, on every rung."""
        found: set[int] = set()
        rung = self
        while ids := set(rung.exclude(parent=None).values_list("parent_id", flat=True)) - found:  # a cycle ends, too
            found |= ids
            rung = Entry.objects.filter(pk__in=ids)
        return Entry.objects.filter(pk__in=found)

    def below(self) -> EntryQuerySet:
        """These, and all that they have absorbed."""
        found: set[int] = set()
        rung = self
        while ids := set(rung.values_list("pk", flat=True)) - found:
            found |= ids
            rung = Entry.objects.filter(parent__in=ids)
        return Entry.objects.filter(pk__in=found)

    def absorb_into(self, digest: Entry) -> None:
        """Make ``digest``, a live one, their parent: facts below go to its tier, lines of absorbed digests nowhere.

        But lines that a person settled: nobody else says what she wrote.
        """
        below = self.below()  # as a subquery and not as a join, which PostgreSQL may look up row by row
        digest.bank.facts.filter(entry__in=below.leaves()).update(tier=digest.tier)
        lines = digest.bank.facts.filter(entry__in=below.digests())
        lines.update(tier=None)
        lines.settled().update(tier=digest.tier)
        self.update(parent=digest)

    def to_mend(self) -> Entry | None:
        """The finest digest that lost lines to an erasure, once every leaf that did so is made anew, or cannot be."""
        stale = self.filter(stale=True)
        if stale.leaves().filter(chat__parked_at=None, chat__private=False).exists():
            return None
        return min(stale.digests().in_order(), key=lambda entry: Granularity(entry.granularity).tier, default=None)

    def prune(self) -> None:
        """Take out of these digests what rests on leaf facts that are gone; digests with nothing below go, too."""
        for digest in sorted(self, key=lambda entry: Granularity(entry.granularity).tier):
            if digest.children.exists():
                digest.prune()
            else:
                digest.delete()


class Entry(models.Model):
    """A summary: of a range of one chat's turns (a leaf), or of a period (a digest)."""

    bank = models.ForeignKey(Bank, models.CASCADE, related_name="entries")
    granularity = models.CharField(max_length=12, choices=[(rung.value, rung.label) for rung in Granularity])
    period_start = models.DateField(help_text="First day of its period, in the bank's time zone.")
    chat = models.ForeignKey(Chat, models.CASCADE, related_name="entries", null=True, blank=True)
    parent = models.ForeignKey("self", models.SET_NULL, related_name="children", null=True, blank=True)
    first_output = models.PositiveBigIntegerField(null=True, blank=True, help_text="The sequence of its first turn.")
    last_output = models.PositiveBigIntegerField(null=True, blank=True, help_text="The sequence of its last turn.")
    output_count = models.PositiveIntegerField(help_text="Turns it covers, counted once.")
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    tokens = models.PositiveIntegerField(default=0, help_text="Tokens of its facts and of those it stands for.")
    method = models.CharField(max_length=200, help_text="Model and prompt version, or how without a model.")
    provisional = models.BooleanField(default=False)
    updates = models.PositiveIntegerField(default=0, help_text="Extensions since it was last made anew.")
    stale = models.BooleanField(default=False, help_text="To be made anew from what is there now.")
    kept: models.ManyToManyField[Fact, KeptFact] = models.ManyToManyField(
        "Fact", through=KeptFact, related_name="kept_in", help_text="Leaf facts that a digest stands for as they are."
    )

    objects: ClassVar[EntryQuerySet] = EntryQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        verbose_name_plural = "entries"
        constraints = [
            # Two workers cannot digest one period twice.
            models.UniqueConstraint(
                name="digest_unique_in_period",
                fields=["bank", "granularity", "period_start"],
                condition=~Q(granularity="conversation"),
            ),
            # Two workers cannot summarise the same turns twice.
            models.UniqueConstraint(name="leaf_unique_in_chat", fields=["chat", "first_output"]),
            # A leaf knows its chat and its range; a digest has neither.
            models.CheckConstraint(
                name="leaf_has_range",
                condition=Q(
                    granularity="conversation",
                    chat__isnull=False,
                    first_output__isnull=False,
                    last_output__gte=F("first_output"),
                )
                | (
                    ~Q(granularity="conversation")
                    & Q(chat__isnull=True, first_output__isnull=True, last_output__isnull=True)
                ),
            ),
            # A cycle of one.
            models.CheckConstraint(name="entry_not_own_parent", condition=~Q(parent=F("id"))),
        ]
        indexes = [
            # Read by compression: the frontier of a bank, oldest period first.
            models.Index(name="entry_frontier", fields=["bank", "period_start"], condition=Q(parent__isnull=True)),
            # Read by rendering, without a look at the rows: how far history had grown by each day.
            models.Index(name="entry_growth", fields=["bank", "granularity", "period_start", "tokens"]),
            # Read by compression: what is to be made anew; nearly nothing is.
            models.Index(name="entry_stale", fields=["bank"], condition=Q(stale=True)),
        ]

    def __str__(self) -> str:
        return f"{self.granularity} {self.period_start:%Y-%m-%d}"

    @property
    def is_leaf(self) -> bool:
        """Whether it is a summary of turns, and not a digest."""
        return self.granularity == Granularity.CONVERSATION

    @property
    def tier(self) -> int:
        """Where its facts stand while no digest has absorbed it."""
        return Granularity(self.granularity).tier

    def upwards(self) -> Iterator[Entry]:
        """This entry and the digests above it; the last one is live."""
        entry: Entry | None = self
        for _ in Granularity:  # no chain is longer
            if entry is None:
                return
            yield entry
            entry = entry.parent

    def covered(self) -> OutputQuerySet:
        """The turns that a leaf covers and memory may hold."""
        return Output.objects.remembered().filter(
            chat=self.chat_id, sequence__range=(self.first_output, self.last_output)
        )

    def prune(self) -> None:
        """Delete a digest's lines that rest on a leaf fact which is gone, and count again what it covers."""
        gone = FactSource.objects.exclude(Exists(self.bank.facts.filter(pk=OuterRef("source_id"))))
        self.facts.filter(Exists(gone.filter(fact=OuterRef("pk")))).delete()
        below = self.children.aggregate(n=Sum("output_count"), first=Min("first_at"), last=Max("last_at"))
        self.output_count, self.first_at, self.last_at = below["n"], below["first"], below["last"]
        said = self.bank.facts.filter(Q(entry=self) | Q(pk__in=self.kept.values("pk")))
        self.tokens = said.aggregate(n=Sum("tokens"))["n"] or 0
        self.save()

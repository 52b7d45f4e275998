"""Entries: the lossless tree of memory.

Leaves cover contiguous, disjoint ranges of one chat's outputs. Digests (of days, weeks and months) absorb finer entries
by becoming their parent; rolling up deletes nothing. Entries without a parent are the frontier.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, ClassVar

from django.db import models
from django.db.models import Case, Exists, F, Max, Min, OuterRef, Q, Subquery, Sum, When
from django.db.models.functions import Coalesce

from memorybank.core.granularity import Granularity, periods_around
from memorybank.core.rollup_policy import Node
from memorybank.prepared import PreparedQuery

from .audience import NOBODY, ByAudience
from .bank import Bank
from .block import BlockLineVersion, BlockLineVersionQuerySet
from .chat import Chat, Output, OutputQuerySet
from .citation import FactSource, KeptFact

#: Entries that a question about their size reads at once.
ENTRIES_PER_QUERY = 100
#: By how much the clock of a machine that rendered a block may be behind that of the one that recorded a turn.
MAX_CLOCK_ERROR = timedelta(days=7)
#: The path of ``select_related`` from an entry to every digest above it.
DIGESTS_ABOVE_PATH = "__".join(["parent"] * len(Granularity.digests()))
#: Values of ``method`` without a model: extracted sentences, and digests that only keep facts unchanged.
EXTRACTIVE, CARRIED = "extractive/1", "carried over"
#: The method of a leaf whose turns have no text.
NO_TEXT_METHOD = "nothing was said"
#: The method of facts that a person added.
BY_HAND = "by hand"
#: The method of entries that were extracted because the monthly cap was reached.
CAPPED_METHOD = f"{EXTRACTIVE}, as the monthly cap is reached"
#: The method of leaves that were extracted because the model failed; the model writes them once more.
STAND_IN_METHOD = f"{EXTRACTIVE}, until the model answers"


class EntryQuerySet(ByAudience["Entry"]):
    def visible_to(self, viewer: str = NOBODY) -> EntryQuerySet:
        """As for every table, and nobody reads an empty digest, all of whose chats are private."""
        return super().visible_to(viewer).exclude(chat=None, output_count=0)

    def live(self) -> EntryQuerySet:
        """The frontier: public entries that no digest has absorbed. Leaves of private chats are never rolled up."""
        return self.filter(parent=None).visible_to()

    def frontier(self) -> list[Node]:
        """The live entries as input for roll-up. The size of a model's entry excludes facts marked as ``detail``."""
        sized = self.live().annotate(size=_size())
        rows = sized.values_list("pk", "granularity", "period_start", "last_at", "size")
        return [Node(pk, Granularity(granularity), *rest) for pk, granularity, *rest in rows]

    def outgrow(self, bank: Bank, tokens: float) -> bool:
        """Whether the bank's live entries have more tokens than this. Reads no more entries than it takes to know."""
        rows: list[tuple[int, int]] = _SIZES.rows(bank.pk, 0)
        total = sum(size for _, size in rows)
        while total <= tokens and len(rows) == ENTRIES_PER_QUERY:
            rows = _SIZES.rows(bank.pk, rows[-1][0])
            total += sum(size for _, size in rows)
        return total > tokens

    def noted_tokens(self) -> int:
        """The tokens of all public leaves, of a model's without facts marked as ``detail``. Reads every leaf."""
        sizes = self.leaves().visible_to().annotate(size=_size())
        return sizes.aggregate(total=Sum("size"))["total"] or 0

    def written(self) -> EntryQuerySet:
        """Entries written by a model or a person, and digests that only keep facts unchanged; no extracted ones."""
        return self.exclude(method__startswith=EXTRACTIVE).exclude(method=NO_TEXT_METHOD)

    def leaves(self) -> EntryQuerySet:
        """Conversation entries."""
        return self.filter(granularity=Granularity.CONVERSATION)

    def digests(self) -> EntryQuerySet:
        """Entries of days, weeks and months, and the background."""
        return self.exclude(granularity=Granularity.CONVERSATION)

    def with_digests(self) -> EntryQuerySet:
        """Select each entry's chat and all digests above it in the same query."""
        return self.select_related("chat", DIGESTS_ABOVE_PATH)

    def in_order(self) -> EntryQuerySet:
        """Oldest period first, then by first turn; deterministic on every database."""
        return self.order_by("period_start", "first_at", "pk")

    def above(self) -> EntryQuerySet:
        """All digests above these entries, and those that a private chat was taken out of."""
        digests: set[int] = set()
        reached = self
        while (
            ids := {pk for places in reached.values_list("parent_id", "detached_from") for pk in places if pk} - digests
        ):  # ends even in a cycle
            digests |= ids
            reached = Entry.objects.filter(pk__in=ids)
        return Entry.objects.filter(pk__in=digests)

    def digest_lines(self) -> BlockLineVersionQuerySet:
        """The lines of digests in the block, now or earlier, whose writer may have read these leaves."""
        spans = list(self.values_list("first_at", "period_start"))
        if not spans:
            return BlockLineVersion.objects.none()
        own = self.above().values_list("granularity", "period_start")
        around = (periods_around(first.date(), last) for first, last in spans)
        periods = {(Granularity(granularity).tier, start) for granularity, start in own}.union(*around)
        since = min(first for first, _ in spans) - MAX_CLOCK_ERROR
        return BlockLineVersion.objects.filter(bank__in=self.values("bank"), since__gte=since).of_digests(periods)

    def above_for_deletion(self) -> EntryQuerySet:
        """The digests above leaves that are about to be deleted, without withdrawn lines; drops their history, too.

        Those of digests that a private chat was taken out of may have words of it without citing it.
        """
        self.visible_to().digest_lines().delete()
        incomplete = self.filter(detached_from__isnull=False).above()
        for digest in incomplete:
            digest.facts.filter(withdrawn=True).delete()
        return self.above()

    def below(self) -> EntryQuerySet:
        """These entries and all that they have absorbed."""
        entries: set[int] = set()
        reached = self
        while ids := set(reached.values_list("pk", flat=True)) - entries:
            entries |= ids
            reached = Entry.objects.filter(parent__in=ids)
        return Entry.objects.filter(pk__in=entries)

    def absorb_into(self, digest: Entry) -> None:
        """Make a live digest the parent of these entries, and set the tier of all facts below it.

        Leaf facts get the digest's tier. Lines of absorbed digests get none, as the new digest restates them, except
        lines that a person decided on: these are not restated and get its tier.
        """
        below = self.below()  # used as a subquery: PostgreSQL may execute a join row by row
        digest.bank.facts.filter(entry__in=below.leaves()).update(tier=digest.tier)
        lines = digest.bank.facts.filter(entry__in=below.digests())
        lines.update(tier=None)
        lines.decided_by_person().update(tier=digest.tier)
        self.update(parent=digest)

    def waiting_for_rebuild(self) -> EntryQuerySet:
        """Leaves and digests that lost a source, and live digests with a withdrawn line."""
        return self.filter(Q(stale=True) | Q(outdated=True, parent=None))

    def to_rebuild(self) -> list[Entry]:
        """The digests among them, finest first; none while a leaf can still be rebuilt."""
        stale = self.waiting_for_rebuild().visible_to()
        if stale.leaves().visible_to().filter(chat__parked_at=None).exists():
            return []
        return stale.digests().in_order().finest_first()

    def prune(self) -> None:
        """Delete digests of nothing, and the lines of other digests that cite deleted leaf facts."""
        for digest in self.finest_first():
            if digest.is_of_nothing:
                digest.delete()
            else:
                digest.prune()

    def finest_first(self) -> list[Entry]:
        """These digests, the finest first."""
        return sorted(self, key=lambda entry: Granularity(entry.granularity).tier)


#: The next live entries of a bank with their sizes: asked for each chat.
_SIZES = PreparedQuery(
    lambda bank, after: (
        Entry.objects.filter(bank=bank, pk__gt=after)
        .live()
        .annotate(size=_size())
        .order_by("pk")
        .values_list("pk", "size")[:ENTRIES_PER_QUERY]
    )
)


def _size() -> Case:
    """Expression for the size of an entry in tokens, of a model's entry without facts marked as ``detail``."""
    every = Entry._meta.get_field("facts").related_model._default_manager  # the module of facts imports this one
    facts = every.filter(entry=OuterRef("pk"), detail=True).order_by().values("entry")
    detail = Coalesce(Subquery(facts.annotate(sum=Sum("tokens")).values("sum")), 0)
    return Case(When(method__startswith=EXTRACTIVE, then=F("tokens")), default=F("tokens") - detail)


class Entry(models.Model):
    """A summary: of a range of one chat's turns (a leaf), or of a period (a digest)."""

    bank = models.ForeignKey(Bank, models.CASCADE, related_name="entries")
    granularity = models.CharField(max_length=12, choices=[(value.value, value.label) for value in Granularity])
    period_start = models.DateField(help_text="First day of its period, in the bank's time zone.")
    chat = models.ForeignKey(Chat, models.CASCADE, related_name="entries", null=True, blank=True)
    parent = models.ForeignKey("self", models.SET_NULL, related_name="children", null=True, blank=True)
    first_output = models.PositiveBigIntegerField(null=True, blank=True, help_text="The sequence of its first message.")
    last_output = models.PositiveBigIntegerField(null=True, blank=True, help_text="The sequence of its last message.")
    output_count = models.PositiveIntegerField(help_text="Messages it covers, counted once.")
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    tokens = models.PositiveIntegerField(default=0, help_text="Tokens of its facts, and of the facts that it keeps.")
    method = models.CharField(max_length=200, help_text="Model and prompt version, or the method without a model.")
    provisional = models.BooleanField(default=False)
    updates = models.PositiveIntegerField(default=0, help_text="Extensions since it was last rebuilt.")
    stale = models.BooleanField(default=False, help_text="It has to be rebuilt from the remaining messages.")
    detached_from = models.BigIntegerField(
        null=True, editable=False, help_text="The id of the digest that it was taken out of while its chat is private."
    )
    outdated = models.BooleanField(
        default=False, db_default=False, editable=False, help_text="A model has to rewrite it: lines are withdrawn."
    )
    dropped_lines = models.PositiveIntegerField(
        default=0, help_text="Lines of the model that were dropped because what they cite does not say them."
    )
    left_out = models.PositiveIntegerField(default=0, help_text="Notes that a digest does not tell, as its model said.")
    kept: models.ManyToManyField[Any, KeptFact] = models.ManyToManyField(
        "Fact", through=KeptFact, related_name="kept_in", help_text="Leaf facts that a digest keeps unchanged."
    )

    objects: ClassVar[EntryQuerySet] = EntryQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        verbose_name_plural = "entries"
        constraints = [
            # Prevents two workers from writing a digest of the same period.
            models.UniqueConstraint(
                name="digest_unique_in_period",
                fields=["bank", "granularity", "period_start"],
                condition=~Q(granularity="conversation"),
            ),
            # Prevents two workers from summarising the same turns.
            models.UniqueConstraint(name="leaf_unique_in_chat", fields=["chat", "first_output"]),
            # A leaf has a chat and a range; a digest has neither.
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
            # An entry that is its own parent would be a cycle.
            models.CheckConstraint(name="entry_not_own_parent", condition=~Q(parent=F("id"))),
        ]
        indexes = [
            # Read by compression: the frontier of a bank, oldest period first.
            models.Index(name="entry_frontier", fields=["bank", "period_start"], condition=Q(parent__isnull=True)),
            # Read by rendering, as an index-only scan: the size of the history on each day.
            models.Index(name="entry_growth", fields=["bank", "granularity", "period_start", "tokens"]),
            # Read by compression: entries to rebuild; there are few.
            models.Index(name="entry_stale", fields=["bank"], condition=Q(stale=True)),
            # The same for withdrawn lines.
            models.Index(name="entry_outdated", fields=["bank"], condition=Q(outdated=True)),
            # Read when lines are withdrawn or a digest is rewritten: what was taken out; there is little.
            models.Index(name="entry_detached", fields=["detached_from"], condition=Q(detached_from__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.granularity} {self.period_start:%Y-%m-%d}"

    @property
    def is_leaf(self) -> bool:
        """Whether it is a leaf, a summary of turns, and not a digest."""
        return self.granularity == Granularity.CONVERSATION

    @property
    def tier(self) -> int | None:
        """The tier of its facts while it is live; None for a private chat, whose facts are in no block."""
        return None if self.chat and self.chat.private else Granularity(self.granularity).tier

    @property
    def has_notes(self) -> bool:
        """Whether lines of it that a model or a person wrote still stand. Executes a query."""
        is_written = not self.method.startswith((EXTRACTIVE, CARRIED, NO_TEXT_METHOD))
        return is_written and self.facts.filter(detail=False).exists()

    @property
    def is_of_nothing(self) -> bool:
        """Whether a digest has no entries below it, not even of a private chat. Executes queries."""
        return not (self.children.exists() or Entry.objects.filter(detached_from=self.pk).exists())

    def upwards(self) -> Iterator[Entry]:
        """This entry and the digests above it; the last one is live."""
        entry: Entry | None = self
        for _ in Granularity:  # ends even in a cycle
            if entry is None:
                return
            yield entry
            entry = entry.parent

    def covered(self) -> OutputQuerySet:
        """The answered turns that a leaf covers."""
        return Output.objects.remembered().filter(
            chat=self.chat_id, sequence__range=(self.first_output, self.last_output)
        )

    def prune(self) -> None:
        """Delete a digest's lines that cite deleted leaf facts, and update its counts and times.

        A digest all of whose chats are private keeps its times, for when one is shared again.
        """
        gone = FactSource.objects.exclude(Exists(self.bank.facts.filter(pk=OuterRef("source_id"))))
        self.facts.filter(Exists(gone.filter(fact=OuterRef("pk")))).delete()
        below = self.children.exclude(output_count=0).aggregate(
            n=Sum("output_count"), first=Min("first_at"), last=Max("last_at")
        )
        self.output_count = below["n"] or 0
        if self.output_count:
            self.first_at, self.last_at = below["first"], below["last"]
        facts = self.bank.facts.filter(Q(entry=self) | Q(pk__in=self.kept.values("pk"))).visible_to()
        self.tokens = facts.aggregate(n=Sum("tokens"))["n"] or 0
        self.save()

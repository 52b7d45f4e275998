"""Facts: the lines of memory, each with its place, its worth and where it came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from django.db import models
from django.db.models import Case, Exists, F, OuterRef, Q, When

from memorybank.core import state_changes
from memorybank.core.packing.objective import LABEL_TOKENS

from .bank import Bank
from .citation import FactOutput, FactSource
from .entry import ABOVE, Entry
from .output import Output
from .public_id import public_id


def _stands() -> Q:
    """Nothing has replaced the fact, or what did is kept back itself.

    What replaced it is looked up fact by fact, where there is any: joined, a planner that takes the tables for empty
    (PostgreSQL, after an import) would compare every fact with every other.
    """
    replacing = Fact.objects.filter(pk=OuterRef("superseded_by"), hidden=False, quarantine="")
    return Q(superseded_by=None) | ~Q(Exists(replacing.exclude(entry__chat__private=True)))


def _beneath() -> Q:
    """A line that a person put right replaced it: only such a one replaces facts while it stands in a digest itself."""
    above = Fact.objects.filter(pk=OuterRef("superseded_by"), entry__chat=None)
    return Q(superseded_by__isnull=False) & Q(Exists(above))


class Standing(NamedTuple):
    """What became of a leaf fact: whether it may be shown, and whether a person corrected it."""

    pk: int
    said_first: str
    """What it said before a person edited it."""
    citations: tuple[int, ...]
    is_visible: bool
    quarantine: str
    speaker: str
    text: str
    weight: float
    is_released: bool = False
    """It was held back, and a person let it pass."""
    correction: tuple[str, str] | None = None
    """Who says what instead of it: a person, here or in a digest's line that rests on it."""
    end: End | None = None
    """What somebody said since then in place of it, if that is all that is against it."""


class End(NamedTuple):
    """A leaf fact that replaced another: its words, the day they were said on, and the outputs it cites."""

    text: str
    day: date
    citations: tuple[int, ...]


def _standing(
    outputs: Mapping[int, list[int]], pk: int, original: str, is_visible: bool, why: str, speaker: str, text: str,
    weight: float, hidden: bool, released_by: str, edited_by: str, instead: int | None, newer: int | None, who: str,
    what: str, day: date | None, of_chat: int | None,
) -> Standing:  # fmt: skip
    own = (speaker, text) if edited_by and is_visible else None
    correction = own or ((who, what) if instead and not is_visible else None)
    otherwise = is_visible or hidden or why or correction
    end = End(what, day, tuple(outputs[newer])) if newer and day and of_chat and not otherwise else None
    first, released = original or text, bool(released_by)
    return Standing(pk, first, tuple(outputs[pk]), is_visible, why, speaker, text, weight, released, correction, end)


class FactQuerySet(models.QuerySet["Fact"]):
    """Sets of facts."""

    def visible(self, *, beneath: bool = False) -> FactQuerySet:
        """Facts that may be shown to a model: not hidden, not quarantined, not replaced by one that may be shown.

        With ``beneath`` also those that an edited line of a digest stands for.
        """
        stands = _stands() | _beneath() if beneath else _stands()
        return self.filter(stands, hidden=False, quarantine="")

    def standing(self, *, changed: bool = False) -> list[Standing]:
        """What became of each fact; with ``changed`` only of those that are not as they were written."""
        visible = Case(When(_stands(), hidden=False, quarantine="", then=True), default=False)
        # What a person wrote stands for what it replaced, unless somebody hid that for its own sake.
        above = Q(hidden=False, quarantine="", superseded_by__hidden=False) & ~Q(superseded_by__edited_by="")
        instead = Case(When(above, then=F("superseded_by")), default=None)
        found = self.annotate(is_visible=visible, instead=instead).order_by()
        found = found.exclude(is_visible=True, edited_by="", released_by="") if changed else found
        names = ("pk", "original", "is_visible", "quarantine", "speaker", "text", "weight", "hidden")
        by_hand = ("released_by", "edited_by", "instead")
        newer = [f"superseded_by__{name}" for name in ("pk", "speaker", "text", "said_on", "entry__chat")]
        rows = list(found.values_list(*names, *by_hand, *newer))
        ids = {pk for row in rows for pk in (row[0], row[len(names) + len(by_hand)]) if pk}
        outputs = FactOutput.objects.by_fact(ids) if ids else {}
        return [_standing(outputs, *row) for row in rows]

    def settled(self) -> FactQuerySet:
        """Facts that a person pinned, edited, hid, released or kept back; no model may replace them."""
        judged = ~Q(released_by="") | ~Q(kept_back_by="")
        return self.filter(Q(pinned=True) | Q(hidden=True) | ~Q(edited_by="") | judged)

    def to_review(self) -> FactQuerySet:
        """Facts that are held back and wait for a person to judge."""
        return self.exclude(quarantine="").filter(hidden=False, kept_back_by="")

    def with_places(self) -> FactQuerySet:
        """Each with its chat, the digests above it and what replaced it, in one query."""
        return self.select_related("entry__chat", f"entry__{ABOVE}", "superseded_by__entry__chat")

    def shareable(self, *, beneath: bool = False) -> FactQuerySet:
        """Visible facts whose chat is not private."""
        return self.visible(beneath=beneath).exclude(entry__chat__private=True)

    def with_citations(self) -> FactQuerySet:
        """Each with what it cites, in two queries more."""
        return self.prefetch_related("output_links", "source_links")

    def create_cited(self, facts: Iterable[Fact]) -> list[Fact]:
        """Save new facts, each with the ``citations`` that it was made with."""
        made = self.bulk_create(facts)
        leaf, line = FactOutput.objects, FactSource.objects
        cited = [(fact, pk) for fact in made for pk in fact.citations]
        leaf.bulk_create(FactOutput(fact=fact, output_id=pk) for fact, pk in cited if fact.entry.is_leaf)
        line.bulk_create(FactSource(fact=fact, source_id=pk) for fact, pk in cited if not fact.entry.is_leaf)
        return made

    def best(self, tier: int, most: int) -> FactQuerySet:
        """The ``most`` facts of a tier that are worth most for their length; pinned ones are read by themselves."""
        return self.filter(tier=tier, pinned=False).order_by("-worth", "pk")[:most]


class Fact(models.Model):
    """One line of memory, with where it came from."""

    class Kind(models.TextChoices):
        FACT = "fact"
        DECISION = "decision"
        PREFERENCE = "preference"
        QUESTION = "question"

    # Its index is fact_worth, which begins with it.
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="facts", db_index=False)
    entry = models.ForeignKey(Entry, models.CASCADE, related_name="facts")
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.FACT)
    text = models.TextField()
    speaker = models.CharField(max_length=200, blank=True)
    said_on = models.DateField()
    tokens = models.PositiveIntegerField()
    weight = models.FloatField(default=0.5, help_text="Prior worth, 0 to 1.")
    # As packing counts it, with the share of a date and speaker that every fact costs.
    worth = models.GeneratedField(
        expression=F("weight") / (F("tokens") + LABEL_TOKENS), output_field=models.FloatField(), db_persist=True
    )
    tier = models.PositiveSmallIntegerField(
        null=True,
        editable=False,
        help_text="That of the live entry above it; empty: an absorbed digest's, unless a person settled it.",
    )
    detail = models.BooleanField(default=False, help_text="Extracted beside a model's facts.")
    outputs = models.ManyToManyField(
        Output, through=FactOutput, related_name="facts", help_text="The turns that a leaf's fact cites."
    )
    sources = models.ManyToManyField(
        "self",
        through=FactSource,
        through_fields=("fact", "source"),
        symmetrical=False,
        related_name="restated_by",
        help_text="The leaf facts that a digest's line rests on.",
    )
    ongoing = models.BooleanField(
        default=False, editable=False, help_text="It says that something is so for now; a newer one may end it."
    )
    changing = models.BooleanField(
        default=False, editable=False, help_text="It says that something is over; what was said before may give way."
    )
    pinned = models.BooleanField(default=False)
    hidden = models.BooleanField(default=False)
    edited_by = models.CharField(max_length=200, blank=True, help_text="Who wrote it by hand, or wrote it anew.")
    edited_at = models.DateTimeField(null=True, blank=True)
    original = models.TextField(blank=True, help_text="What it said before somebody edited it; empty: nobody did.")
    original_speaker = models.CharField(max_length=200, blank=True)
    hidden_with = models.ForeignKey(
        "self",
        models.SET_NULL,
        related_name="took_along",
        null=True,
        blank=True,
        help_text="The line that rests on it and was hidden: it comes back with that one.",
    )
    quarantine = models.CharField(max_length=200, blank=True, help_text="Why it is held back; empty: it is not.")
    released_by = models.CharField(max_length=200, blank=True, help_text="Who let it pass after it was held back.")
    kept_back_by = models.CharField(max_length=200, blank=True, help_text="Who decided that it stays held back.")
    superseded_by = models.ForeignKey("self", models.SET_NULL, related_name="supersedes", null=True, blank=True)

    objects: ClassVar[FactQuerySet] = FactQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["entry_id", "position"]
        constraints = [
            # What was overwritten by nobody could not be told from what was said.
            models.CheckConstraint(name="fact_original_was_edited", condition=Q(original="") | ~Q(edited_by="")),
        ]
        indexes = [
            # Read by rendering and roll-up: the facts of an entry, in order.
            models.Index(name="fact_in_entry", fields=["entry", "position"]),
            # Read by rendering: the best of each tier, so that it reads no more when history grows.
            models.Index(name="fact_worth", fields=["bank", "tier", "-worth", "id"]),
            # Read by rendering: pinned facts, whatever they are worth; few are.
            models.Index(name="fact_pinned", fields=["bank"], condition=Q(pinned=True)),
            # Read when a new fact says that something is over: what went on until then; few do.
            models.Index(name="fact_ongoing", fields=["bank"], condition=Q(ongoing=True)),
            # Read when a chat is summarised after newer ones: what they say is over; few do.
            models.Index(name="fact_changing", fields=["bank", "said_on"], condition=Q(changing=True)),
        ]

    def __str__(self) -> str:
        return f"fact {public_id(self.pk)}"

    @classmethod
    def of(cls, entry: Entry, *, citations: Sequence[int], **values: Any) -> Fact:
        """A new line of a live entry, standing where that stands; to be saved by :meth:`FactQuerySet.create_cited`.

        ``citations`` are output ids (in a leaf) or leaf-fact ids (in a digest).
        """
        states = {
            "ongoing": state_changes.is_ongoing(values["text"]),
            "changing": state_changes.tells_of_change(values["text"]),
        }
        fact = cls(bank_id=entry.bank_id, entry=entry, tier=entry.tier, **states, **values)
        fact.citations = list(citations)
        return fact

    @cached_property
    def citations(self) -> list[int]:
        """Ids of the outputs (in a leaf) or leaf facts (in a digest) it rests on, in the order in which it cites them.

        A query, unless it was read ``with_citations``.
        """
        cited = [link.output_id for link in self.output_links.all()]
        return cited or [link.source_id for link in self.source_links.all()]

    @property
    def said_first(self) -> str:
        """What it said before anybody edited it."""
        return self.original or self.text

    @property
    def settled_by_hand(self) -> bool:
        """A person pinned, edited, hid, released or kept it back; no model may replace it."""
        judged = self.edited_by or self.released_by or self.kept_back_by
        return self.pinned or self.hidden or bool(judged)

"""Facts: the lines of memory, each with its entry, its weight and its citations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar

from django.db import models
from django.db.models import Case, Exists, F, OuterRef, Q, Value, When

from memorybank.core.fact_state import FactState, ReplacingFact
from memorybank.core.memory_line import LABEL_TOKENS
from memorybank.core.turns import OWN_PREFERENCE
from memorybank.safety.reasons import NORMATIVE, Reported, is_reported

from .audience import NOBODY, ByAudience, PerRow
from .bank import Bank
from .chat import Output
from .citation import FactOutput, FactSource
from .entry import DIGESTS_ABOVE_PATH, EXTRACTIVE, Entry
from .public_id import public_id


def _stands(viewer: str) -> Q:
    """Condition on facts: not superseded, or superseded only by a fact that must not be shown to this person.

    The newer fact is read by a subquery. With a join, PostgreSQL would compare every fact with every other one after an
    import, because the planner's statistics still say that the tables are empty.
    """
    replacing = Fact.objects.filter(pk=OuterRef("superseded_by"), hidden=False, quarantine="")
    return Q(superseded_by=None) | ~Q(PerRow(replacing.visible_to(viewer)))


#: The fields of a rule that waits for an owner: until one refuses it, it is told as its author's report.
WAITING: Mapping[str, Any] = {"quarantine": NORMATIVE, "normative": True, "detail": True, "quarantine_confirmed_by": ""}


def _may_be_shown() -> Q:
    """Condition on facts: not hidden, and not quarantined unless it is a rule that waits for an owner."""
    return Q(hidden=False) & (Q(quarantine="") | Q(**WAITING))


def _beneath() -> Q:
    """Condition on facts: superseded by an edited line of a digest. Unedited lines of digests never supersede facts."""
    above = Fact.objects.filter(pk=OuterRef("superseded_by"), entry__chat=None)
    return Q(superseded_by__isnull=False) & Q(PerRow(above))


#: The columns of a fact from which :func:`_state` is made: its own, annotated ones, and those of the newer fact.
STATE_COLUMNS = (
    "pk original quarantine speaker text weight pinned hidden normative reported released_by edited_by is_visible "
    "is_note is_corrected superseded_by superseded_by__speaker superseded_by__text superseded_by__said_on "
    "superseded_by__entry__chat"
).split()


def _mark(fact: Any) -> int:
    """How far a fact, or its row, is told in its speaker's name and in quotes: see :class:`Reported`."""
    if fact.pinned or fact.released_by or fact.edited_by:
        return Reported.NO
    return int(Reported.ALWAYS if fact.normative else fact.reported)


def _state(row: Any, outputs: Mapping[int, list[int]]) -> FactState:
    """The state of a fact, from a row of STATE_COLUMNS and the outputs that each fact cites."""
    correction = end = None
    if row.edited_by and row.is_visible:
        correction = row.speaker, row.text
    elif row.is_corrected and not row.is_visible:
        correction = row.superseded_by__speaker, row.superseded_by__text
    is_explained = row.is_visible or row.hidden or row.quarantine or correction
    if row.superseded_by and row.superseded_by__entry__chat and not is_explained:
        citations = tuple(outputs[row.superseded_by])
        end = ReplacingFact(row.superseded_by__text, row.superseded_by__said_on, citations)
    return FactState(
        pk=row.pk,
        original_text=row.original or row.text,
        citations=tuple(outputs[row.pk]),
        is_visible=row.is_visible,
        quarantine=row.quarantine,
        speaker=row.speaker,
        text=row.text,
        weight=row.weight,
        is_released=bool(row.released_by),
        correction=correction,
        end=end,
        is_note=row.is_note,
        reported=_mark(row),
    )


class FactQuerySet(ByAudience["Fact"]):
    to_chat = "entry__chat"

    def visible_to(self, viewer: str = NOBODY) -> FactQuerySet:
        """As for every table, and nobody reads a withdrawn line of a digest."""
        return super().visible_to(viewer).filter(withdrawn=False)

    def may_be_shown(self) -> FactQuerySet:
        """Facts that members see in lists: those that may be shown, with superseded ones."""
        return self.filter(_may_be_shown())

    def visible(self, *, beneath: bool = False, viewer: str = NOBODY) -> FactQuerySet:
        """Facts that may be shown to a model: not hidden, quarantined, or superseded by a fact that may be shown.

        An unapproved rule in a person's own words may be shown, too, as a report of that person.

        With ``beneath``, also facts superseded by an edited line of a digest. A superseding fact counts only if
        ``viewer`` may read it. Whether they may read the facts themselves is checked by :meth:`visible_to` only.
        """
        stands = _stands(viewer) | _beneath() if beneath else _stands(viewer)
        return self.filter(stands, _may_be_shown())

    def states(self, *, changed: bool = False, viewer: str = NOBODY) -> list[FactState]:
        """The state of each fact for ``viewer``; with ``changed``, only of notes and of changed or invisible facts."""
        visible = Case(When(_stands(viewer) & _may_be_shown(), then=True), default=False)
        # A person's correction applies to the facts that it superseded, unless they were hidden themselves.
        above = Q(hidden=False, quarantine="", superseded_by__hidden=False) & ~Q(superseded_by__edited_by="")
        is_corrected = Case(When(above, then=True), default=False)
        extracted = Q(detail=True) | Q(entry__method__startswith=EXTRACTIVE)
        note = Case(When(extracted, then=False), default=True)
        facts = self.annotate(is_visible=visible, is_note=note, is_corrected=is_corrected).order_by()
        facts = facts.exclude(is_note=False, is_visible=True, edited_by="", released_by="") if changed else facts
        rows = list(facts.values_list(*STATE_COLUMNS, named=True))
        ids = {pk for row in rows for pk in (row.pk, row.superseded_by) if pk}
        outputs = FactOutput.objects.by_fact(ids) if ids else {}
        return [_state(row, outputs) for row in rows]

    def decided_by_person(self) -> FactQuerySet:
        """Facts that a person pinned, edited, hid, released or confirmed as quarantined; no model may replace them."""
        judged = ~Q(released_by="") | ~Q(quarantine_confirmed_by="")
        return self.filter(Q(pinned=True) | Q(hidden=True) | ~Q(edited_by="") | judged)

    def to_review(self) -> FactQuerySet:
        """Quarantined facts that no person has reviewed, without what one person likes for themselves."""
        held = self.exclude(quarantine="").exclude(quarantine=OWN_PREFERENCE)  # apart, for the partial index
        return held.filter(hidden=False, quarantine_confirmed_by="")

    def preferences_of(self, author: str, *, viewer: str = NOBODY) -> FactQuerySet:
        """Unapproved normative facts that cite only this author's own words. They bind only the author.

        Never show them to anybody else: ``viewer`` must be the same person. ``author`` is the key in their outputs, not
        the displayed name.
        """
        own_words = Q(edited_by="") | Q(edited_by=author)
        unapproved = (
            self.visible_to(viewer)
            .filter(_stands(viewer), own_words, normative=True, hidden=False)
            .exclude(quarantine="")
        )
        return unapproved.only_from(author)

    def only_from(self, author: str) -> FactQuerySet:
        """Facts that rest on this author's own words only."""
        cited = FactOutput.objects.filter(fact=OuterRef("pk"))
        others = cited.exclude(output__author=author, output__said_by="")
        return self.filter(Exists(cited), ~Exists(others))

    def with_places(self) -> FactQuerySet:
        """Select each fact's chat, the digests above it and the superseding fact in the same query."""
        return self.select_related("entry__chat", f"entry__{DIGESTS_ABOVE_PATH}", "superseded_by__entry__chat")

    def shareable(self, *, beneath: bool = False) -> FactQuerySet:
        """Visible facts that everybody may read."""
        return self.visible(beneath=beneath).visible_to()

    def with_trust_in(self, speakers: Collection[str]) -> FactQuerySet:
        """Select whether each fact is of one of these speakers, who may state as a fact what others act on."""
        own = Case(When(speaker__in=speakers, then=True), default=False) if speakers else Value(False)
        return self.annotate(is_from_trusted=own)

    def with_citations(self) -> FactQuerySet:
        """Prefetch the citations, with two more queries."""
        return self.prefetch_related("output_links", "source_links")

    def create_cited(self, facts: Iterable[Fact]) -> list[Fact]:
        """Save new facts with their ``citations``."""
        created = self.bulk_create(facts)
        links = [(fact, pk) for fact in created for pk in fact.citations]
        FactOutput.objects.add((fact.pk, pk) for fact, pk in links if fact.entry.is_leaf)
        links = [(fact, pk) for fact, pk in links if not fact.entry.is_leaf]
        edits = dict(Fact.objects.filter(pk__in={pk for _, pk in links}).values_list("pk", "edited_at"))
        FactSource.objects.bulk_create(FactSource(fact=f, source_id=s, source_edited_at=edits.get(s)) for f, s in links)
        return created

    def best(self, tier: int, limit: int) -> FactQuerySet:
        """Up to ``limit`` facts of a tier with the highest weight per token, without pinned facts."""
        return self.filter(tier=tier, pinned=False).order_by("-worth", "pk")[:limit]


class Fact(models.Model):
    """A line of memory with its citations."""

    class Kind(models.TextChoices):
        FACT = "fact"
        DECISION = "decision"
        PLAN = "plan"
        PREFERENCE = "preference"
        QUESTION = "question"

    # No separate index: fact_worth starts with this column.
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="facts", db_index=False)
    entry = models.ForeignKey(Entry, models.CASCADE, related_name="facts")
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.FACT)
    text = models.TextField()
    speaker = models.CharField(max_length=200, blank=True)
    said_on = models.DateField()
    tokens = models.PositiveIntegerField()
    weight = models.FloatField(default=0.5, help_text="How likely it is to be asked for later, 0 to 1.")
    # Weight per token. Like packing, this adds a share of the tokens of date and speaker.
    worth = models.GeneratedField(
        expression=F("weight") / (F("tokens") + LABEL_TOKENS), output_field=models.FloatField(), db_persist=True
    )
    tier = models.PositiveSmallIntegerField(
        null=True,
        editable=False,
        help_text="The tier of the live entry above it; empty for absorbed lines that no person decided on, and for "
        "facts of private chats.",
    )
    detail = models.BooleanField(default=False, help_text="A sentence that was extracted beside a model's facts.")
    outputs = models.ManyToManyField(
        Output, through=FactOutput, related_name="facts", help_text="The messages that a leaf's fact cites."
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
        default=False, editable=False, help_text="It states something temporary, which a newer fact may end."
    )
    changing = models.BooleanField(
        default=False, editable=False, help_text="It states that something is over, and may replace older facts."
    )
    part = models.PositiveSmallIntegerField(
        default=0, editable=False, help_text="The part of a long chat that a model wrote it from, counted from 0."
    )
    pinned = models.BooleanField(default=False)
    pinned_for = models.BigIntegerField(null=True, editable=False)  # the id of the withdrawn line that passed its pin
    hidden = models.BooleanField(default=False)
    #: A line of a digest that must not be told as it is: a source is private or was corrected since.
    withdrawn = models.BooleanField(default=False, db_default=False, editable=False)
    edited_by = models.CharField(max_length=200, blank=True, help_text="Who wrote or edited it.")
    edited_at = models.DateTimeField(null=True, blank=True)
    original = models.TextField(blank=True, help_text="Its text before it was edited; empty: it was not.")
    original_speaker = models.CharField(max_length=200, blank=True)
    hidden_with = models.ForeignKey(
        "self",
        models.SET_NULL,
        related_name="took_along",
        null=True,
        blank=True,
        help_text="The line that rests on it and was hidden with it; both are shown again together.",
    )
    quarantine = models.CharField(max_length=200, blank=True, help_text="Why it is quarantined; empty: it is not.")
    normative = models.BooleanField(
        default=False,
        editable=False,
        help_text="It says how to behave or answer; until somebody releases it, it binds only its author.",
    )
    reported = models.PositiveSmallIntegerField(
        default=Reported.NO,
        editable=False,
        help_text="Whether it is told in its speaker's name and in quotes; its text has no quotes.",
    )
    released_by = models.CharField(max_length=200, blank=True, help_text="Who released it from quarantine.")
    quarantine_confirmed_by = models.CharField(
        max_length=200, blank=True, help_text="Who decided that it stays quarantined."
    )
    superseded_by = models.ForeignKey("self", models.SET_NULL, related_name="supersedes", null=True, blank=True)

    objects: ClassVar[FactQuerySet] = FactQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["entry_id", "position"]
        constraints = [
            # An edited text without an editor would look unedited.
            models.CheckConstraint(name="fact_original_was_edited", condition=Q(original="") | ~Q(edited_by="")),
        ]
        indexes = [
            # Read by rendering and roll-up: the facts of an entry, in order.
            models.Index(name="fact_in_entry", fields=["entry", "position"]),
            # Read by rendering: the best facts of each tier, at a cost that does not grow with the history.
            models.Index(name="fact_worth", fields=["bank", "tier", "-worth", "id"]),
            # Read for a prompt: a person's preferences.
            models.Index(name="fact_preference", fields=["bank", "speaker"], condition=Q(kind="preference")),
            # Read by rendering: pinned facts; there are few.
            models.Index(name="fact_pinned", fields=["bank"], condition=Q(pinned=True)),
            # Read by reviews and counts of them: quarantined facts; there are few.
            models.Index(name="fact_quarantined", fields=["bank"], condition=~Q(quarantine="")),
            # Read by lists of facts: the latest, as far as a page goes.
            models.Index(name="fact_latest", fields=["bank", "said_on", "id"]),
            # Read for each prompt: normative facts; there are few.
            models.Index(name="fact_normative", fields=["bank"], condition=Q(normative=True)),
            # Read when a new fact states an end: ongoing facts; there are few.
            models.Index(name="fact_ongoing", fields=["bank"], condition=Q(ongoing=True)),
            # Read when a chat is summarised after newer chats: facts that state an end; there are few.
            models.Index(name="fact_changing", fields=["bank", "said_on"], condition=Q(changing=True)),
            # Read by rendering: withdrawn lines, whose sources stand in for them; there are few.
            models.Index(name="fact_withdrawn", fields=["bank"], condition=Q(withdrawn=True)),
        ]

    def __str__(self) -> str:
        return f"fact {public_id(self.pk)}"

    @cached_property
    def citations(self) -> list[int]:
        """Ids of the cited outputs (in a leaf) or leaf facts (in a digest), in order.

        Executes queries unless the fact was read ``with_citations``.
        """
        cited = [link.output_id for link in self.output_links.all()]
        return cited or [link.source_id for link in self.source_links.all()]

    @property
    def is_private(self) -> bool:
        """Whether it is from a private chat. Executes two queries unless it was read with its entry and chat."""
        return self.entry.chat is not None and self.entry.chat.private

    @property
    def replaced_for_all(self) -> Fact | None:
        """The fact that superseded it, if that fact is public; otherwise None."""
        newer = self.superseded_by
        return None if newer is None or newer.is_private else newer

    @property
    def original_text(self) -> str:
        """Its text before it was edited."""
        return self.original or self.text

    @property
    def is_waiting(self) -> bool:
        """Whether it is a rule that waits for an owner."""
        return all(getattr(self, name) == value for name, value in WAITING.items())

    @property
    def is_report(self) -> bool:
        """Whether it is told in its speaker's name and in quotes; trust counts if read :meth:`with_trust_in` people."""
        return is_reported(_mark(self), trusted=getattr(self, "is_from_trusted", False))

    @property
    def decided_by_person(self) -> bool:
        """Whether a person has decided on it, so that no model may replace it."""
        judged = self.edited_by or self.released_by or self.quarantine_confirmed_by
        return self.pinned or self.hidden or bool(judged)

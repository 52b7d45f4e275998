"""Data that memory must not show or import: masked values, erased turns, authors who opted out, requests to forget."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.utils.crypto import salted_hmac

from memorybank import conf
from memorybank.prepared import PreparedQuery
from memorybank.safety.via import person_in

from .bank import Bank
from .chat import Chat, Output
from .public_id import public_id

if TYPE_CHECKING:
    from memorybank.safety.redaction import Masker


#: The subject of an erasure: ("chat", key), ("author", name), ("output", chat key, key), ("line", *fact ids) or
#: ("everything",).
Subject = tuple[str, ...]


class ErasureQuerySet(models.QuerySet["Erasure"]):
    def until(self, bank: Bank, subjects: Collection[Subject]) -> dict[Subject, datetime]:
        """The erased ones among these subjects, each with the time up to which its outputs must not be re-imported."""
        if not bank.epoch:  # nothing was ever erased
            return {}
        subject_by_digest = {digest: subject for subject in subjects for digest in Erasure.digests(bank, subject)}
        erasures = self.filter(bank=bank, subject__in=subject_by_digest).order_by("at")
        ends = erasures.values_list("subject", Coalesce("until", "at"))
        return {subject_by_digest[digest]: until for digest, until in ends}

    def receipts(self) -> ErasureQuerySet:
        """Without the rows that only keep further turns of an erasure from being imported again."""
        return self.exclude(counts={})


class Erasure(models.Model):
    """The receipt of an erasure: how much, when and by whom. The erased subject is stored as a keyed hash only."""

    class Kind(models.TextChoices):
        CHAT = "chat"
        AUTHOR = "author"
        OUTPUT = "output", "turn"
        LINE = "line"
        EVERYTHING = "everything"

    # No separate index: the index below starts with this column.
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="erasures", db_index=False)
    kind = models.CharField(max_length=10, choices=Kind)
    subject = models.CharField(max_length=40, help_text="A keyed hash of what was erased.")
    asked_by = models.CharField(max_length=200)
    epoch = models.PositiveIntegerField(help_text="Work that began before this epoch writes nothing.")
    counts = models.JSONField(help_text="How much was erased and will be rebuilt; empty for further messages.")
    at = models.DateTimeField()
    until = models.DateTimeField(
        null=True, help_text="Words from up to then are not imported again; empty: up to the time of the erasure."
    )

    objects: ClassVar[ErasureQuerySet] = ErasureQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["-pk"]
        indexes = [
            # Read by recording: whether an output was erased.
            models.Index(name="erasure_of_subject", fields=["bank", "subject"]),
        ]

    def __str__(self) -> str:
        return f"erasure {public_id(self.pk)}"

    @classmethod
    def digest(cls, bank: Bank, subject: Subject) -> str:
        """Keyed hash of a subject. Without the secret key, names cannot be guessed and banks cannot be compared."""
        return cls.digests(bank, subject)[0]

    @staticmethod
    def digests(bank: Bank, subject: Subject) -> list[str]:
        """The hashes of a subject with the site's secret key and with each of its earlier keys."""
        value = "\x00".join((str(bank.pk), *subject))
        hashes = (salted_hmac("memorybank.erased", value, key, algorithm="sha256") for key in conf.secret_keys())
        return [made.hexdigest()[:40] for made in hashes]


class OptOutQuerySet(models.QuerySet["OptOut"]):
    def usable(self, bank: Bank, outputs: Iterable[Output], *, in_chat: bool = False) -> list[Output]:
        """The outputs that memory may use: not requested to be erased, not too old, and not by an author who opted out.

        ``in_chat`` is for use in the chat itself: it includes outputs from before memory was on and outputs set aside.
        Without it, answers that quote private memory are blanked, except in private chats with exactly one reader.
        """
        until = dict(_UNTIL.rows(bank.pk))
        since = bank.remembers_since

        def is_usable(output: Output) -> bool:
            people = {output.author, person_in(output.author), output.said_by, output.answered_by} & until.keys()
            opted_out = any((end := until[name]) is None or output.created_at < end for name in people)
            is_left_out = (output.predates_memory or output.set_aside) and not in_chat
            return not (opted_out or is_left_out or output.erasure_requested or (since and output.created_at < since))

        usable = [output for output in outputs if is_usable(output)]
        if in_chat or not any(output.quotes_private for output in usable):
            return usable
        chats = Chat.objects.filter(pk__in={output.chat_id for output in usable}, private=True)
        own = {chat.pk for chat in chats if chat.readers.count() == 1}
        shown = [output if output.chat_id in own else output.for_others() for output in usable]
        return [output for output in shown if output.has_words or not output.quotes_private]


class OptOut(models.Model):
    """An author whose words memory does not use. If ``until`` is set, this applies only to words from before it."""

    # No separate index: the constraint's index starts with this column.
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="opt_outs", db_index=False)
    author = models.CharField(max_length=200)
    until = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[OptOutQuerySet] = OptOutQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # Two rows of one author could contradict each other. The index finds a bank's opt-outs.
            models.UniqueConstraint(name="opt_out_once", fields=["bank", "author"]),
        ]

    def __str__(self) -> str:
        return f"opt-out {self.pk}"


class ErasureRequestQuerySet(models.QuerySet["ErasureRequest"]):
    def erasures(self) -> Self:
        """Requests to erase turns."""
        return self.exclude(outputs=[])

    def objections(self) -> Self:
        """Objections to lines."""
        return self.filter(outputs=[])

    def open(self) -> Self:
        return self.filter(state=ErasureRequest.State.OPEN)

    def drop_objections(self, bank: Bank) -> int:
        """Delete the objections to facts that no longer exist, because a reason may quote them; return their number."""
        objections = self.filter(bank=bank).objections().exclude(reason="")
        named = {pk for objection in objections for pk in objection.facts}
        known = set(bank.facts.filter(pk__in=named).values_list("pk", flat=True))
        gone = [objection.pk for objection in objections if not known.issuperset(objection.facts)]
        return self.filter(pk__in=gone).delete()[0]


class ErasureRequest(models.Model):
    """A member's request to the owners.

    It asks in a chat to erase one's own turns: excluded from memory at once, erased once an owner agrees. Or, without
    ``outputs``, it objects to a line that rests on what others said, for a ``reason``: by itself it changes nothing.
    """

    class State(models.TextChoices):
        OPEN = "open"
        RESTORED = "restored"
        ERASED = "erased"
        SETTLED = "settled"

    bank = models.ForeignKey(Bank, models.CASCADE, related_name="erasure_requests")
    chat = models.ForeignKey(Chat, models.SET_NULL, related_name="+", null=True)
    asked_in = models.PositiveBigIntegerField(
        default=0, db_index=True, help_text="The message with the request; 0: it was made on a page."
    )
    author = models.CharField(max_length=200)
    outputs = models.JSONField(help_text="Ids of the messages to forget, including the one with the request.")
    facts = models.JSONField(
        default=list, help_text="Ids of the facts that were hidden because of it, or that it objects to."
    )
    reason = models.TextField(default="", db_default="", blank=True, help_text="What is wrong; empty if closed.")
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    asked_at = models.DateTimeField()
    closed_by = models.CharField(max_length=200, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[ErasureRequestQuerySet] = ErasureRequestQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(name="erasure_request_closed", condition=Q(state="open") | ~Q(closed_by="")),
        ]

    def __str__(self) -> str:
        return f"request {public_id(self.pk)}"


# The masking rules are imported in functions, so that commands that mask nothing start faster.


#: The masked values of a bank: asked twice for each chat.
_UNTIL = PreparedQuery(lambda bank: OptOut.objects.filter(bank=bank).values_list("author", "until"))
_OF_BANK = PreparedQuery(lambda bank: MaskedValue.objects.filter(bank=bank))


class MaskedValueQuerySet(models.QuerySet["MaskedValue"]):
    def masker(self, bank: Bank) -> Masker:
        """The masker of a bank, with its current settings. One query."""
        rows = [row for row in _OF_BANK.rows(bank.pk) if bank.redact_personal or not row.personal]
        return _masker(bank, rows)

    def maskers(self, banks: Iterable[Bank]) -> dict[int, Masker]:
        """The maskers of several banks, by bank id. One query."""
        by_id = {bank.pk: bank for bank in banks}
        rows: dict[int, list[MaskedValue]] = {pk: [] for pk in by_id}
        for row in self.filter(bank__in=by_id):
            if by_id[row.bank_id].redact_personal or not row.personal:
                rows[row.bank_id].append(row)
        return {pk: _masker(bank, rows[pk]) for pk, bank in by_id.items()}

    def learn(self, bank: Bank, values: Mapping[str, str]) -> dict[str, str]:
        """Store values (value → kind) that are not stored yet; return these. The caller holds the bank's lock."""
        from memorybank.safety.redaction import PERSONAL_KINDS, digest

        digests = {value: [digest(key, value) for key in _keys(bank)] for value in values}
        wanted = list(chain.from_iterable(digests.values()))
        known = set(self.filter(bank=bank, digest__in=wanted).values_list("digest", flat=True)) if wanted else set()
        new = {made[0]: value for value, made in digests.items() if known.isdisjoint(made)}
        self.bulk_create(
            MaskedValue(
                bank=bank,
                digest=digest,
                length=len(value),
                kind=values[value][:60],
                personal=values[value] in PERSONAL_KINDS,
            )
            for digest, value in new.items()
        )
        return {value: values[value] for value in new.values()}

    def forget(self, bank: Bank, values: Iterable[str]) -> int:
        """Delete these values; return how many were known. The caller holds the bank's lock."""
        from memorybank.safety.redaction import digest

        digests = [digest(key, value) for value in values for key in _keys(bank)]
        return self.filter(bank=bank, digest__in=digests).delete()[0]


def _masker(bank: Bank, rows: Iterable[MaskedValue]) -> Masker:
    from memorybank.safety.redaction import KnownValues, Masker

    kinds = {row.digest: row.kind for row in rows}
    return Masker(bank.redact_personal, KnownValues(_keys(bank), kinds, sorted({row.length for row in rows})))


def _keys(bank: Bank) -> tuple[bytes, ...]:
    """The bank's own HMAC keys, one per site key, so that hashes do not reveal that two banks share a secret."""
    derived = (salted_hmac("memorybank.masked", str(bank.pk), key, algorithm="sha256") for key in conf.secret_keys())
    return tuple(key.digest() for key in derived)


class MaskedValue(models.Model):
    """A value to mask: its keyed hash, its length, and its kind, which replaces it in text."""

    # No separate index: the constraint's index starts with this column.
    bank = models.ForeignKey(Bank, models.CASCADE, related_name="masked_values", db_index=False)
    digest = models.CharField(max_length=40)
    length = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=60)
    personal = models.BooleanField(help_text="Masked only while the bank masks personal data.")

    objects: ClassVar[MaskedValueQuerySet] = MaskedValueQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # A value is stored once. The index finds the values of a bank.
            models.UniqueConstraint(name="masked_value_once", fields=["bank", "digest"]),
        ]

    def __str__(self) -> str:
        return f"masked value {self.pk} of bank {self.bank_id}"

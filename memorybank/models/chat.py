"""Chats and their outputs (turns) as recorded: the source of truth from which memory is derived."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from copy import copy
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.db import models, transaction
from django.db.models import F, Q

from memorybank import conf
from memorybank.safety.via import VIA

from .audience import ByAudience, has_readers
from .bank import LONG_DUE, Bank
from .leases import Leased, LeasedQuerySet
from .public_id import public_id


class ChatQuerySet(LeasedQuerySet["Chat"], ByAudience["Chat"]):  # type: ignore[override]
    to_chat = "pk"

    def due(self, now: datetime) -> ChatQuerySet:
        """Chats whose turns should be summarised at ``now``."""
        return self.filter(due_at__lte=now, bank__enabled=True).remembered().leasable(now)

    def remembered(self) -> ChatQuerySet:
        """Chats that may have memory: public ones, and private ones with readers."""
        return self.filter(Q(private=False) | has_readers())

    def not_of_others(self, person: str, program: str | None) -> ChatQuerySet:
        """Chats this person may read, plus private ones without readers begun by this program (None: by any)."""
        begun = Q(~has_readers(), private=True) & (Q() if program is None else Q(begun_by=program))
        return self.filter(Q(pk__in=Chat.objects.visible_to(person).values("pk")) | begun)

    def untried(self) -> ChatQuerySet:
        """Chats whose last attempt did not fail, the longest due first."""
        return self.filter(attempts=0).order_by("due_at", "pk")

    def tried(self) -> ChatQuerySet:
        """Chats whose last attempt failed, those with the fewest failures first."""
        return self.filter(attempts__gt=0).order_by("attempts", "due_at", "pk")

    def waiting(self) -> ChatQuerySet:
        """Chats with turns to summarise, or summaries to rebuild."""
        return self.filter(Q(pending_outputs__gt=0) | Q(stale=True))

    def parked(self) -> ChatQuerySet:
        """Chats that are not retried until a person requests it."""
        return self.filter(parked_at__isnull=False)

    def retry(self, now: datetime) -> int:
        """Make parked chats due now; return how many."""
        return self.update(parked_at=None, attempts=0, due_at=now)

    def failing(self) -> ChatQuerySet:
        """Chats whose last attempt failed and that wait for the next one."""
        due = self.filter(due_at__isnull=False)  # which all of them have, and an index holds few others
        return due.waiting().remembered().filter(attempts__gt=0, parked_at=None, bank__enabled=True)

    def revive(self, since: datetime, *, afresh: bool = True) -> int:
        """Retry the chats that have failed only since ``since``, when an outage began; return how many.

        ``afresh`` resets their attempts to 0; without it, one attempt is subtracted. ``failed_since`` is kept, but for
        a microsecond, as the next outage may begin at the same ``now``: a chat whose own content fails is revived once.
        """
        failed = self.waiting().remembered().filter(failed_since__gte=since)
        banks = failed.order_by("bank_id").values_list("bank_id", flat=True).distinct()
        return sum(failed.filter(bank=bank, attempts__gt=0)._revive_in(bank, afresh) for bank in banks)

    @transaction.atomic
    def _revive_in(self, bank: int, afresh: bool) -> int:
        Bank.objects.lock(bank)
        return self.update(
            attempts=0 if afresh else F("attempts") - 1,
            parked_at=None,
            due_at=F("last_output_at"),
            failed_since=F("failed_since") - timedelta(microseconds=1),
        )

    def schedule(self, bank: Bank) -> int:
        """Set the due time of each waiting chat of ``bank``, after its settings changed."""
        waiting = self.waiting().filter(bank=bank, parked_at=None)
        if not bank.enabled:
            return waiting.update(due_at=None)
        waiting.filter(~has_readers(), private=True).update(due_at=None)
        return waiting.remembered().update(due_at=F("last_output_at") + timedelta(minutes=bank.idle_minutes))

    def reindex(self, bank: Bank) -> int:
        """Mark the chats with summarised but unindexed turns as due for indexing; none while the bank is off."""
        if not bank.enabled:
            return self.filter(bank=bank, index_due=True).update(index_due=False)
        unindexed = self.remembered().filter(bank=bank, summarised_through__gt=F("indexed_through"))
        return unindexed.update(index_due=True)

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete chats and all lines derived from them, also in stored blocks. Running work stores nothing."""
        with transaction.atomic():
            keys: dict[int, list[str]] = defaultdict(list)
            for bank_id, key in self.values_list("bank_id", "key"):
                keys[bank_id].append(key)
            banks = list(Bank.objects.select_for_update().filter(pk__in=keys).order_by("pk"))
            digests = {bank.pk: bank.entries.filter(chat__in=self.values("pk")).above_for_deletion() for bank in banks}
            deleted = super().delete()
            for bank in banks:
                digests[bank.pk].prune()
                bank.blocks.drop(bank, keys[bank.pk])
                bank.line_versions.resting_on(chats=keys[bank.pk]).delete()
                Bank.objects.touch(bank.pk, epoch=F("epoch") + 1, consolidate_at=LONG_DUE)
        return deleted

    delete.queryset_only = True  # type: ignore[attr-defined]  # as Django's: no Chat.objects.delete()


class Chat(Leased):
    """A conversation in the outer application, which identifies it by ``key``."""

    bank = models.ForeignKey(Bank, models.CASCADE, related_name="chats")
    key = models.CharField(max_length=200)
    title = models.CharField(max_length=200, blank=True)
    private = models.BooleanField(
        default=False, help_text="Its memory is for its readers only; without readers nothing is made of it."
    )
    begun_by = models.CharField(max_length=64, blank=True, editable=False, help_text="The program that began it.")
    last_output_at = models.DateTimeField(null=True, blank=True)
    pending_outputs = models.PositiveIntegerField(default=0, help_text="Messages waiting to be summarised.")
    stale = models.BooleanField(default=False, editable=False, help_text="A summary has to be rebuilt.")
    summarised_through = models.PositiveBigIntegerField(
        default=0, help_text="The watermark: the sequence of the last output that memory covers."
    )
    indexed_through = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="The sequence of the last output that was indexed."
    )
    index_due = models.BooleanField(default=False, editable=False, help_text="Messages wait to be indexed.")
    due_at = models.DateTimeField(null=True, blank=True, help_text="When the sweep should look at it; empty: never.")
    attempts = models.PositiveIntegerField(default=0)
    failed_since = models.DateTimeField(null=True, blank=True, help_text="First failure since the last success.")
    parked_at = models.DateTimeField(null=True, blank=True)
    last_error = models.CharField(max_length=500, blank=True)
    quoted_words = models.JSONField(
        default=list,
        editable=False,
        help_text="Keyed hashes of the words that its answers quoted from memory that not everybody may read.",
    )
    kept_block = models.ForeignKey(
        "StoredBlock",
        models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="kept_by",
        help_text="The block of its last prompt, which it keeps while people write in it.",
    )

    objects: ClassVar[ChatQuerySet] = ChatQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # Prevents concurrent recording from creating a chat twice.
            models.UniqueConstraint(name="chat_key_unique_in_bank", fields=["bank", "key"]),
            # With an empty key, unrelated turns would end up in one chat.
            models.CheckConstraint(name="chat_key_not_empty", condition=~Q(key="")),
        ]
        indexes = [
            # Read by ChatQuerySet.due on every sweep; chats with nothing due are not in it.
            models.Index(name="chat_due", fields=["due_at"], condition=Q(due_at__isnull=False)),
            # Read by the work queue before every summary: a bank's longest due chat.
            models.Index(
                name="chat_untried_in_bank", fields=["bank", "due_at"], condition=Q(due_at__isnull=False, attempts=0)
            ),
            # Read by ChatQuerySet.parked in every report; few chats are in it.
            models.Index(name="chat_parked", fields=["bank"], condition=Q(parked_at__isnull=False)),
            # Read by indexing on every sweep; chats whose turns are all indexed are not in it.
            models.Index(name="chat_index_due", fields=["id"], condition=Q(index_due=True)),
        ]

    def __str__(self) -> str:
        return self.title or self.key

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """See :meth:`ChatQuerySet.delete`."""
        return Chat.objects.filter(pk=self.pk).delete()

    @property
    def is_remembered(self) -> bool:
        """Whether it may have memory: it is public, or has readers. Executes a query if it is private."""
        return not self.private or self.readers.exists()

    def next_due(self, bank: Bank) -> datetime | None:
        """When to summarise it: once it is idle, or at once if many turns are pending or only a leaf is stale."""
        waits = self.pending_outputs or self.stale
        if not (waits and bank.enabled and self.last_output_at) or self.parked_at or not self.is_remembered:
            return None
        if not self.pending_outputs or self.pending_outputs >= conf.current().due_after_turns:
            return self.last_output_at
        return self.last_output_at + timedelta(minutes=bank.idle_minutes)


#: Maximum keys per query. The query looks up each of its chats with each of its keys.
KEYS_PER_QUERY = 50


class OutputQuerySet(ByAudience["Output"]):
    def remembered(self) -> OutputQuerySet:
        """Outputs that were answered: pending, failed and blocked ones are not memory."""
        return self.filter(status=Output.Status.OK)

    def repeating(self, chat: int) -> OutputQuerySet:
        """Turns whose answer may repeat this chat: its own, and those of chats with a turn linked by ``QuotedChat``."""
        return self.filter(Q(chat__outputs__quoted_chats__chat=chat) | Q(chat=chat)).distinct()

    def shown(self) -> OutputQuerySet:
        return self.filter(set_aside=False)  # i.e. the chat continues from them

    def before_memory(self, bank: Bank) -> OutputQuerySet:
        """Outputs that memory excludes because they were recorded while the memory of ``bank`` was off."""
        known = Q(predates_memory=True)
        if not bank.enabled:
            known |= Q(sequence__gt=F("chat__summarised_through")) & Q(sequence__gt=bank.off_after)
        return self.remembered().filter(known, chat__bank=bank)

    def unanswered(self) -> OutputQuerySet:
        """Outputs whose status is not ok; they may be asked again."""
        return self.exclude(status=Output.Status.OK)

    def of_person(self, name: str) -> OutputQuerySet:
        """Outputs that a person wrote, also through a program, or is quoted in."""
        return self.filter(Q(author=name) | Q(author__startswith=name + VIA) | Q(said_by=name) | Q(answered_by=name))

    def with_words(self) -> OutputQuerySet:
        """Outputs that still have text."""
        return self.exclude(question="", answer="", messages=[])

    def with_keys(self, keys: Iterable[str]) -> OutputQuerySet:
        """Outputs with one of these keys. Outputs without a key never match, and are not in the index."""
        return self.filter(key__in=keys).exclude(key="")

    def known(self, keys: Iterable[tuple[int, str]]) -> dict[tuple[int, str], Output]:
        """Recorded outputs by (chat id, key). May include others than asked for. Loads only the status."""
        wanted = sorted(keys)
        known: dict[tuple[int, str], Output] = {}
        for start in range(0, len(wanted), KEYS_PER_QUERY):
            chats, names = zip(*wanted[start : start + KEYS_PER_QUERY], strict=True)
            outputs = self.filter(chat__in=set(chats)).with_keys(set(names)).order_by()
            known |= {(output.chat_id, output.key): output for output in outputs.only("chat", "key", "status")}
        return known


class Output(models.Model):
    """A question with its answer. Once its status is ok, it is never changed, only erased.

    ``sequence`` is its position among its bank's turns. It is assigned when the output is recorded and again when it
    becomes ok, both under the bank's lock. So each turn that becomes ok comes after all turns that are already ok; the
    watermark (``Chat.summarised_through``) relies on this order. The id never changes.
    """

    class Status(models.TextChoices):
        OK = "ok", "OK"
        ERROR = "error"
        BLOCKED = "blocked"
        CANCELLED = "cancelled"
        STOPPED = "stopped"
        PENDING = "pending"

    chat = models.ForeignKey(Chat, models.CASCADE, related_name="outputs")
    sequence = models.PositiveBigIntegerField(
        editable=False, help_text="Its position among its bank's messages; assigned again when it becomes ok."
    )
    key = models.CharField(max_length=200, blank=True, help_text="The outer app's id, for idempotence.")
    author = models.CharField(max_length=200)
    said_by = models.CharField(
        max_length=200, blank=True, help_text="The speaker that the author quotes, in a transcript."
    )
    answered_by = models.CharField(
        max_length=200, blank=True, help_text="The speaker who answered instead of the model, in a transcript."
    )
    question = models.TextField(blank=True)
    answer = models.TextField(blank=True)
    messages = models.JSONField(default=list, blank=True)
    metadata = models.JSONField(
        default=dict, blank=True, help_text="Labels of the outer application; no model reads them."
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.OK)
    error = models.CharField(
        max_length=500, blank=True, help_text="Why there is no answer: the provider's error message."
    )
    # Three reasons for which memory excludes an answered output. Columns keep the names that the last release uses.
    erasure_requested = models.BooleanField(
        db_column="withheld", default=False, help_text="Its author asked to erase it, and no owner has decided yet."
    )
    predates_memory = models.BooleanField(
        db_column="left_out", default=False, help_text="It is from before memory was on, and was not included."
    )
    set_aside = models.BooleanField(
        default=False, help_text="Its chat was continued from an earlier message, so the chat no longer shows it."
    )
    quotes_private = models.BooleanField(
        default=False,
        editable=False,
        help_text="Its answer has words of memory that not everybody may read; a private chat of one reader uses it.",
    )
    replaces = models.JSONField(
        default=list, blank=True, help_text="Ids of outputs of its chat that it replaces once it is answered."
    )
    created_at = models.DateTimeField(help_text="When it was first asked.")
    asked_at = models.DateTimeField(
        null=True, blank=True, help_text="When it was last asked; empty once it is ok. Identifies an attempt."
    )

    objects: ClassVar[models.Manager[Output]] = models.Manager.from_queryset(OutputQuerySet)()

    class Meta:
        ordering = ["sequence"]
        constraints = [
            # Prevents a repeated import or request from recording an output twice.
            models.UniqueConstraint(name="output_key_unique_in_chat", fields=["chat", "key"], condition=~Q(key="")),
            # The watermark would skip one of two turns with the same sequence. The index reads a chat in order.
            models.UniqueConstraint(name="output_sequence_unique_in_chat", fields=["chat", "sequence"]),
        ]

    def __str__(self) -> str:
        return f"output {public_id(self.pk)}"

    def for_others(self) -> Output:
        """The turn for others: an unsaved copy without the answer, or a program's note, that quotes private memory."""
        if not self.quotes_private:
            return self
        shared = copy(self)
        shared.question, shared.answer, shared.messages = self.question if self.answer or self.messages else "", "", []
        return shared

    @property
    def has_words(self) -> bool:
        """Whether it has text. When a turn expires, its row is kept without text, because facts cite it."""
        return bool(self.question or self.answer or self.messages)

    def is_awaited(self, now: datetime, patience: timedelta) -> bool:
        """Whether an answer may still arrive; after ``patience`` a pending output counts as abandoned."""
        return self.status == self.Status.PENDING and self.asked_at is not None and now < self.asked_at + patience


def sequences_by_chat(outputs: Iterable[Output]) -> dict[int, dict[int, int]]:
    """Chat id → output id → sequence."""
    by_chat: dict[int, dict[int, int]] = defaultdict(dict)
    for output in outputs:
        by_chat[output.chat_id][output.pk] = output.sequence
    return dict(by_chat)

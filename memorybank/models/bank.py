"""The bank: one project's memory and its settings."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from memorybank import conf
from memorybank.prepared import PreparedQuery, PreparedUpdate, update

from .leases import Leased, LeasedQuerySet
from .public_id import public_id

logger = logging.getLogger(__name__)

MIN_TOKENS, MAX_TOKENS = 200, 32_000
#: 0 switches recalled notes off.
MAX_RECALL_TOKENS = 8_000
#: 0 switches the personal part of a prompt off.
MAX_PERSONAL_TOKENS = 8_000
MAX_IDLE_MINUTES = 7 * 24 * 60
MAX_RETENTION_DAYS = 36_500
#: Earlier than any other due time.
LONG_DUE = datetime(1970, 1, 1, tzinfo=UTC)


@cache
def _zone(name: str) -> ZoneInfo:
    """The zone with this name, or UTC, with one warning in the log of each process."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, no valid name, or a directory of zones
        logger.warning("This machine does not know the time zone %r: the days of its projects are those of UTC.", name)
        return ZoneInfo("UTC")


class BankQuerySet(LeasedQuerySet["Bank"]):
    def due_for_consolidation(self, now: datetime) -> BankQuerySet:
        """Banks that may have something to roll up at ``now``, longest waiting first."""
        return self.filter(enabled=True, consolidate_at__lte=now).leasable(now).order_by("consolidate_at", "pk")

    def expiring(self, now: datetime) -> BankQuerySet:
        """Banks, enabled or not, whose retention is due for a check at ``now``."""
        return self.filter(expire_at__lte=now).order_by("expire_at", "pk")

    def capped(self) -> BankQuerySet:
        """Banks that reached their monthly cap and have not been rebuilt since."""
        return self.filter(capped_at__isnull=False)

    def not_recent(self, now: datetime) -> BankQuerySet:
        """Banks not consolidated in the last ``refresh_seconds``; times after ``now`` do not count."""
        return self.exclude(
            consolidated_at__gt=now - timedelta(seconds=conf.current().refresh_seconds), consolidated_at__lte=now
        )

    def select_for_update(
        self, nowait: bool = False, skip_locked: bool = False, of: Sequence[str] = (), no_key: bool = True
    ) -> BankQuerySet:
        """Lock the rows, but let others insert rows that refer to them, such as model calls and counted prompts."""
        return super().select_for_update(nowait, skip_locked, of, no_key)

    def enqueue(self) -> None:
        """Append these banks to the work queue, except those already in it."""
        self.filter(queue_position=None).update(queue_position=_end_of_queue())

    def rotate_first(self) -> int | None:
        """Move the first bank of the work queue to its end and return its id; None if the queue is empty."""
        queue = self.filter(queue_position__isnull=False).order_by("queue_position", "pk")
        queued = queue.values_list("pk", "queue_position")
        while first := queued[:2]:
            pk, position = first[0]
            alone = len(first) == 1  # it is at the end already
            if alone or self.filter(pk=pk, queue_position=position).update(queue_position=_end_of_queue()):
                return pk
        return None

    def dequeue(self, pk: int) -> None:
        """Remove a bank that has nothing due from the work queue, until something falls due."""
        self.filter(pk=pk).update(queue_position=None)

    def lock(self, pk: int) -> None:
        """Lock a bank's row, if it exists, until the transaction ends.

        Code that changes several chats of a bank must take this lock first.
        """
        _LOCK.lock(pk)

    def touch_index(self, pk: int) -> None:
        """Record that the index changed, which invalidates cached index data."""
        _TOUCH_INDEX.execute(pk)

    def touch(self, pk: int, **changed: Any) -> None:
        """Record that a bank's memory changed, so that its stored block is outdated; also set these fields."""
        self.filter(pk=pk).update(version=F("version") + 1, **changed)


def _end_of_queue() -> Combinable:
    """Expression for the position after the last one, computed by the database within the update."""
    last = Bank.objects.filter(queue_position__isnull=False).order_by("-queue_position").values("queue_position")[:1]
    return Coalesce(models.Subquery(last), Value(0)) + 1


class Bank(Leased):
    """The root of isolation: every chat, entry and fact belongs to exactly one bank."""

    enabled = models.BooleanField(default=False)
    max_tokens = models.PositiveIntegerField(
        "memory budget, in tokens",
        default=2000,
        validators=[MinValueValidator(MIN_TOKENS), MaxValueValidator(MAX_TOKENS)],
        help_text=f"Tokens of the block that goes into every prompt, {MIN_TOKENS} to {MAX_TOKENS:,}.",
    )
    recall_tokens = models.PositiveIntegerField(
        "recall budget",
        default=600,
        validators=[MaxValueValidator(MAX_RECALL_TOKENS)],
        help_text=f"Tokens of notes that are recalled for the newest message, at most {MAX_RECALL_TOKENS:,}; 0: none.",
    )
    personal_tokens = models.PositiveIntegerField(
        "personal budget",
        default=200,
        validators=[MaxValueValidator(MAX_PERSONAL_TOKENS)],
        help_text=f"Tokens of the part that only the asking person gets, at most {MAX_PERSONAL_TOKENS:,}; 0: none.",
    )
    new_chats_private = models.BooleanField(
        "new chats are private",
        default=False,
        help_text="What is said in a new chat is remembered for its author only, until they share it.",
    )
    idle_minutes = models.PositiveIntegerField(
        "minutes until an idle chat is summarised",
        default=10,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_IDLE_MINUTES)],
        help_text="A chat is summarised when nobody has written in it for this many minutes.",
    )
    timezone = models.CharField(
        "time zone",
        max_length=64,
        default="UTC",
        help_text="Days, weeks and months begin and end in this zone, such as Europe/Berlin.",
    )
    focus = models.TextField(
        "what matters most",
        blank=True,
        max_length=1000,
        help_text="What matters most in this project; the summariser receives it as an instruction.",
    )
    redact_personal = models.BooleanField(
        "mask personal data",
        default=True,
        help_text="Mask e-mail addresses, telephone, card and id numbers, streets and birthdays in memory. "
        "Secrets are always masked.",
    )
    monthly_cap = models.DecimalField(
        "monthly limit for memory",
        max_digits=12,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text="The most that memory may cost per month (UTC), in the currency of the prices; empty: no cap. At the "
        "cap, memory is extracted without a model. Below it, the model rebuilds what was extracted.",
    )
    keep_turns_days = models.PositiveIntegerField(
        "days to keep messages",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_RETENTION_DAYS)],
        help_text="The text of a message is deleted after this many days; empty: never.",
    )
    keep_memory_days = models.PositiveIntegerField(
        "days to keep memory",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_RETENTION_DAYS)],
        help_text="Memory of a day is deleted after this many days, with everything derived from it; empty: never.",
    )
    disclosure_accepted_by = models.CharField(max_length=200, blank=True, editable=False)
    disclosure_accepted_at = models.DateTimeField(null=True, blank=True, editable=False)

    last_sequence = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="The sequence of the newest message."
    )
    off_after = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="While it is off: the sequence of the last message while it was on."
    )
    epoch = models.PositiveIntegerField(default=0, editable=False, help_text="Incremented by every erasure.")
    version = models.PositiveBigIntegerField(default=1, editable=False, help_text="Incremented by every change.")
    index_version = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="Incremented whenever messages are indexed."
    )
    capped_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Since when the monthly cap is reached."
    )
    remembers_since = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Messages from before this time are excluded from memory."
    )
    expire_at = models.DateTimeField(null=True, blank=True, editable=False, help_text="When retention is checked next.")
    consolidate_at = models.DateTimeField(null=True, blank=True, editable=False)
    consolidated_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When it was last consolidated."
    )
    queue_position = models.PositiveBigIntegerField(
        null=True, blank=True, editable=False, help_text="Its position in the work queue; empty: not queued."
    )
    attempts = models.PositiveIntegerField(default=0, editable=False)
    last_error = models.CharField(max_length=500, blank=True, editable=False)

    objects: ClassVar[BankQuerySet] = BankQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            # Memory is shared with all members only after somebody has accepted the disclosure.
            models.CheckConstraint(
                name="bank_enabled_after_disclosure",
                condition=Q(enabled=False) | Q(disclosure_accepted_at__isnull=False),
            ),
            # A budget outside the limits cannot be rendered.
            models.CheckConstraint(
                name="bank_budget_within_limits",
                condition=Q(max_tokens__gte=MIN_TOKENS, max_tokens__lte=MAX_TOKENS),
            ),
            # Likewise for recalled notes.
            models.CheckConstraint(name="bank_recall_within_limits", condition=Q(recall_tokens__lte=MAX_RECALL_TOKENS)),
            # Likewise for the personal part of a prompt.
            models.CheckConstraint(
                name="bank_personal_within_limits", condition=Q(personal_tokens__lte=MAX_PERSONAL_TOKENS)
            ),
        ]
        indexes = [
            # Read by BankQuerySet.due_for_consolidation on every sweep; a consolidated bank is not in it.
            models.Index(
                name="bank_to_consolidate", fields=["consolidate_at"], condition=Q(consolidate_at__isnull=False)
            ),
            # Read by BankQuerySet.expiring on every sweep; banks that keep everything are not in it.
            models.Index(name="bank_expiring", fields=["expire_at"], condition=Q(expire_at__isnull=False)),
            # Read by BankQuerySet.rotate_first before every chat; banks with nothing due are not in it.
            models.Index(name="bank_queued", fields=["queue_position"], condition=Q(queue_position__isnull=False)),
            # Read by budget_cap on every sweep; banks below their cap are not in it.
            models.Index(name="bank_capped", fields=["capped_at"], condition=Q(capped_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"bank {public_id(self.pk)}"

    @property
    def tz(self) -> ZoneInfo:
        """The time zone in which its days begin and end: UTC if this machine does not know the one that is set."""
        return _zone(self.timezone)

    def draw(self, count: int) -> range:
        """Allocate the next ``count`` sequences for turns, never reused. The caller holds this row's lock."""
        first = self.last_sequence + 1
        self.last_sequence += count
        if count:
            update([self], ["last_sequence"])
        return range(first, first + count)


_TOUCH_INDEX = PreparedUpdate(lambda pk: (Bank.objects.filter(pk=pk), {"index_version": F("index_version") + 1}))
_LOCK = PreparedQuery(lambda pk: Bank.objects.select_for_update().filter(pk=pk).values_list("pk"))

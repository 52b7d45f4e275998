"""Retention: delete the text of turns that are too old, and memory that is too old, with all derived text.

The row of a turn stays, without text, because facts cite it and coverage counts it.
"""

from collections import Counter
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef

from memorybank.audit import log
from memorybank.data_inventory import TABLES, Age
from memorybank.erasure.cascade import remove_from_blocks
from memorybank.erasure.past_lines import take_out_digests
from memorybank.indexing import block_writer
from memorybank.models import Bank, Checkpoint, Compaction, Entry, Event, Fact, Output

#: How often a bank with a maximum age is checked.
CHECK_INTERVAL = timedelta(days=1)
RETENTION_ACTOR = "retention"


def expire(bank_id: int, *, now: datetime) -> Counter[str]:
    """Delete a bank's expired data and return the counts. Does nothing if another worker has just checked the bank."""
    counts = Counter[str]()
    with transaction.atomic():
        if not Bank.objects.filter(pk=bank_id).expiring(now).update(expire_at=now + CHECK_INTERVAL):
            return counts
        bank = Bank.objects.select_for_update().get(pk=bank_id)
        gone: set[int] = set()
        if bank.keep_turns_days:
            _expire_turns(bank, now - timedelta(days=bank.keep_turns_days), counts)
            Bank.objects.touch_index(bank.pk)
        if bank.keep_memory_days:
            gone = _expire_memory(bank, now - timedelta(days=bank.keep_memory_days), counts)
        if counts.total():
            remove_from_blocks(bank, Counter(), facts=gone, outputs={}, now=now)
            log(
                bank,
                RETENTION_ACTOR,
                Event.Action.ERASE,
                now,
                **{name: count for name, count in counts.items() if count},
            )
    if counts.total():
        block_writer.refresh(bank_id, now=now)
    return counts


def _expire_turns(bank: Bank, limit: datetime, counts: Counter[str]) -> None:
    """Delete the text of turns, their documents and vectors, and titles, which quote them."""
    _expire_checkpoints(bank, limit, counts)
    _expire_rows(bank, Age.TURNS, limit, counts)


def _expire_rows(bank: Bank, age: Age, limit: datetime, counts: Counter[str]) -> None:
    """In every table, delete or blank the rows whose own timestamp is too old."""
    day = limit.astimezone(bank.tz).replace(hour=0, minute=0, second=0, microsecond=0)
    for table in TABLES:
        for expiry in table.expiries:
            if expiry.age is age:
                old = table.rows(bank).filter(**{f"{expiry.time}__lt": day if expiry.whole_days else limit})
                old = old.exclude(**expiry.blank) if expiry.blank else old
                if expiry.counted:
                    counts[expiry.counted] += old.count()
                old.update(**expiry.blank) if expiry.blank else old.delete()


def _expire_checkpoints(bank: Bank, limit: datetime, counts: Counter[str], since: datetime | None = None) -> None:
    """Delete checkpoints made of turns that are too old. Turns from before ``since`` were in no checkpoint."""
    own = Output.objects.filter(
        chat=OuterRef("chat"), sequence__lte=OuterRef("through"), created_at__lt=limit
    ).with_words()
    covered = own.filter(created_at__gte=since) if since else own
    old = Checkpoint.objects.filter(Exists(covered), chat__bank=bank)
    counts["checkpoints"] += old.count()
    old.delete()
    Compaction.objects.filter(chat__bank=bank, leased_until__lt=limit).update(focus="", awaited=False)


def _expire_memory(bank: Bank, limit: datetime, counts: Counter[str]) -> set[int]:
    """Delete old facts and the digest lines that rest on them; return the ids of both. Old turns are not read again.

    The leaves stay, empty, because they record which turns have been read.
    """
    Bank.objects.filter(pk=bank.pk).update(remembers_since=max(bank.remembers_since or limit, limit))
    _expire_rows(bank, Age.MEMORY, limit, counts)
    _expire_checkpoints(bank, limit, counts, since=bank.remembers_since)
    old = bank.facts.filter(entry__in=bank.entries.leaves(), said_on__lt=limit.astimezone(bank.tz).date())
    gone, leaves = set(old.values_list("pk", flat=True)), set(old.values_list("entry", flat=True))
    if not gone:
        return gone
    counts["facts"] = len(gone)
    above = set(Entry.objects.filter(pk__in=leaves).above().values_list("pk", flat=True))
    lines = set(Fact.objects.filter(entry__in=above).values_list("pk", flat=True))
    take_out_digests(Entry.objects.filter(pk__in=leaves).visible_to(), counts)
    old.delete()
    for leaf in Entry.objects.filter(pk__in=leaves):
        leaf.tokens = sum(leaf.facts.values_list("tokens", flat=True))
        leaf.save(update_fields=["tokens"])
    Entry.objects.filter(pk__in=above).prune()
    return gone | lines.difference(Fact.objects.filter(pk__in=lines).values_list("pk", flat=True))

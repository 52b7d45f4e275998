"""Remove erased and changed lines from the stored block at once, before it is rendered again."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import F

from memorybank import conf
from memorybank.core.packing.exclusion import exclude
from memorybank.models import Bank, BlockLineVersion, StoredBlock
from memorybank.models.bank import LONG_DUE


def invalidate(bank: Bank, *, chats: Collection[str] = (), facts: Collection[int] = (), now: datetime | None) -> None:
    """Make the stored block outdated: until it is rendered again, it is what remains without these chats and facts.

    Deletes the older versions. The next sweep, or an earlier refresh, renders the block again. The caller holds the
    bank's lock. ``now`` is the time of the removal in the block's history; pass None if the lines are only reworded.
    """
    newest = StoredBlock.objects.current(bank.pk)
    StoredBlock.objects.filter(bank=bank).delete()
    if newest:
        encoding = conf.current().encoding
        rest = exclude(newest.packed, bank.max_tokens, encoding=encoding, chats=chats, facts=facts)
        StoredBlock.objects.add(bank.pk, bank.version + 1, rest, newest.made_at)
        if now:
            BlockLineVersion.objects.record_lines(bank, rest, now)
    # By two: what remains has the version after the bank's, and must be outdated itself, so that it is rendered again.
    Bank.objects.filter(pk=bank.pk).update(version=F("version") + 2, consolidate_at=LONG_DUE)

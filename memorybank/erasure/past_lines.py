"""Take words out of the history of a bank's block: for good, or until the private chat that they are from is shared.

A digest's writer had read more than its lines cite. So all former lines of the digests go that a turn can be in.
"""

from collections import Counter
from collections.abc import Collection

from memorybank.models import Bank, Fact, StoredBlock
from memorybank.models.block import BlockLineVersionQuerySet
from memorybank.models.entry import EntryQuerySet


def take_out_digests(leaves: EntryQuerySet, counts: Counter[str], *, withheld_for: str = "") -> None:
    """Take out the former lines of all digests that these leaves can be in. Call it while the leaves exist.

    Leave out those of private chats: what their digests said is withheld for them already.
    """
    _take_out(leaves.digest_lines().former(), counts, withheld_for)


def rewritten_facts(bank: Bank) -> set[int]:
    """The ids of facts that the newest block tells and that were deleted since, because they were written anew."""
    if not (newest := StoredBlock.objects.current(bank.pk)):
        return set()
    lines = (*newest.packed.lines, *newest.packed.reserve)
    told = {fact for line in lines for fact in (*line.facts, *line.restates)}
    return told.difference(Fact.objects.filter(pk__in=told).values_list("pk", flat=True))


def take_out(
    bank: Bank, counts: Counter[str], *, chats: Collection[str], facts: Collection[int] = (), withheld_for: str = ""
) -> None:
    """Take out the former lines that cite one of these chats or facts. Call it when the block has lost them."""
    _take_out(bank.line_versions.former().resting_on(chats=chats, facts=facts), counts, withheld_for)


def _take_out(lines: BlockLineVersionQuerySet, counts: Counter[str], withheld_for: str) -> None:
    if withheld_for:
        lines.withhold(withheld_for)
    else:
        counts["past_lines"] += lines.delete()[0]

"""The live entries of a bank as planning sees them, and whether they leave room in the block."""

from memorybank.core import rollup_policy
from memorybank.core.rollup_policy import Node
from memorybank.models import Bank, Granularity


def live_nodes(bank: Bank) -> list[Node]:
    """The entries that no digest has absorbed."""
    rows = bank.entries.all().frontier()
    return [Node(pk, Granularity(rung), start, last, size) for pk, rung, start, last, size in rows]


def has_room(bank: Bank) -> bool:
    """Whether the block has room for sentences beside what is written."""
    return not rollup_policy.over_budget(live_nodes(bank), bank.max_tokens, rollup_policy.WRITTEN_SHARE)

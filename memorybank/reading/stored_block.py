"""Read a stored block without some of its lines, such as erased ones."""

from collections.abc import Collection

from memorybank import conf
from memorybank.core.memory_line import PackedBlock
from memorybank.core.packing.exclusion import exclude
from memorybank.models import StoredBlock


def without(
    stored: StoredBlock, budget: int, *, chats: Collection[str] = (), facts: Collection[int] = ()
) -> PackedBlock:
    """The block without the words of some chats and some facts, in at most ``budget`` tokens."""
    return exclude(stored.packed, budget, encoding=conf.current().encoding, chats=chats, facts=facts)

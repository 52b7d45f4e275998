"""Read a stored block without some of its lines, such as the asking chat's own lines or erased ones."""

from collections.abc import Collection

from memorybank import conf
from memorybank.core.memory_line import PackedBlock
from memorybank.core.packing.exclusion import exclude
from memorybank.models import StoredBlock


def without(
    stored: StoredBlock, budget: int, *, chats: Collection[str] = (), facts: Collection[int] = (), own: str = ""
) -> PackedBlock:
    """The block without the words of some chats, some facts, and the chat ``own``, in at most ``budget`` tokens."""
    return exclude(stored.packed, budget, encoding=conf.current().encoding, chats=chats, facts=facts, own=own)

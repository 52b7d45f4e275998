"""Record that a prompt was sent: count it for its day, and note which block its chat keeps while it is warm."""

from datetime import datetime

from memorybank.clock import PRESENT, at_present
from memorybank.models import Bank, Chat, PromptCount, StoredBlock
from memorybank.reading.prompting import PromptMemory


@at_present
def keep_prompt(bank: Bank, *, chat_key: str, memory: PromptMemory, now: datetime = PRESENT) -> None:
    """Record that a prompt with ``memory`` is being sent, once its chat exists. One or two writes, no read."""
    count_prompt(bank, _memory_outcome(memory), now=now)
    if memory.version and not memory.is_kept:
        block = StoredBlock.objects.filter(bank=bank, version=memory.version)
        Chat.objects.filter(bank=bank, key=chat_key).update(kept_block=block.values("pk"))


@at_present
def count_prompt(bank: Bank, memory: PromptCount.Memory, *, now: datetime = PRESENT) -> None:
    """Count a prompt by the memory it was given."""
    PromptCount.objects.note(bank.pk, memory, now)


def _memory_outcome(memory: PromptMemory) -> PromptCount.Memory:
    if memory.block.text or memory.recalled.text:
        return PromptCount.Memory.GIVEN
    return PromptCount.Memory.NOTHING if memory.is_on else PromptCount.Memory.OFF

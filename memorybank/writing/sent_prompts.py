"""Record that a prompt was sent: count it for its day, and note which block its chat keeps while it is warm."""

from datetime import datetime

from memorybank import prepared
from memorybank.clock import PRESENT, at_present
from memorybank.core.prompt_memory import PromptMemory
from memorybank.models import Bank, PromptCount

#: Raw SQL, because every message waits for it (see ``prepared``).
_KEEP_BLOCK = """
    UPDATE memorybank_chat
    SET kept_block_id = (SELECT id FROM memorybank_storedblock WHERE bank_id = %s AND version = %s)
    WHERE bank_id = %s AND key = %s
"""


@at_present
def record_sent_prompt(bank: Bank, *, chat_key: str, memory: PromptMemory, now: datetime = PRESENT) -> None:
    """Record that a prompt with ``memory`` is being sent, once its chat exists. One or two writes, no read."""
    count_prompt(bank, _memory_outcome(memory), now=now)
    if memory.version and not memory.is_kept:
        prepared.write(_KEEP_BLOCK, [bank.pk, memory.version, bank.pk, chat_key])


@at_present
def count_prompt(bank: Bank, memory: PromptCount.Memory, *, prompts: int = 1, now: datetime = PRESENT) -> None:
    """Count a prompt, or several, by the memory it was given."""
    PromptCount.objects.count_prompts(bank.pk, memory, now, prompts)


def _memory_outcome(memory: PromptMemory) -> PromptCount.Memory:
    if memory.block.text or memory.recalled.text:
        return PromptCount.Memory.GIVEN
    return PromptCount.Memory.NOTHING if memory.is_on else PromptCount.Memory.OFF

"""Store a bank's rendered block for future prompts."""

from datetime import datetime

from memorybank.models import Bank, BankDay, StoredBlock
from memorybank.reading.block_rendering import render_block


def refresh(bank_id: int, *, now: datetime) -> None:
    """Render and store the block of an enabled bank, unless the stored block is current."""
    bank = Bank.objects.filter(pk=bank_id, enabled=True).first()
    if bank is None:
        return
    if StoredBlock.objects.current_version(bank.pk) < bank.version:
        block = render_block(bank, bank.max_tokens)
        if StoredBlock.objects.store(bank, block, now):
            BankDay.objects.record_block_size(bank, block.tokens, now)

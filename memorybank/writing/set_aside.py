"""Set turns aside that their chat no longer continues from, and bring them back. Nothing is erased."""

from collections.abc import Collection

from django.db import transaction
from django.db.models import F

from memorybank.models import Bank, Chat, Entry, Output


@transaction.atomic
def set_aside(bank: Bank, outputs: Collection[int]) -> int:
    """Keep these turns out of the next summary of their chats; return how many are new to it."""
    Bank.objects.lock(bank.pk)
    turns = Output.objects.remembered().filter(chat__bank=bank, pk__in=outputs, set_aside=False)
    return turns.update(set_aside=True)


@transaction.atomic
def bring_back(bank: Bank, outputs: Collection[int]) -> int:
    """Let memory use these turns again and return how many it may; summaries that passed over them are rebuilt."""
    Bank.objects.lock(bank.pk)
    turns = Output.objects.filter(chat__bank=bank, pk__in=outputs, set_aside=True)
    for output in turns:
        chat = Chat.objects.filter(pk=output.chat_id)
        # A summary in progress has read the chat without this turn: it must not move the watermark past it.
        chat.update(lease_token="", leased_until=None)
        covering = Entry.objects.leaves().filter(chat=output.chat_id, first_output__lte=output.sequence)
        if covering.filter(last_output__gte=output.sequence).update(stale=True):
            chat.update(stale=True, indexed_through=0)
            chat.remembered().filter(bank__enabled=True).update(index_due=True, due_at=F("last_output_at"))
    return turns.update(set_aside=False)

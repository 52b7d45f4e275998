"""Querysets of turns: all turns of a bank, of a chat, or of a chat from a given turn on."""

from memorybank.models import Bank, Chat, Output
from memorybank.models.chat import OutputQuerySet


def outputs_of(bank: Bank) -> OutputQuerySet:
    """All turns of a bank, including unanswered turns and turns of private chats."""
    return Output.objects.filter(chat__bank=bank)


def turns_of(chat: Chat) -> OutputQuerySet:
    """The turns of one chat, oldest first."""
    return chat.outputs.all()


def turns_from(output: Output) -> OutputQuerySet:
    """A turn and all later turns of its chat, without turns that are not shown."""
    return Output.objects.shown().filter(chat=output.chat_id, sequence__gte=output.sequence)

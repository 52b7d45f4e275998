"""Turns as rows: of a bank, of a chat, and of a chat from one turn on."""

from memorybank.models import Bank, Chat, Output
from memorybank.models.chat import OutputQuerySet


def outputs_of(bank: Bank) -> OutputQuerySet:
    """All turns of a bank, also unanswered ones and those of private chats."""
    return Output.objects.filter(chat__bank=bank)


def turns_of(chat: Chat) -> OutputQuerySet:
    """The turns of one chat, oldest first."""
    return chat.outputs.all()


def turns_from(output: Output) -> OutputQuerySet:
    """A turn and all later ones that its chat continues from."""
    return Output.objects.shown().filter(chat=output.chat_id, sequence__gte=output.sequence)

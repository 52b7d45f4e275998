"""A chat's title: the first line of its first message, or a better one, unless somebody named the chat."""

from collections.abc import Sequence
from dataclasses import replace

from django.conf import settings

from memorybank import services
from memorybank.services import Chat, NewOutput, Output, title_of

#: A message up to this length is a title itself.
SHORT_MESSAGE_CHARACTERS = 40
TITLE_TASK = "memorybank.tasks.improve_title"


def request_better(chat: Chat, answered: Output) -> None:
    """Have a worker ask the model for a better title after the first answer, if the message is too long for a title.

    ``chat`` is the chat before the message. If the task is lost, the title stays.
    """
    message = answered.question.strip()
    is_first = chat.title in ("", title_of(message))
    if settings.CHAT_TITLES and is_first and len(message) > SHORT_MESSAGE_CHARACTERS:
        services.send_task(TITLE_TASK, answered.pk)


def titled(outputs: Sequence[NewOutput]) -> list[NewOutput]:
    """Add a title, the first line of the question, to the outputs of chats that none of the outputs names."""
    named = {new.chat_key for new in outputs if new.title}
    return [replace(new, title=_own(new)) if new.chat_key not in named else new for new in outputs]


def _own(new: NewOutput) -> str:
    return title_of(new.question) if new.status == Output.Status.OK else ""

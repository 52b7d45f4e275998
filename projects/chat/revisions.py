"""Editing a message and having it answered anew: which turns give way, whose they are, and what takes their place."""

from django.contrib.auth.models import User
from django.db.models import Count, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memorybank import llm
from memorybank.exceptions import InvalidInput
from memorybank.models import Chat, Output
from projects.models import Project

from . import generation, service
from .service import Asked


def own(chat: Chat, user: User) -> QuerySet[Output]:
    """The turns of a chat that she may change: she wrote them, quotes nobody, and has not taken them back."""
    return chat.outputs.filter(author=user.get_username(), said_by="", withheld=False)


def from_on(output: Output) -> QuerySet[Output]:
    """A turn and all that came after it: what an edited message takes the place of."""
    return Output.objects.filter(chat=output.chat_id, sequence__gte=output.sequence)


def others(outputs: QuerySet[Output], user: User) -> str:
    """Who else wrote some of these turns, and how many: "marta (2), luc.b (1)"; "" if nobody did."""
    theirs = outputs.exclude(author=user.get_username()).order_by("author")
    counts = theirs.values_list("author").annotate(turns=Count("pk"))
    return ", ".join(f"{author} ({turns})" for author, turns in counts)


def edit(project: Project, output: Output, message: str, author: str, key: str) -> Asked:
    """Record ``message`` in the place of a turn and of all after it, as :func:`answering.ask` does.

    Raises :class:`InvalidInput`, also while that turn is being answered.
    """
    _require_settled(output)
    replaces = set(from_on(output).values_list("pk", flat=True))
    return service.ask(project, output.chat, message, author, key, replaces)


def regenerate(project: Project, output: Output, author: str) -> Asked:
    """Record the message of a turn once more; the turn stays until there is an answer, which stands where it is given.

    Asked twice it is asked once. Raises :class:`InvalidInput`.
    """
    if llm.get("chat") is None:
        raise InvalidInput(_("No chat model is configured, so nobody would answer."))
    asked = output.chat.outputs.unanswered().filter(replaces=[output.pk]).first()
    if asked:
        _require_settled(asked)
        return service.ask_again(project, output.chat, asked)
    return service.ask(project, output.chat, output.question, author, replaces=[output.pk])


def _require_settled(output: Output) -> None:
    if generation.awaited([output], timezone.now()):
        raise InvalidInput(_("This message is being answered. Wait for that first."))

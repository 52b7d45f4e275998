"""Editing a message, regenerating or continuing an answer, and which version of a turn is shown."""

from collections.abc import Collection
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Count, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memorybank import llm, services
from memorybank.exceptions import InvalidInput
from memorybank.services import Chat, Output
from projects.models import Draft, Project

from . import generation, service
from .service import AnswerRequest


def own_turns(chat: Chat, user: User) -> QuerySet[Output]:
    """The turns of a chat that ``user`` may change: their own, not somebody else's words, not excluded."""
    return services.turns_of(chat).shown().filter(author=user.get_username(), said_by="", withheld=False)


def other_authors(outputs: QuerySet[Output], user: User) -> str:
    """Who else wrote some of these turns, and how many: "marta (2), luc.b (1)"; "" for nobody."""
    theirs = outputs.exclude(author=user.get_username()).order_by("author")
    counts = theirs.values_list("author").annotate(turns=Count("pk"))
    return ", ".join(f"{author} ({turns})" for author, turns in counts)


def edit(project: Project, output: Output, message: str, author: str, key: str) -> AnswerRequest:
    """Record ``message`` in place of a turn and all later ones, as :func:`service.ask` does.

    Raises :class:`InvalidInput`, also while the turn is being answered.
    """
    _require_settled(output)
    replaces = set(services.turns_from(output).values_list("pk", flat=True))
    return service.ask(project, output.chat, message, author, key, replaces)


def regenerate(project: Project, output: Output, author: str) -> AnswerRequest:
    """Record the message of a turn once more. The turn stays until there is a new answer, at the end of the chat.

    A second request while the first is unanswered asks the same message again. Raises :class:`InvalidInput`.
    """
    if llm.get("chat") is None:
        raise InvalidInput(_("No chat model is configured, so nobody would answer."))
    unanswered = services.turns_of(output.chat).unanswered().filter(replaces=[output.pk]).first()
    if unanswered:
        _require_settled(unanswered)
        return service.ask_again(project, output.chat, unanswered)
    return service.ask(project, output.chat, output.question, author, replaces=[output.pk])


def resume(project: Project, output: Output, author: str) -> AnswerRequest:
    """Have an answer continued that was stopped or broke off; :class:`InvalidInput` if nothing of it is there.

    A stopped answer counts as one, so it is continued in a new version of its turn.
    """
    _require_settled(output)
    if llm.get("chat") is None:
        raise InvalidInput(_("No chat model is configured, so nobody would answer."))
    draft = Draft.objects.filter(output=output).exclude(text="").first()
    if draft:
        return service.ask_again(project, output.chat, output, prefix=draft.text)
    if not output.answer:
        raise InvalidInput(_("There is nothing of an answer that could be continued."))
    prefix = output.answer.removesuffix(service.STOPPED_MARK)
    return service.ask(project, output.chat, output.question, author, replaces=[output.pk], prefix=prefix)


@dataclass(frozen=True, slots=True)
class Versions:
    """Which version of a turn is shown, of how many, and the ids of those beside it."""

    number: int
    of: int
    before: int | None
    after: int | None


def versions_of(chat: Chat, turns: Collection[Output]) -> dict[int, Versions]:
    """By id, for those of these turns that have several."""
    versions = {}
    for shown, ring in services.versions_of(chat, turns).items():
        at = ring.index(shown)
        before, after = ring[at - 1] if at else None, ring[at + 1] if at + 1 < len(ring) else None
        versions[shown] = Versions(at + 1, len(ring), before, after)
    return versions


def _require_settled(output: Output) -> None:
    if generation.awaited([output], timezone.now()):
        raise InvalidInput(_("This message is being answered. Wait for that first."))

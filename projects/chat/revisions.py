"""Editing a message, regenerating or continuing an answer, and which version of a turn is shown."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

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


def may_change(turn: Output, user: User) -> bool:
    """Whether ``user`` may change a turn that is shown: it is in their own words, and nobody has asked to erase it."""
    return turn.author == user.get_username() and not turn.said_by and not turn.erasure_requested


def other_authors(outputs: QuerySet[Output], user: User) -> str:
    """The other authors of these turns with their numbers of turns: "marta (2), luc.b (1)"; "" if there are none."""
    theirs = outputs.exclude(author=user.get_username()).order_by("author")
    counts = theirs.values_list("author").annotate(turns=Count("pk"))
    return ", ".join(f"{author} ({turns})" for author, turns in counts)


def edit(project: Project, output: Output, message: str, author: str, key: str) -> AnswerRequest:
    """Record ``message`` in place of a turn and all later ones, as :func:`service.ask` does.

    Raises :class:`InvalidInput` like that function, and also while the turn is being answered.
    """
    _require_answered(output)
    replaces = set(services.turns_from(output).values_list("pk", flat=True))
    return service.ask(project, output.chat, message, author, key, replaces)


def regenerate(project: Project, output: Output, author: str) -> AnswerRequest:
    """Ask the message of a turn again in a new turn at the end of the chat; its answer replaces the old turn.

    If the new turn is unanswered, a second request retries it. Raises :class:`InvalidInput` like :func:`service.ask`,
    and also without a chat model, or while the new turn is being answered.
    """
    if llm.get("chat") is None:
        raise InvalidInput(_("No chat model is configured, so there would be no answer."))
    unanswered = services.turns_of(output.chat).unanswered().filter(replaces=[output.pk]).first()
    if unanswered:
        _require_answered(unanswered)
        return service.ask_again(project, output.chat, unanswered)
    return service.ask(project, output.chat, output.question, author, replaces=[output.pk])


def resume(project: Project, output: Output, author: str) -> AnswerRequest:
    """Continue an answer that was stopped or broke off. Raises :class:`InvalidInput` if it has no text yet.

    A stopped answer counts as complete, so it is continued in a new version of its turn.
    """
    _require_answered(output)
    if llm.get("chat") is None:
        raise InvalidInput(_("No chat model is configured, so there would be no answer."))
    draft = Draft.objects.filter(output=output).exclude(text="").first()
    if draft:
        return service.ask_again(project, output.chat, output, prefix=draft.text)
    if not output.answer:
        raise InvalidInput(_("There is no partial answer to continue."))
    prefix = output.answer.removesuffix(service.STOPPED_MARK)
    return service.ask(project, output.chat, output.question, author, replaces=[output.pk], prefix=prefix)


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of a turn: the number of the one on the page, of how many, and the ids of its neighbours.

    ``used`` is the number of the version that the chat and memory use, ``looked_at`` another one if the page has it.
    ``said_at`` is when the oldest version was said, if the one on the page has another message, and ``edited_at`` when
    that was written.
    """

    number: int
    of: int
    before: int | None
    after: int | None
    used: int
    looked_at: Output | None = None
    said_at: datetime | None = None
    edited_at: datetime | None = None


def versions_of(chat: Chat, turns: Collection[Output], look: int | None = None) -> dict[int, Versions]:
    """The versions of each turn that has more than one, by the id of the turn. ``look`` is one to look at."""
    versions, rings = {}, services.versions_of(chat, turns)
    known = services.turns_of(chat).in_bulk([pk for ring in rings.values() for pk in ring]) if rings else {}
    for used, ring in rings.items():
        on_page = look if look in ring else used
        place = ring.index(on_page)
        before, after = ring[place - 1] if place else None, ring[place + 1] if place + 1 < len(ring) else None
        looked_at = known[on_page] if on_page != used else None
        first, question = known[ring[0]], known[on_page].question
        dates = {}
        if first.question not in ("", question):
            worded = [known[pk].created_at for pk in ring if known[pk].question == question]
            dates = {"said_at": first.created_at, "edited_at": min(worded)}
        versions[used] = Versions(place + 1, len(ring), before, after, ring.index(used) + 1, looked_at, **dates)
    return versions


def _require_answered(output: Output) -> None:
    if generation.awaited([output], timezone.now()):
        raise InvalidInput(_("This message is being answered. Wait for that first."))

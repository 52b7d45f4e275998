"""Turns as they stand on a chat's page, and all that is said beside them: for the page and for what changes on it."""

from typing import Any

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone

from memorybank import llm
from memorybank.exceptions import InvalidInput
from memorybank.models import Chat, Checkpoint, ErasureRequest, Output
from projects.models import Project

from . import errors, generation, service
from .prompt import Prompt


def context(user: User, project: Project, chat: Chat, turns: list[Output]) -> dict[str, Any]:
    """What the template of turns is to know of these, oldest first, as ``user`` may see them."""
    return {
        "project": project,
        "chat": chat,
        "turns": turns,
        "awaited": generation.awaited(turns, timezone.now()),
        "unsent": _unsent(project, chat, turns),
        "asked": _asked(turns),
        "checkpoints": _checkpoints(chat, turns),
        "model": llm.get("chat"),
        "sees_words": errors.may_read(user, project),
        "unavailable": errors.unavailable(),
    }


def as_html(request: HttpRequest, project: Project, chat: Chat, turns: list[Output]) -> str:
    """They alone, as the page would show them."""
    assert isinstance(request.user, User)
    return render_to_string("projects/turns.html", context(request.user, project, chat, turns), request)


def _asked(turns: list[Output]) -> set[int]:
    """Those in which she asked to have something forgotten, and which wait for the owners."""
    withheld = [turn.pk for turn in turns if turn.withheld]
    waiting = ErasureRequest.objects.filter(asked_in__in=withheld, state=ErasureRequest.State.OPEN)
    return set(waiting.values_list("asked_in", flat=True)) if withheld else set()


def _checkpoints(chat: Chat, turns: list[Output]) -> dict[int, Checkpoint]:
    """Each by the sequence of the last turn it stands for, and whether a later one has taken its place, on any page."""
    later = chat.checkpoints.filter(through__gt=OuterRef("through"))
    found = chat.checkpoints.filter(through__in=[turn.sequence for turn in turns]).annotate(is_over=Exists(later))
    return {made.through: made for made in found}


def _unsent(project: Project, chat: Chat, turns: list[Output]) -> Prompt | None:
    """Without a chat model: the exact prompt the last message would be sent with."""
    last = turns[-1] if turns else None
    if last is None or last.answer or last.status != Output.Status.OK or llm.get("chat"):
        return None
    try:
        return service.prompt_for(project, chat, last.question, before=last)
    except InvalidInput:  # it fitted once; the budget or the system prompt has grown since
        return None

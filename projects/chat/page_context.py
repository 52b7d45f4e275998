"""The chat page and the context of its templates: turns, the list of chats, errors of the model."""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from memorybank import llm, services
from memorybank.exceptions import InvalidInput
from memorybank.services import Chat, ErasureRequest, Output, PublicId
from projects.memory.usage_views import UsedLine, linked_notes
from projects.models import Conversation, Project, Role
from projects.tenancy import people, permissions
from projects.web import operator_mail
from projects.web.pagination import page_after
from projects.web.requests import MemberRequest

from . import compaction, generation, revisions, service
from .audience import AudienceForm
from .forms import MAX_MESSAGE_CHARACTERS, MessageForm
from .prompt import Prompt

TURNS_ON_A_PAGE = 50
#: Chats that are listed beside the open one; the project's page has the others.
MAX_SIDEBAR_CHATS = 40
MAX_SEARCH_CHARACTERS = 200
#: Notes that the guide shows in place of a model's answer; all of them are in the prompt below it.
MAX_GUIDE_NOTES = 5


def show_chat(
    request: MemberRequest,
    project: Project,
    chat: Chat,
    form: MessageForm,
    problem: str = "",
    status: int = 200,
    *,
    help_asked: bool = False,
) -> HttpResponse:
    """Render the chat page; ``problem`` is why the last action was refused, ``help_asked`` shows keys and commands."""
    turns, older, later = turns_before(chat, request.GET.get("before", ""))
    trial = request.GET.get("ask", "")[:MAX_MESSAGE_CHARACTERS]
    asker = people.enter_as(project, request.user)
    memory = services.prompt_memory(project.bank, chat_key=chat.key, question=trial, asker=asker)
    address = [project.tenant.slug, project.slug, chat.key]
    return render(
        request,
        "projects/chat.html",
        {
            **turns_context(request.user, project, chat, turns, look=_public_number(request.GET.get("version", ""))),
            "older": older,
            "later": later,
            "memory": memory,
            "state": live_state(project, chat, turns, timezone.now()),
            "read_address": request.build_absolute_uri(reverse("read-chat", args=address)),
            "shared_at": chat.conversation.shared_at,
            "audience": AudienceForm(project, chat, request.user.get_username()),
            "trial": trial,
            "compaction": compaction.progress(project, chat),
            "form": form,
            "most": MAX_MESSAGE_CHARACTERS,
            "problem": problem,
            "help_asked": help_asked,
            "sidebar": sidebar_context(request.user, project, request.GET.get("q", "")),
        },
        status=status,
    )


class TurnPage(NamedTuple):
    """One page of turns, oldest first, with the addresses of the page before it and of the page after it."""

    turns: list[Output]
    older: str
    later: str


def turns_before(chat: Chat, before: str) -> TurnPage:
    """The page of turns that ends before a cursor; the newest one if it is empty or invalid."""
    outputs = services.turns_of(chat).shown().select_related("answer_context", "draft")
    with suppress(ValueError):
        turns, cursor = page_after(outputs, before, TURNS_ON_A_PAGE, order="-sequence")
        later = _later_address(chat, turns[0]) if before and turns else ""
        return TurnPage(turns[::-1], f"?before={cursor}" if cursor else "", later)
    return turns_before(chat, "")


def _later_address(chat: Chat, last: Output) -> str:
    """The address of the turns after this one, relative to the chat's page; "" if there are none."""
    cursor = services.public_id(last.sequence)
    turns, more = page_after(services.turns_of(chat).shown(), cursor, TURNS_ON_A_PAGE, order="sequence")
    if not turns:
        return ""
    page = f"?before={services.public_id(turns[-1].sequence + 1)}" if more else "?"
    return f"{page}#turn-{services.public_id(turns[0].pk)}"


def turns_context(
    user: User, project: Project, chat: Chat, turns: list[Output], *, look: int | None = None
) -> dict[str, Any]:
    """Context of ``turns.html`` for these turns, oldest first, as ``user`` may see them.

    ``look`` is the id of a version to look at, in place of the one that the chat uses.
    """
    versions = revisions.versions_of(chat, turns, look)
    is_last_looked_at = bool(turns) and turns[-1].pk in versions and versions[turns[-1].pk].looked_at is not None
    unsent = None if is_last_looked_at else _unsent_prompt(project, chat, turns)  # it is of the version used
    return {
        "project": project,
        "chat": chat,
        "turns": turns,
        "changeable": {turn.pk for turn in turns if revisions.may_change(turn, user)},
        "ratings": services.ratings_by(user.get_username(), turns),
        "versions": versions,
        "awaited": generation.awaited(turns, timezone.now()),
        "unsent": unsent,
        "may_connect": bool(unsent) and permissions.may(user, project.tenant, Role.OWNER),
        "guide": _guide(project, user, unsent, turns[-1].question) if unsent else [],
        "erasure_requests": _open_erasure_requests(project, turns),
        "checkpoints": services.checkpoints_after(chat, [turn.sequence for turn in turns]),
        "model": llm.get("chat"),
        "may_read_errors": any(turn.error for turn in turns) and may_read_errors(user, project),
        "unavailable": unavailable(),
    }


def _public_number(text: str) -> int | None:
    with suppress(ValueError):
        return PublicId().to_python(text)
    return None


def turns_html(request: HttpRequest, project: Project, chat: Chat, turns: list[Output]) -> str:
    assert isinstance(request.user, User)
    return render_to_string("projects/turns.html", turns_context(request.user, project, chat, turns), request)


def sidebar_context(user: User, project: Project, query: str) -> dict[str, Any]:
    """The newest chats of ``user`` that contain all words of ``query``, or all chats if it is empty. One SQL query."""
    words = search_words(query)
    chats = list(Conversation.objects.of(user, project).saying(words)[: MAX_SIDEBAR_CHATS + 1])
    return {"conversations": chats[:MAX_SIDEBAR_CHATS], "more": len(chats) > MAX_SIDEBAR_CHATS, "search": words}


def search_words(query: str) -> str:
    return query.replace("\x00", "").strip()[:MAX_SEARCH_CHARACTERS]


# --- what changes while the page is open ------------------------------------------------------------------


def _memory_state(project: Project, chat: Chat, now: datetime) -> str:
    """Whether memory has the chat's turns, as text for the page; empty for a chat without turns."""
    if not chat.last_output_at:
        return ""
    if not project.bank.enabled:
        return _("Not remembered: memory is off")
    state = _of_turns(chat, now)
    return _("Private: %(state)s") % {"state": state} if chat.private else state


def _of_turns(chat: Chat, now: datetime) -> str:
    if chat.parked_at:
        return _("could not be remembered yet")
    if chat.pending_outputs and chat.due_at and chat.due_at > now:
        return _("will be remembered at %(time)s") % {"time": _time(chat.due_at, now)}
    if chat.pending_outputs:
        return _("being remembered") if chat.due_at else _("not remembered")
    return _("remembered") if chat.summarised_through else _("not remembered")


def _time(due: datetime, now: datetime) -> str:
    due = localtime(due)
    return date_format(due, "TIME_FORMAT" if due.date() == localtime(now).date() else "SHORT_DATETIME_FORMAT")


def newest_turns(chat: Chat) -> list[Output]:
    """The turns that the chat's page shows, as far as :func:`live_state` needs them."""
    newest = services.turns_of(chat).shown().only("sequence", "status").order_by("-sequence")[:TURNS_ON_A_PAGE]
    return list(newest)[::-1]


def live_state(project: Project, chat: Chat, turns: Sequence[Output], now: datetime) -> dict[str, Any]:
    """The memory state, the title, and ``turns``, a fingerprint of the turns that the page shows."""
    fingerprint = " ".join(f"{turn.sequence}{turn.status}" for turn in turns)
    return {
        "memory": _memory_state(project, chat, now),
        "title": chat.title,
        "turns": sha256(fingerprint.encode()).hexdigest()[:16],
    }


# --- errors of a failed model call ------------------------------------------------------------------------


def may_read_errors(user: User, project: Project) -> bool:
    """Only owners, admins and superusers: provider errors may name accounts and addresses, and they can act on them."""
    return permissions.may(user, project.tenant, Role.ADMIN)


def error_text(user: User, project: Project, error: str) -> str:
    """Provider details for admins, a generic notice for everybody else; the call ledger keeps the details."""
    return error if may_read_errors(user, project) else unavailable()


def unavailable() -> str:
    if operator_mail.has_recipients():
        return _("The model is not available. The operator has been told.")
    return _("The model is not available. If this lasts, tell the operator of this site.")


# --- beside the turns -------------------------------------------------------------------------------------


def _open_erasure_requests(project: Project, turns: list[Output]) -> set[int]:
    """The ids of turns with an erasure request by their author that the owners have not decided yet."""
    requested = [turn.pk for turn in turns if turn.erasure_requested]
    requests = services.erasure_requests_of(project.bank)
    waiting = requests.filter(asked_in__in=requested, state=ErasureRequest.State.OPEN)
    return set(waiting.values_list("asked_in", flat=True)) if requested else set()


def _unsent_prompt(project: Project, chat: Chat, turns: list[Output]) -> Prompt | None:
    """Without a chat model: the exact prompt the last message would be sent with."""
    last = turns[-1] if turns else None
    if last is None or last.answer or last.status != Output.Status.OK or llm.get("chat"):
        return None
    try:
        return service.prompt_for(project, chat, last.question, before=last)
    except InvalidInput:  # it fitted once; the budget or the system prompt has grown since
        return None


def _guide(project: Project, user: User, unsent: Prompt, message: str) -> list[UsedLine]:
    """Without a chat model: the recalled notes that share the most words with the message, best first."""
    words = _words(message)
    notes = sorted(unsent.memory.recalled.lines, key=lambda note: -len(words & _words(note.text)))
    return linked_notes(project, notes[:MAX_GUIDE_NOTES], user)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))

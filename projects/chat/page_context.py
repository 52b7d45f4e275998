"""The chat page and the context of its templates: turns, the list of chats, errors of the model."""

import re
from contextlib import suppress
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _

from memorybank import llm, services
from memorybank.exceptions import InvalidInput
from memorybank.services import Chat, ErasureRequest, Output
from projects.models import Conversation, Project, Role
from projects.tenancy import people, permissions
from projects.web.pagination import page_after
from projects.web.requests import MemberRequest
from projects.webhooks import operator

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
    request: MemberRequest, project: Project, chat: Chat, form: MessageForm, problem: str = "", status: int = 200
) -> HttpResponse:
    """The page, with why the last action on it was refused."""
    turns, older = _turns(chat, request.GET.get("before", ""))
    trial = request.GET.get("ask", "")[:MAX_MESSAGE_CHARACTERS]
    asker = people.asker(project, request.user)
    memory = services.prompt_memory(project.bank, chat_key=chat.key, question=trial, asker=asker)
    return render(
        request,
        "projects/chat.html",
        {
            **turns_context(request.user, project, chat, turns),
            "older": older,
            "memory": memory,
            "audience": AudienceForm(project, chat, request.user.get_username()),
            "trial": trial,
            "compaction": compaction.progress(project, chat),
            "form": form,
            "most": MAX_MESSAGE_CHARACTERS,
            "problem": problem,
            "sidebar": sidebar_context(request.user, project, request.GET.get("q", "")),
        },
        status=status,
    )


def _turns(chat: Chat, before: str) -> tuple[list[Output], str | None]:
    """One page of turns, oldest first, and the cursor of the page before it; a cursor that is none is ignored."""
    outputs = services.turns_of(chat).shown().select_related("answer_context", "draft")
    with suppress(ValueError):
        turns, older = page_after(outputs, before, TURNS_ON_A_PAGE, order="-sequence")
        return turns[::-1], older
    return _turns(chat, "")


def turns_context(user: User, project: Project, chat: Chat, turns: list[Output]) -> dict[str, Any]:
    """Context of ``turns.html`` for these turns, oldest first, as ``user`` may see them."""
    unsent = _unsent_prompt(project, chat, turns)
    return {
        "project": project,
        "chat": chat,
        "turns": turns,
        "versions": revisions.versions_of(chat, turns),
        "awaited": generation.awaited(turns, timezone.now()),
        "unsent": unsent,
        "guide": _guide(unsent, turns[-1].question) if unsent else [],
        "erasure_requests": _open_erasure_requests(project, turns),
        "checkpoints": services.checkpoints_after(chat, [turn.sequence for turn in turns]),
        "model": llm.get("chat"),
        "may_read_errors": may_read_errors(user, project),
        "unavailable": unavailable(),
    }


def turns_html(request: HttpRequest, project: Project, chat: Chat, turns: list[Output]) -> str:
    assert isinstance(request.user, User)
    return render_to_string("projects/turns.html", turns_context(request.user, project, chat, turns), request)


def sidebar_context(user: User, project: Project, query: str) -> dict[str, Any]:
    """The newest chats of ``user`` that contain the words of the query, all if it is empty. One query."""
    words = search_words(query)
    chats = list(Conversation.objects.of(user, project).saying(words)[: MAX_SIDEBAR_CHATS + 1])
    shown = [conversation.chat for conversation in chats[:MAX_SIDEBAR_CHATS]]
    return {"chats": shown, "more": len(chats) > MAX_SIDEBAR_CHATS, "search": words}


def search_words(query: str) -> str:
    return query.replace("\x00", "").strip()[:MAX_SEARCH_CHARACTERS]


# --- errors of a failed model call ------------------------------------------------------------------------


def may_read_errors(user: User, project: Project) -> bool:
    """Owners, admins and superusers, who can act. The provider's words may name accounts and addresses."""
    return permissions.may(user, project.tenant, Role.ADMIN)


def error_text(user: User, project: Project, error: str) -> str:
    """The provider's words for people who can act, a notice for the others. The ledger of calls keeps them."""
    return error if may_read_errors(user, project) else unavailable()


def unavailable() -> str:
    if operator.is_told():
        return _("The model is not available. The operator has been told.")
    return _("The model is not available. If this lasts, tell the operator of this site.")


# --- beside the turns -------------------------------------------------------------------------------------


def _open_erasure_requests(project: Project, turns: list[Output]) -> set[int]:
    """Turns in which their author asked to have something forgotten, and the owners have not decided."""
    withheld = [turn.pk for turn in turns if turn.withheld]
    requests = services.erasure_requests_of(project.bank)
    waiting = requests.filter(asked_in__in=withheld, state=ErasureRequest.State.OPEN)
    return set(waiting.values_list("asked_in", flat=True)) if withheld else set()


def _unsent_prompt(project: Project, chat: Chat, turns: list[Output]) -> Prompt | None:
    """Without a chat model: the exact prompt the last message would be sent with."""
    last = turns[-1] if turns else None
    if last is None or last.answer or last.status != Output.Status.OK or llm.get("chat"):
        return None
    try:
        return service.prompt_for(project, chat, last.question, before=last)
    except InvalidInput:  # it fitted once; the budget or the system prompt has grown since
        return None


def _guide(unsent: Prompt, message: str) -> list[Any]:
    """Without a chat model: the notes recalled for the message that have most of its words, best first."""
    words = _words(message)
    notes = sorted(unsent.memory.recalled.lines, key=lambda note: -len(words & _words(note.text)))
    return notes[:MAX_GUIDE_NOTES]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))

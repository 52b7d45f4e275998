"""A chat outside its own page: as a file for its owner, and as a page that members of the project may read.

Reading says nothing about memory: whom a chat is remembered for is decided by its audience alone.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from memorybank import services
from memorybank.services import Chat, Output, PublicId
from projects.models import Conversation, Project
from projects.tenancy import audit, permissions
from projects.web.requests import MemberRequest

from . import page_context
from .negotiation import chat_view


@chat_view("POST")
def share(request: MemberRequest, project: Project, chat: Chat) -> HttpResponse:
    """Let members of the project read the chat by its link, or end that unless ``share=on`` is posted."""
    on = request.POST.get("share") == "on"
    changed = Conversation.objects.filter(chat=chat, shared_at__isnull=on)
    now, actor = timezone.now(), request.user.get_username()
    if changed.update(shared_at=now if on else None):
        action = audit.TenantAction.SHARE if on else audit.TenantAction.UNSHARE
        audit.log(project.tenant, actor, action, now, project=project.slug, chat=chat.key)
    return redirect(f"{reverse('chat', args=[project.tenant.slug, project.slug, chat.key])}?shared#share")


@require_safe
@login_required
def read(request: MemberRequest, tenant: str, project: str, key: str) -> HttpResponse:
    """A shared chat for other members of the project: its turns, without answers that repeat what not all may read."""
    project_row, conversation = permissions.readable_conversation(request.user, f"{tenant}/{project}", key)
    page = page_context.turns_before(conversation.chat, request.GET.get("before", ""))
    context = {"project": project_row, "chat": conversation.chat, "conversation": conversation}
    conversation.chat.title = services.title_for_others(conversation.chat)  # not saved
    shown = page._replace(turns=[turn.for_others() for turn in page.turns if not turn.erasure_requested])
    return render(request, "projects/read_chat.html", {**context, **shown._asdict()})


@chat_view("GET", "HEAD")
def export(request: MemberRequest, project: Project, chat: Chat) -> HttpResponse:
    """The chat as Markdown, or with ``?form=json`` as JSON. Earlier versions of turns are left out, as on the page."""
    turns = services.turns_of(chat).shown().order_by("sequence").iterator(chunk_size=500)
    is_json = request.GET.get("form") == "json"
    content = _json(project, chat, turns) if is_json else "\n\n".join(_markdown(project, chat, turns)) + "\n"
    kind, ending = ("application/json", "json") if is_json else ("text/markdown; charset=utf-8", "md")
    name = f"{slugify(chat.title) or 'chat'}.{ending}"
    return HttpResponse(content, kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _json(project: Project, chat: Chat, turns: Iterator[Output]) -> str:
    helpful = defaultdict[int, dict[str, bool]](dict)
    for output, person, verdict in services.ratings_of(chat).values_list("output", "person", "helpful"):
        helpful[output][person] = verdict
    rows = [
        {
            "id": PublicId().to_url(turn.pk),
            "author": turn.said_by or turn.author,
            "created_at": turn.created_at.astimezone(UTC).isoformat(),
            "status": turn.status,
            "question": turn.question,
            "answered_by": turn.answered_by,
            "answer": turn.answer,
            "helpful": helpful[turn.pk],
        }
        for turn in turns
    ]
    whole = {"project": str(project), "title": chat.title, "private": chat.private, "turns": rows}
    return json.dumps(whole, ensure_ascii=False, indent=2)


def _markdown(project: Project, chat: Chat, turns: Iterator[Output]) -> Iterator[str]:
    yield f"# {' '.join(chat.title.split()) or _('Untitled chat')}"
    yield f"{project.name} · {_('private')}" if chat.private else project.name
    for turn in turns:
        yield f"## {turn.said_by or turn.author}, {turn.created_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        yield turn.question
        if turn.answer:
            yield f"### {turn.answered_by or _('Assistant')}"
            yield turn.answer

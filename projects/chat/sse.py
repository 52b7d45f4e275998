"""Stream answers as server-sent events while this or another process generates them, and stop them."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from memorybank import services
from memorybank.services import Chat, Output
from projects.models import Draft, Project
from projects.tenancy import permissions
from projects.web.db_connections import release_connection
from projects.web.markdown import IncrementalHTML
from projects.web.polling import changes, with_heartbeat

from . import generation, page_context

#: A comment is sent after this silence; proxies close silent connections after 30 or 60 seconds.
HEARTBEAT_SECONDS = 10.0
#: Between two reads of an answer that another process generates.
POLL_SECONDS = 0.5
#: Pause between two events: the first value, or the second times the number of running answers if that is longer.
#: It leaves time to serve pages.
PACE_SECONDS, PACE_SECONDS_PER_ANSWER = 0.15, 0.01


@require_GET
async def answer_stream(request: HttpRequest, tenant: str, project: str, key: str, turn: int) -> StreamingHttpResponse:
    """Events ``text`` (the first element on the page to replace, and the HTML for it), then one ``end`` with the turn.

    An event's id is the number of characters shown; after a reconnection ``Last-Event-ID`` skips events up to there.
    """
    await request.auser()
    project_row, output = await sync_to_async(_own_message)(request, f"{tenant}/{project}", key, turn)
    last = request.headers.get("Last-Event-ID", "")
    shown = int(last) if last.isdecimal() and len(last) < 10 else 0
    events = _events(output, shown, partial(_result, request, project_row, output.chat, turn))
    # X-Accel-Buffering: without it nginx collects the answer and sends it in one piece.
    return StreamingHttpResponse(events, content_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


@require_POST
def stop(request: HttpRequest, tenant: str, project: str, key: str, turn: int) -> HttpResponse:
    """Stop the answer to one of the user's own messages; the text so far becomes the answer."""
    _, output = _own_message(request, f"{tenant}/{project}", key, turn)
    generation.stop(output)
    return redirect(reverse("chat", args=[tenant, project, key]))


def _own_message(request: HttpRequest, path: str, key: str, turn: int) -> tuple[Project, Output]:
    project_row, conversation = permissions.conversation_for(request.user, path, key)
    output = services.turns_of(conversation.chat).filter(pk=turn).select_related("chat").first()
    if output is None:
        raise Http404
    return project_row, output


def _result(request: HttpRequest, project: Project, chat: Chat, turn: int) -> dict[str, Any]:
    """The final turn as HTML, and the chat's title; both empty if they were erased meanwhile."""
    try:
        chat = services.chats_of(project.bank).get(pk=chat.pk)
        turns = list(services.turns_of(chat).filter(pk=turn).select_related("answer_context"))
        html = page_context.turns_html(request, project, chat, turns) if turns else ""
        return {"turn": html, "title": chat.title}
    except Chat.DoesNotExist:
        return {"turn": "", "title": ""}
    finally:
        release_connection()


async def _events(output: Output, shown: int, result: Callable[[], dict[str, Any]]) -> AsyncIterator[str]:
    yield "retry: 1000\n\n"
    page, local = IncrementalHTML(), generation.of_this_process(output)
    texts = _local_texts(local) if local else changes(partial(_draft, output), seconds=POLL_SECONDS)
    async for text in with_heartbeat(texts, seconds=HEARTBEAT_SECONDS, beat=None):
        if text is None:
            yield ": still being written\n\n"
        elif len(text) > shown:
            first, html = page.update(text)
            shown = len(text)
            yield _event("text", {"from": first, "html": html}, shown)
    yield _event("end", await sync_to_async(result)())


def _event(name: str, data: dict[str, Any], number: int | None = None) -> str:
    id_line = "" if number is None else f"id: {number}\n"
    return f"event: {name}\n{id_line}data: {json.dumps(data)}\n\n"  # JSON has no line breaks outside of strings


async def _local_texts(local: generation.Generation) -> AsyncGenerator[str, None]:
    """Yield the text of an answer that this process generates, each time it has grown."""
    more, loop = asyncio.Event(), asyncio.get_running_loop()

    def listener() -> None:
        loop.call_soon_threadsafe(more.set)

    local.listen(listener)
    try:
        yield local.text
        while not local.over.is_set():
            await more.wait()
            more.clear()
            yield local.text
            if not local.over.is_set():
                await asyncio.sleep(max(PACE_SECONDS, PACE_SECONDS_PER_ANSWER * generation.running_count()))
    finally:
        local.ignore(listener)


def _draft(output: Output) -> str | None:
    """The text of an answer so far; None if it is no longer being generated."""
    try:
        if not generation.awaited(services.turns_of(output.chat).filter(pk=output.pk), timezone.now()):
            return None
        return Draft.objects.filter(output=output).values_list("text", flat=True).first() or ""
    finally:
        release_connection()

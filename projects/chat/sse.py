"""Answers as they are written, as server-sent events, whichever process writes them; and stopping them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from memorybank.models import Chat, Output
from projects.models import Draft, Project, Role
from projects.tenancy import permissions
from projects.web.db_connections import give_back

from . import generation, turn_context
from .incremental_html import Growing

#: Seconds of silence after which a comment says that the connection is there; proxies give up after 30 or 60.
HEARTBEAT = 10.0
#: Seconds between two looks at an answer that another process writes.
POLL = 0.5
#: Seconds between two events at least, and for each answer under way: many streams leave time for pages.
PACE, PACE_EACH = 0.15, 0.01


@require_GET
async def answer_stream(request: HttpRequest, tenant: str, project: str, key: str, turn: int) -> StreamingHttpResponse:
    """Events ``text`` (from which element on the page is to be replaced, by what), then one ``end`` with the turn.

    An event's id is how many characters had been written: ``Last-Event-ID`` is asked for no more of them.
    """
    await request.auser()
    found, output = await sync_to_async(_opened)(request, f"{tenant}/{project}", key, turn)
    last = request.headers.get("Last-Event-ID", "")

    def ended() -> dict[str, Any]:
        return _ended(request, found, output)

    events = _events(output, int(last) if last.isdecimal() and len(last) < 10 else 0, ended)
    # A proxy that collects an answer would send it in one piece (nginx's header).
    return StreamingHttpResponse(events, content_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


@require_POST
def stop(request: HttpRequest, tenant: str, project: str, key: str, turn: int) -> HttpResponse:
    """Stop the answer to a message of one's own; what has come is the answer."""
    _, output = _opened(request, f"{tenant}/{project}", key, turn)
    generation.stop(output)
    return redirect(reverse("chat", args=[tenant, project, key]))


def _opened(request: HttpRequest, path: str, key: str, turn: int) -> tuple[Project, Output]:
    """A turn of one of the reader's own chats."""
    found, conversation = permissions.conversation_for(request.user, path, key, Role.MEMBER)
    output = conversation.chat.outputs.filter(pk=turn).select_related("chat").first()
    if output is None:
        raise Http404
    return found, output


def _ended(request: HttpRequest, project: Project, output: Output) -> dict[str, Any]:
    """What is to stand on the page in the end; no turn if it was erased meanwhile."""
    chat = output.chat
    try:
        chat.refresh_from_db()
        turns = list(chat.outputs.filter(pk=output.pk).select_related("given_with"))
        html = turn_context.as_html(request, project, chat, turns) if turns else ""
        return {"turn": html, "title": chat.title}
    except Chat.DoesNotExist:
        return {"turn": "", "title": ""}
    finally:
        give_back()


async def _events(output: Output, sent: int, ended: Callable[[], dict[str, Any]]) -> AsyncIterator[str]:
    yield "retry: 1000\n\n"
    growing = Growing()
    async for text in _as_it_grows(output):
        if text is None:
            yield ": still being written\n\n"
        elif len(text) > sent:
            begun, html = growing.grow(text)
            sent = len(text)
            yield _event("text", {"from": begun, "html": html}, sent)
    yield _event("end", await sync_to_async(ended)())


def _event(name: str, data: dict[str, Any], number: int | None = None) -> str:
    of = "" if number is None else f"id: {number}\n"
    return f"event: {name}\n{of}data: {json.dumps(data)}\n\n"  # JSON has no line ends of its own


async def _as_it_grows(output: Output) -> AsyncIterator[str | None]:
    """The answer whenever there is more of it, None when there was nothing for a while; ends when it does."""
    under_way = generation.here(output)
    async for text in _from_here(under_way) if under_way else _from_elsewhere(output):
        yield text


async def _from_here(under_way: generation.Making) -> AsyncIterator[str | None]:
    more, loop = asyncio.Event(), asyncio.get_running_loop()

    def tell() -> None:
        loop.call_soon_threadsafe(more.set)

    under_way.listen(tell)
    try:
        yield under_way.text
        while not under_way.over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(more.wait(), HEARTBEAT)
            yield under_way.text if more.is_set() else None
            more.clear()
            if not under_way.over.is_set():
                await asyncio.sleep(max(PACE, PACE_EACH * generation.under_way()))
    finally:
        under_way.ignore(tell)


async def _from_elsewhere(output: Output) -> AsyncIterator[str | None]:
    quiet, before = 0.0, ""
    while (text := await sync_to_async(_drafted)(output)) is not None:
        quiet = quiet + POLL if text == before else 0.0
        if text != before or quiet > HEARTBEAT:
            yield text if text != before else None
            quiet = 0.0
        before = text
        await asyncio.sleep(POLL)


def _drafted(output: Output) -> str | None:
    """What there is of an answer; None if nobody writes it any more."""
    try:
        if not generation.awaited(Output.objects.filter(pk=output.pk), timezone.now()):
            return None
        return Draft.objects.filter(output=output).values_list("text", flat=True).first() or ""
    finally:
        give_back()

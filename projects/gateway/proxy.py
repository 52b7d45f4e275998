"""Passing a request to its upstream, and the answer back."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse

from . import upstream_client
from .db_threads import hop
from .exchange import Passage
from .refusals import Refusal
from .requests import MAX_BODY, Route, Taken, take

if TYPE_CHECKING:
    import httpx2


async def answered(request: HttpRequest, route: Route) -> HttpResponseBase:
    """The answer of an upstream, or ours in the protocol's shape."""
    try:
        if request.method != route.method:
            raise Refusal(405, f"Use {route.method}.")
        if len(raw := request.read(MAX_BODY + 1)) > MAX_BODY:
            raise Refusal(413, f"The body has more than {MAX_BODY // 2**20} MiB.")
        taken = await hop(take, route, request.headers, raw)
        return await _passed(request, taken)
    except Refusal as refusal:
        answer = JsonResponse(route.protocol.problem(refusal.status, str(refusal)), status=refusal.status)
        if refusal.retry_after:
            answer["Retry-After"] = str(refusal.retry_after)
        return answer


async def _passed(request: HttpRequest, taken: Taken) -> HttpResponseBase:
    import httpx2  # takes 0.4 s, which no page needs

    passage, query = Passage(taken), request.META.get("QUERY_STRING", "")
    path = f"{taken.route.path}?{query}" if query else taken.route.path
    try:
        response = await upstream_client.send(taken.target, taken.route.method, path, request.headers, taken.content)
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            return _with_headers(StreamingHttpResponse(passage.stream(response)), response, taken)
        content = await response.aread()
        await passage.whole(response.status_code, content)
    except asyncio.CancelledError:
        await passage.gone()
        raise
    except httpx2.HTTPError as error:
        late = isinstance(error, httpx2.TimeoutException)
        said = "The upstream did not answer in time." if late else "The upstream cannot be reached."
        await passage.unreachable(said)
        raise Refusal(504 if late else 502, said) from None
    return _with_headers(HttpResponse(_allowed(taken, content)), response, taken)


def _with_headers(answer: HttpResponseBase, response: httpx2.Response, taken: Taken) -> HttpResponseBase:
    """Status and headers of the upstream, and what there is to say of memory."""
    answer.status_code = response.status_code
    for name, value in upstream_client.returned(response.headers):
        answer[name] = value
    if taken.route.remembers:
        for name, value in taken.given.headers().items():
            answer[name] = value
    answer["X-Accel-Buffering"] = "no"  # whoever stands before us passes it on as it comes, too
    return answer


def _allowed(taken: Taken, content: bytes) -> bytes:
    """A list of models without those that the project may not ask."""
    if taken.route.path != "models" or not taken.target.allowed:
        return content
    listed = json.loads(content)
    listed["data"] = [each for each in listed.get("data", []) if each.get("id") in taken.target.allowed]
    return json.dumps(listed).encode()

"""The MCP endpoint: stateless POST requests, authenticated by an API key."""

from asgiref.sync import async_to_sync
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from projects.tenancy import authentication, people, permissions

#: JSON-RPC code for requests that the server refuses before parsing.
SERVER_ERROR_CODE = -32000


@csrf_exempt  # authenticated by a key, never by a cookie
@require_POST  # no stream to open (GET), no session to end (DELETE)
def mcp(request: HttpRequest) -> HttpResponse:
    """Stateless “streamable HTTP” with JSON responses: any process can answer, and proxies need not stream.

    Needs a key with the scope ``read``. Refusals are JSON-RPC errors, which clients show, with an HTTP status.
    """
    if not _is_own_origin(request):
        return _refusal("Web pages of other sites may not use this address.", 403)
    try:
        key = authentication.authenticate(
            authentication.key_header(request.headers), permissions.URL_SCOPES["mcp"]["POST"]
        )
        body = request.body
    except authentication.Refused as refused:
        return _refusal(str(refused), refused.status, **_refusal_headers(refused))
    except RequestDataTooBig:
        return _refusal("The body is too large.", 413)
    from .server import handle_post  # the SDK takes more than a second

    asker = people.enter_as_named_in(key, request.headers)
    status, headers, answer = async_to_sync(handle_post)(request.headers.items(), body, key, asker)
    return HttpResponse(answer, status=status, headers=headers)


def _is_own_origin(request: HttpRequest) -> bool:
    """Whether the request is not from a page of another site: browsers always send ``Origin``, programs do not."""
    own = f"{request.scheme}://{request.get_host()}"
    return request.headers.get("Origin", own) in (own, *settings.CSRF_TRUSTED_ORIGINS)


def _refusal_headers(refused: authentication.Refused) -> dict[str, str]:
    if isinstance(refused, authentication.RateLimited):
        return {"Retry-After": str(refused.retry_after)}
    return {"WWW-Authenticate": "Bearer"} if refused.status == 401 else {}


def _refusal(line: str, status: int, **headers: str) -> JsonResponse:
    error = {"code": SERVER_ERROR_CODE, "message": line}
    return JsonResponse({"jsonrpc": "2.0", "id": None, "error": error}, status=status, headers=headers)

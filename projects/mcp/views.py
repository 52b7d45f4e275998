"""The MCP endpoint: stateless POST requests, authenticated by an API key."""

from asgiref.sync import async_to_sync
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from projects.tenancy import api_keys, permissions

#: JSON-RPC code for requests that the server refuses before parsing.
SERVER_ERROR_CODE = -32000


@csrf_exempt  # authenticated by a key, never by a cookie
@require_POST  # no stream to open (GET), no session to end (DELETE)
def mcp(request: HttpRequest) -> HttpResponse:
    """Stateless “streamable HTTP” with JSON responses: any process can answer, and proxies need not stream.

    Needs a key with the scope ``read``. Refusals are JSON-RPC errors, which clients show, with an HTTP status.
    """
    try:
        key = api_keys.authenticated(api_keys.presented(request.headers), permissions.SCOPES["mcp"]["POST"])
        body = request.body
    except api_keys.Refused as refused:
        return _refusal(str(refused), refused.status, **_refusal_headers(refused))
    except RequestDataTooBig:
        return _refusal("The body is too large.", 413)
    from .server import handle_post  # the SDK takes more than a second

    status, headers, answer = async_to_sync(handle_post)(request.headers.items(), body, key)
    return HttpResponse(answer, status=status, headers=headers)


def _refusal_headers(refused: api_keys.Refused) -> dict[str, str]:
    if isinstance(refused, api_keys.TooMany):
        return {"Retry-After": str(refused.retry_after)}
    return {"WWW-Authenticate": "Bearer"} if refused.status == 401 else {}


def _refusal(line: str, status: int, **headers: str) -> JsonResponse:
    error = {"code": SERVER_ERROR_CODE, "message": line}
    return JsonResponse({"jsonrpc": "2.0", "id": None, "error": error}, status=status, headers=headers)

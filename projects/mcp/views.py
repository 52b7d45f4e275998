"""The address of the Model Context Protocol: one POST with a key of a project, one answer; no session, no stream."""

from asgiref.sync import async_to_sync
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from projects.tenancy import api_keys, permissions

#: JSON-RPC's for what a server refuses before it reads.
REFUSED = -32000


@csrf_exempt  # a key is no cookie: no other page can send it
@require_POST  # there is nothing to listen to (GET) and no session to end (DELETE)
def mcp(request: HttpRequest) -> HttpResponse:
    """Answer as “streamable HTTP” says, statelessly and in JSON: any process answers, and no proxy can hold it up.

    Needs a key that reads. A refusal is an error of JSON-RPC, which clients show, with HTTP's own status.
    """
    try:
        key = api_keys.authenticated(api_keys.presented(request.headers), permissions.SCOPES["mcp"]["POST"])
        body = request.body
    except api_keys.Refused as refused:
        return _refusal(str(refused), refused.status, **_told(refused))
    except RequestDataTooBig:
        return _refusal("The body is too large.", 413)
    from .server import exchange  # the SDK takes more than a second

    status, headers, answer = async_to_sync(exchange)(request.headers.items(), body, key)
    return HttpResponse(answer, status=status, headers=headers)


def _told(refused: api_keys.Refused) -> dict[str, str]:
    if isinstance(refused, api_keys.TooMany):
        return {"Retry-After": str(refused.retry_after)}
    return {"WWW-Authenticate": "Bearer"} if refused.status == 401 else {}


def _refusal(line: str, status: int, **headers: str) -> JsonResponse:
    error = {"code": REFUSED, "message": line}
    return JsonResponse({"jsonrpc": "2.0", "id": None, "error": error}, status=status, headers=headers)

"""What went wrong, as RFC 9457 has it: one document for every refusal, which names the field."""

import logging
import re
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from memorybank.exceptions import InvalidInput, NotCompacted, log_message
from projects.tenancy.api_keys import Refused

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
#: How services begin what they say of a field: its name, and where in it.
FIELD = re.compile(r"([a-z_]+)((?:\[\d+\])?(?:\.[a-z_]+|\[\d+\])*): ")
#: Services' names of what has another one here.
OURS = {"chat_key": "chat", "key": "id", "output": "output"}
#: Problems that are told of one request.
MOST = 20


class Problem(Exception):
    """A refusal with its status; ``field`` is a JSON pointer into the body, or the name of a parameter."""

    def __init__(self, status: int, detail: str, field: str = "") -> None:
        super().__init__(detail)
        self.status, self.field = status, field


def told(status: int, detail: str, errors: Iterable[dict[str, str]] = ()) -> JsonResponse:
    """The document. It repeats nothing of what was sent."""
    body: dict[str, Any] = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    body |= {"detail": detail} | ({"errors": listed} if (listed := list(errors)[:MOST]) else {})
    return JsonResponse(body, status=status, content_type=MEDIA_TYPE)


def invalid(error: InvalidInput, prefix: str = "") -> Problem:
    """What a service refused; ``prefix`` is a pointer to the object in which its fields stand."""
    found = FIELD.match(str(error))
    if found is None:
        return Problem(422, str(error), prefix)
    inner = re.sub(r"[.\[]", "/", found[2]).replace("]", "")
    return Problem(422, str(error), f"{prefix}/{OURS.get(found[1], found[1])}{inner}")


def install(api: NinjaAPI) -> None:
    """Have the API answer so, whatever is raised."""
    for kind, answer in ANSWERS.items():
        api.add_exception_handler(kind, answer)


def _problem(request: HttpRequest, error: Any) -> HttpResponse:
    where = "pointer" if error.field.startswith("/") else "parameter"
    return told(error.status, str(error), [{where: error.field, "detail": str(error)}] if error.field else [])


def _refused(request: HttpRequest, error: Any) -> HttpResponse:
    answer = told(error.status, str(error))
    if error.status == HTTPStatus.UNAUTHORIZED:
        answer.headers["WWW-Authenticate"] = "Bearer"
    if hasattr(error, "retry_after"):
        answer.headers["Retry-After"] = str(error.retry_after)
    return answer


def _malformed(request: HttpRequest, error: Any) -> HttpResponse:
    errors = [_place(each["loc"]) | {"detail": str(each["msg"])} for each in error.errors]
    first = errors[0]
    where = first.get("pointer") or first.get("parameter") or "body"
    return told(422, f"{where}: {first['detail']}", errors)


def _place(loc: tuple[Any, ...]) -> dict[str, str]:
    """Of what ninja says ("body", argument, field …) the pointer, of a parameter its name."""
    source, *path = loc
    if source == "body":
        return {"pointer": "".join(f"/{_escaped(str(part))}" for part in path[1:])}
    return {"parameter": str(path[-1])}


def _escaped(part: str) -> str:
    return part[:100].replace("~", "~0").replace("/", "~1")


def _wrapped(request: HttpRequest, error: Any) -> HttpResponse:
    """What ninja made of an exception of the parser: as that one itself."""
    cause = error.__cause__
    kinds = [kind for kind in type(cause).__mro__ if kind in ANSWERS] if cause else []
    return ANSWERS[kinds[0]](request, cause) if kinds else told(error.status_code, str(error))


def _too_big(request: HttpRequest, error: Any) -> HttpResponse:
    return told(413, f"A body has at most {settings.DATA_UPLOAD_MAX_MEMORY_SIZE:,} bytes.")


def _unexpected(request: HttpRequest, error: Any) -> HttpResponse:
    logger.error("%s", log_message(error))
    return told(500, "Something went wrong here. The log has it under the X-Request-ID of this answer.")


ANSWERS: dict[type[Exception], Callable[[HttpRequest, Any], HttpResponse]] = {
    Exception: _unexpected,
    Problem: _problem,
    Refused: _refused,
    ValidationError: _malformed,
    HttpError: _wrapped,
    RequestDataTooBig: _too_big,
    Http404: lambda request, error: told(404, "There is nothing here, or it is not this key's project's."),
    InvalidInput: lambda request, error: _problem(request, invalid(error)),
    NotCompacted: lambda request, error: told(409, str(error)),
    UnreadablePostError: lambda request, error: told(400, "The body could not be read."),
}

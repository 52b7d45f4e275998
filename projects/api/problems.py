"""Errors as RFC 9457 problem documents that name the field."""

import logging
import re
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from memorybank.exceptions import InvalidInput, NotCompacted, log_message
from memorybank.services import Fact
from projects.tenancy.authentication import Refused
from projects.web.refusal_texts import field_errors

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
#: Matches the field and its path at the start of a service's error message.
FIELD_PREFIX = re.compile(r"([a-z_]+)((?:\[\d+\])?(?:\.[a-z_]+|\[\d+\])*): ")
#: Service field names that differ in the API.
API_FIELD_NAMES = {"chat_key": "chat", "key": "id", "output": "output"}
MAX_ERRORS = 20
#: After so many seconds a program is asked to try again where the database does not answer.
RETRY_AFTER_SECONDS = 5


class Problem(Exception):
    """A refusal with its status; ``field`` is a JSON pointer into the body, or the name of a parameter."""

    def __init__(self, status: int, detail: str, field: str = "") -> None:
        super().__init__(detail)
        self.status, self.field = status, field


def problem_response(status: int, detail: str, errors: Iterable[dict[str, str]] = ()) -> JsonResponse:
    """Build a problem document with at most ``MAX_ERRORS`` errors. It must not repeat anything of the request."""
    body: dict[str, Any] = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    body |= {"detail": detail} | ({"errors": listed} if (listed := list(errors)[:MAX_ERRORS]) else {})
    return JsonResponse(body, status=status, content_type=MEDIA_TYPE)


def problem_from(error: InvalidInput, prefix: str = "") -> Problem:
    """Convert a service's error to a 422; ``prefix`` is the JSON pointer of the object that holds the field."""
    match = FIELD_PREFIX.match(str(error))
    if match is None:
        return Problem(422, str(error), prefix)
    inner = re.sub(r"[.\[]", "/", match[2]).replace("]", "")
    return Problem(422, str(error), f"{prefix}/{API_FIELD_NAMES.get(match[1], match[1])}{inner}")


def install(api: NinjaAPI) -> None:
    """Register the handlers with the API."""
    for kind, answer in ERROR_HANDLERS.items():
        api.add_exception_handler(kind, answer)


def _problem(request: HttpRequest, error: Any) -> HttpResponse:
    where = "pointer" if error.field.startswith("/") else "parameter"
    return problem_response(
        error.status, str(error), [{where: error.field, "detail": str(error)}] if error.field else []
    )


def _refused(request: HttpRequest, error: Any) -> HttpResponse:
    answer = problem_response(error.status, str(error))
    if error.status == HTTPStatus.UNAUTHORIZED:
        answer.headers["WWW-Authenticate"] = "Bearer"
    if hasattr(error, "retry_after"):
        answer.headers["Retry-After"] = str(error.retry_after)
    return answer


def _validation_failed(request: HttpRequest, error: Any) -> HttpResponse:
    """Name what is wrong by its JSON pointer or as a parameter; ninja's locations are "body", argument, field …"""
    in_body = [{**item, "loc": item["loc"][2:]} for item in error.errors if item["loc"][0] == "body"]
    pointers = {"".join(f"/{part}" for part in path): why for path, why in field_errors(in_body).items()}
    errors = [{"pointer": pointer, "detail": why} for pointer, why in pointers.items()]
    others = [item for item in error.errors if item["loc"][0] != "body"]  # whose names are known, see _admit
    errors += [{"parameter": str(item["loc"][-1]), "detail": f"{item['msg']}."} for item in others]
    first = errors[0]
    where = first.get("pointer") or first.get("parameter") or "body"
    return problem_response(422, f"{where}: {first['detail']}", errors)


def _unwrap(request: HttpRequest, error: Any) -> HttpResponse:
    """Handle the exception of :class:`JSONParser` that ninja wrapped in its own."""
    cause = error.__cause__
    kinds = [kind for kind in type(cause).__mro__ if kind in ERROR_HANDLERS] if cause else []
    return ERROR_HANDLERS[kinds[0]](request, cause) if kinds else problem_response(error.status_code, str(error))


def _body_too_large(request: HttpRequest, error: Any) -> HttpResponse:
    return problem_response(413, f"The request body exceeds {settings.DATA_UPLOAD_MAX_MEMORY_SIZE:,} bytes.")


def _unexpected(request: HttpRequest, error: Any) -> HttpResponse:
    logger.error("%s", log_message(error))
    return problem_response(500, "Internal error. The server log has details under the X-Request-ID of this response.")


def _database_is_away(request: HttpRequest, error: Any) -> HttpResponse:
    logger.error("%s", log_message(error))
    answer = problem_response(503, "The database does not answer, or is locked or full. Try again.")
    answer.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return answer


def _not_found(request: HttpRequest, error: Any) -> HttpResponse:
    return problem_response(404, "Not found, or not in this key's project.")


ERROR_HANDLERS: dict[type[Exception], Callable[[HttpRequest, Any], HttpResponse]] = {
    Exception: _unexpected,
    OperationalError: _database_is_away,
    InterfaceError: _database_is_away,
    Problem: _problem,
    Refused: _refused,
    ValidationError: _validation_failed,
    HttpError: _unwrap,
    RequestDataTooBig: _body_too_large,
    Http404: _not_found,
    Fact.DoesNotExist: _not_found,  # erased since it was looked up
    InvalidInput: lambda request, error: _problem(request, problem_from(error)),
    NotCompacted: lambda request, error: problem_response(409, str(error)),
    UnreadablePostError: lambda request, error: problem_response(400, "The body could not be read."),
}

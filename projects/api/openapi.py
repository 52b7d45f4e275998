"""The API's own description, OpenAPI 3.1: what ninja knows of it, and what is the same everywhere."""

import re
from functools import cache
from typing import Any

from django.urls import URLPattern
from ninja import NinjaAPI

from projects.tenancy import permissions

from .problems import MEDIA_TYPE

PREFIX = "/api/v1/"

ABOUT = """What programs do with a project and its memory. A key belongs to one project and opens nothing else; it is
sent as `Authorization: Bearer mb_…` or `x-api-key: mb_…`. Rows have opaque numbers. Lists come in pages: `next` of one
is `cursor` of the next. Whatever is refused is a problem document (RFC 9457) that names the field."""

PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["detail"],
                "properties": {
                    "pointer": {"type": "string", "description": "Where in the body (RFC 6901)."},
                    "parameter": {"type": "string", "description": "Or which parameter or header."},
                    "detail": {"type": "string"},
                },
            },
        },
    },
    "examples": [
        {
            "type": "about:blank",
            "title": "Unprocessable Entity",
            "status": 422,
            "detail": "/question: Field required",
            "errors": [{"pointer": "/question", "detail": "Field required"}],
        }
    ],
}
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A project's key, mb_…"},
    "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "The same."},
}
#: What any address may answer instead, and with a body also.
REFUSALS = {
    401: "No key, or none that is valid",
    403: "The key has not this scope",
    404: "Not here, or not this project's",
    409: "As things are it cannot be done",
    422: "Something that was sent is wrong",
    429: "The key has had its requests of this minute; see Retry-After",
}
OF_BODIES = {400: "The body is not JSON", 413: "The body is too big", 415: "The body is no application/json"}


@cache
def described(api: NinjaAPI) -> dict[str, Any]:
    """The document."""
    document = dict(api.get_openapi_schema(path_prefix=PREFIX))
    document["info"]["description"] = ABOUT
    document["servers"] = [{"url": "/", "description": "This site"}]
    document["security"] = [{name: []} for name in SCHEMES]
    components = document["components"]
    components["securitySchemes"] = SCHEMES
    components["schemas"]["Problem"] = PROBLEM
    names = _names(api)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            scope = permissions.SCOPES[names[path]][method.upper()]
            operation["description"] = f"{operation.get('description', '')}\n\nScope: `{scope.value}`.".strip()
            operation["operationId"] = f"{method}-{names[path].removeprefix('api-')}"
            operation["responses"] |= _refusals("requestBody" in operation)
    return document


def _names(api: NinjaAPI) -> dict[str, str]:
    """The name of each address, by its path as OpenAPI writes it: ``/api/v1/chats/{chat}``."""
    patterns = [pattern for pattern in api.urls[0] if isinstance(pattern, URLPattern)]
    return {PREFIX + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(each.pattern)): str(each.name) for each in patterns}


def _refusals(has_body: bool) -> dict[int, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    known = {**REFUSALS, **(OF_BODIES if has_body else {})}
    return {status: {"description": said, "content": content} for status, said in sorted(known.items())}

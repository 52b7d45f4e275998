"""The OpenAPI 3.1 document: ninja's schema with scopes, authentication and errors added."""

import re
from functools import cache
from typing import Any

from django.urls import URLPattern
from ninja import NinjaAPI

from projects.tenancy import permissions

from .problems import MEDIA_TYPE

API_PREFIX = "/api/v1/"

API_DESCRIPTION = """Access to a project and its memory. A key belongs to one project and gives access to nothing
else. Send it as `Authorization: Bearer mb_…` or `x-api-key: mb_…`. Rows have opaque numbers. Lists are paged: `next`
of one page is the `cursor` of the next. Errors are problem documents (RFC 9457) that name the field."""

PROBLEM_SCHEMA = {
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
                    "pointer": {"type": "string", "description": "JSON pointer into the body (RFC 6901)."},
                    "parameter": {"type": "string", "description": "Name of the parameter or header."},
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
SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A project's key, mb_…"},
    "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "The same key."},
}
#: Errors of every operation. Operations with a body also have those of ``BODY_ERROR_DESCRIPTIONS``.
ERROR_DESCRIPTIONS = {
    401: "The key is missing or invalid",
    403: "The key lacks the required scope",
    404: "Not found, or not in this project",
    409: "Conflicts with the current state",
    422: "The request is invalid",
    429: "Rate limit exceeded; see Retry-After",
}
BODY_ERROR_DESCRIPTIONS = {
    400: "The body is not valid JSON",
    413: "The body is too large",
    415: "The body is not application/json",
}


@cache
def openapi_document(api: NinjaAPI) -> dict[str, Any]:
    """Build the document."""
    document = dict(api.get_openapi_schema(path_prefix=API_PREFIX))
    document["info"]["description"] = API_DESCRIPTION
    document["servers"] = [{"url": "/", "description": "This site"}]
    document["security"] = [{name: []} for name in SECURITY_SCHEMES]
    components = document["components"]
    components["securitySchemes"] = SECURITY_SCHEMES
    components["schemas"]["Problem"] = PROBLEM_SCHEMA
    names = _names_by_path(api)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            needed = _needed(names[path], method.upper())
            operation["description"] = f"{operation.get('description', '')}\n\n{needed}".strip()
            operation["operationId"] = f"{method}-{names[path].removeprefix('api-')}"
            operation["responses"] |= _error_responses("requestBody" in operation)
            for parameter in operation.get("parameters", ()):
                parameter.pop("examples", None)  # ninja repeats the schema's list; OpenAPI wants an object here
    return document


@cache
def query_parameters(api: NinjaAPI) -> dict[tuple[str, str], frozenset[str]]:
    """The query parameters of each operation, by URL name and HTTP method."""
    names = _names_by_path(api)
    return {
        (names[path], method.upper()): frozenset(
            parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "query"
        )
        for path, methods in openapi_document(api)["paths"].items()
        for method, operation in methods.items()
    }


def _names_by_path(api: NinjaAPI) -> dict[str, str]:
    """URL names by OpenAPI path, such as ``/api/v1/chats/{chat}``."""
    patterns = [pattern for pattern in api.urls[0] if isinstance(pattern, URLPattern)]
    return {
        API_PREFIX + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(pattern.pattern)): str(pattern.name)
        for pattern in patterns
    }


def _needed(name: str, method: str) -> str:
    """The line of an operation's description that names the required scope or key."""
    if name in permissions.OPERATOR_METHODS:
        return "Needs the operator's key (`OPERATOR_API_KEY`), not one of a project."
    return f"Scope: `{permissions.URL_SCOPES[name][method].value}`."


def _error_responses(has_body: bool) -> dict[int, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    descriptions = {**ERROR_DESCRIPTIONS, **(BODY_ERROR_DESCRIPTIONS if has_body else {})}
    return {
        status: {"description": description, "content": content} for status, description in sorted(descriptions.items())
    }

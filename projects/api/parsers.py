"""Parse request bodies: JSON only, limited in size, without NaN and Infinity."""

import json
from typing import Any, NoReturn

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from ninja.parser import Parser

from projects.web.refusal_texts import not_json

from .problems import Problem


class JSONParser(Parser):
    """Parses a JSON body; raises :class:`Problem` (415, 400) or ``RequestDataTooBig``."""

    def parse_body(self, request: HttpRequest) -> Any:
        kind = (request.content_type or "").lower()
        if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
            raise Problem(415, "The body must be JSON, with “Content-Type: application/json”.")
        if len(request.body) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:  # Django checks only Content-Length
            raise RequestDataTooBig
        try:
            return json.loads(request.body, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise Problem(400, not_json(error)) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")

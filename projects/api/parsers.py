"""Bodies as they come in: JSON alone, of a size, without what is no JSON."""

import json
from typing import Any, NoReturn

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from ninja.parser import Parser

from .problems import Problem


class JSONParser(Parser):
    """Raises :class:`Problem` (415, 400) or ``RequestDataTooBig``."""

    def parse_body(self, request: HttpRequest) -> Any:
        """The value of a body."""
        kind = (request.content_type or "").lower()
        if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
            raise Problem(415, "The body must be JSON, with “Content-Type: application/json”.")
        if len(request.body) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:  # of a body without a length Django asks nothing
            raise RequestDataTooBig
        try:
            return json.loads(request.body, parse_constant=_refuse)
        except RecursionError:
            raise Problem(400, "The body is not JSON: it is nested too deep.") from None
        except UnicodeDecodeError:
            raise Problem(400, "The body is not JSON: it is not UTF-8.") from None
        except ValueError as error:  # its words are about places, not about what stands there
            raise Problem(400, f"The body is not JSON: {error}."[:200]) from None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")

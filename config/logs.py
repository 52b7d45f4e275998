"""Lines of the log, for people or as JSON: each with its request, none with words of a chat."""

import json
import logging
import re
from datetime import UTC, datetime
from traceback import format_tb
from typing import Any

from config.request_ids import current

#: What stands behind the path of a request: a question that is tried out, for one.
QUERY = re.compile(r"\?\S*")


class Discreet(logging.Formatter):
    """Of an error its type and where it happened; its own words may be what somebody said."""

    def format(self, record: logging.LogRecord) -> str:
        # Another handler may have kept its own rendering of the error there, with the error's words.
        record.exc_text, record.request_id = None, current.get() or "-"
        try:
            return super().format(record)
        finally:
            record.exc_text = None

    def formatException(self, ei: Any) -> str:  # noqa: N802  (logging's name)
        kind, _, trace = ei
        return f"{kind.__name__}\n{''.join(format_tb(trace))}".rstrip()


class JSONLines(Discreet):
    """One object a line: time, level, logger, message, and request and error where there are any."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "request": current.get() or None,
            "error": self.formatException(record.exc_info) if record.exc_info else None,
        }
        return json.dumps({name: value for name, value in said.items() if value is not None}, ensure_ascii=False)


def without_query(record: logging.LogRecord) -> bool:
    """A filter for what servers log of requests: whole addresses."""
    if isinstance(record.args, tuple):
        record.args = tuple(QUERY.sub("", arg) if isinstance(arg, str) else arg for arg in record.args)
    return True


def configuration(form: str) -> dict[str, Any]:
    """For ``LOGGING``: all lines go to standard error, in one ``form`` (line or json)."""
    line = {"()": Discreet, "format": "{asctime} {levelname} {name} [{request_id}]: {message}", "style": "{"}
    loud = {"handlers": ["console"], "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"without_query": {"()": lambda: without_query}},
        "formatters": {"line": line, "json": {"()": JSONLines}},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": form},
            "server": {"class": "logging.StreamHandler", "formatter": form, "filters": ["without_query"]},
        },
        # Django would mail its errors to nobody, and say nothing where DEBUG is off.
        "loggers": {
            "django": {**loud, "level": "INFO"},
            "django.server": {**loud, "level": "INFO", "handlers": ["server"]},
            "uvicorn": {**loud, "level": "INFO"},
            "uvicorn.access": {**loud, "level": "INFO", "handlers": ["server"]},
            **{name: {"level": "INFO"} for name in ("memorybank", "projects")},
        },
        "root": {"handlers": ["console"], "level": "WARNING"},
    }

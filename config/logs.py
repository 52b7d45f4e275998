"""Logging as text or JSON lines: with request ids, without chat contents."""

import json
import logging
import re
from datetime import UTC, datetime
from traceback import format_tb
from typing import Any

from config.middleware.request_ids import current_request_id

#: Query strings are not logged, because they may contain a question from a preview of memory.
QUERY_STRING = re.compile(r"\?\S*")


class RedactingFormatter(logging.Formatter):
    """Logs an error's type and traceback without its message, which may quote a chat."""

    def format(self, record: logging.LogRecord) -> str:
        # Another handler may have cached the formatted error in ``exc_text``, including the message.
        record.exc_text, record.request_id = None, current_request_id.get() or "-"
        try:
            return super().format(record)
        finally:
            record.exc_text = None

    def formatException(self, ei: Any) -> str:  # noqa: N802  (logging's name)
        kind, _, trace = ei
        return f"{kind.__name__}\n{''.join(format_tb(trace))}".rstrip()


class JSONFormatter(RedactingFormatter):
    """One JSON object for each line: time, level, logger, message, and request and error if there are any."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "request": current_request_id.get() or None,
            "error": self.formatException(record.exc_info) if record.exc_info else None,
        }
        return json.dumps({name: value for name, value in fields.items() if value is not None}, ensure_ascii=False)


def without_query(record: logging.LogRecord) -> bool:
    """A filter that removes query strings from the addresses that servers log."""
    if isinstance(record.args, tuple):
        record.args = tuple(QUERY_STRING.sub("", arg) if isinstance(arg, str) else arg for arg in record.args)
    return True


def configuration(form: str, *, server_level: str = "INFO") -> dict[str, Any]:
    """The ``LOGGING`` setting. All lines go to standard error, in the format ``form``: line or json."""
    line = {"()": RedactingFormatter, "format": "{asctime} {levelname} {name} [{request_id}]: {message}", "style": "{"}
    loud = {"handlers": ["console"], "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"without_query": {"()": lambda: without_query}},
        "formatters": {"line": line, "json": {"()": JSONFormatter}},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": form},
            "server": {"class": "logging.StreamHandler", "formatter": form, "filters": ["without_query"]},
        },
        # With DEBUG off, Django's default would log nothing and only e-mail errors to ADMINS, which may be empty.
        "loggers": {
            "django": {**loud, "level": "INFO"},
            "django.server": {**loud, "level": "INFO", "handlers": ["server"]},
            "uvicorn": {**loud, "level": server_level},
            "uvicorn.access": {**loud, "level": server_level, "handlers": ["server"]},
            "requests": {**loud, "level": server_level},
            **{name: {"level": "INFO"} for name in ("memorybank", "projects")},
        },
        "root": {"handlers": ["console"], "level": "WARNING"},
    }

"""OpenTelemetry spans of requests, tasks and model calls. Without a configured SDK they cost nothing.

Their attributes are ids, counts and names of models and routes. They contain no chat text and no exception messages.
"""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import context, propagate, trace
from opentelemetry.trace import Span, SpanKind, StatusCode

__all__ = ["CONTEXT_HEADERS", "SpanKind", "carry", "span"]

#: The headers in which a request or message carries its sender's trace context.
CONTEXT_HEADERS = ("traceparent", "tracestate")


@contextmanager
def span(
    name: str, kind: SpanKind = SpanKind.INTERNAL, *, carrier: MutableMapping[str, Any] | None = None, **attributes: Any
) -> Iterator[Span]:
    """A span around this ``with`` block. Its parent is the span in ``carrier``, else the current span."""
    parent = propagate.extract(carrier) if carrier else context.get_current()
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    started = trace.get_tracer("memorybank").start_as_current_span(
        name, parent, kind, named, record_exception=False, set_status_on_exception=False
    )
    with started as current:
        try:
            yield current
        except Exception as error:
            current.set_status(StatusCode.ERROR, type(error).__name__)
            raise


def carry(carrier: MutableMapping[str, Any]) -> None:
    """Add the current trace context to a message for another process."""
    propagate.inject(carrier)

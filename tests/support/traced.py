"""Run a module with OpenTelemetry's SDK, as ``opentelemetry-instrument`` does, and append its spans to a file.

Command: python -m tests.support.traced FILE MODULE ARGUMENT…
"""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor


def spans(file: Path) -> dict[str, dict[str, Any]]:
    """The spans in a file by id, as JSON; a line that is still being written is left out."""
    lines = file.read_text().split("\n")[:-1] if file.exists() else []
    exported = map(json.loads, lines)
    return {span["context"]["span_id"]: span for span in exported}


def main() -> None:
    file, module, *arguments = sys.argv[1:]
    sys.argv = [module, *arguments]
    with Path(file).open("a", buffering=1) as out:
        exporter = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=None) + "\n")
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
        runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

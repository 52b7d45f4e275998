"""JSON answers: the schema that an endpoint enforces on a small model, and the conversion to lines of memory."""

import json
from collections.abc import Sequence
from typing import Any

from memorybank.core.validation.line_parser import FACT_KINDS, INSTRUCTION_KIND

#: The one-line answer of a model that found nothing worth keeping.
NOTHING_LINE = "- nothing"


def lines_schema(labels: Sequence[str]) -> dict[str, Any]:
    """The JSON schema of an answer whose lines cite some of ``labels``, and nothing else.

    Every object is closed and requires all its properties, as OpenAI's strict mode and llama.cpp's grammars want it.
    """
    line = {
        "kind": {"type": "string", "enum": [*FACT_KINDS, INSTRUCTION_KIND]},
        "text": {"type": "string"},
        "sources": {"type": "array", "items": {"type": "string", "enum": list(dict.fromkeys(labels))}, "minItems": 1},
    }
    return _closed({"lines": {"type": "array", "items": _closed(line)}})


def rows_of_json(answer: str) -> str:
    """The answer as rows ``- KIND: text [1,3]``; unchanged if it is not JSON of :func:`lines_schema`.

    An endpoint may ignore the schema, or cut the answer off: complete lines of it are kept.
    """
    start = answer.find('{"lines"')
    decoder, rows, position = json.JSONDecoder(), [], answer.find("[", start) + 1
    if start < 0 or not position:
        return answer
    while (position := answer.find("{", position)) >= 0:
        try:
            line, position = decoder.raw_decode(answer, position)
            text = " ".join(str(line["text"]).split())
            rows.append(f"- {line['kind']}: {text} [{','.join(map(str, line['sources']))}]")
        except (ValueError, LookupError, TypeError):
            break
    return "\n".join(rows) or NOTHING_LINE


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }

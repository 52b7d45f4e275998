"""The endpoint that exports a project's memory as JSON Lines."""

import json
from collections.abc import Iterator

from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router

from memorybank import services
from projects.api.auth import asker_of, bank_of, key_of

from .chats import program_chats

router = Router(tags=["project"])

#: The JSON schema of one line.
ROW_SCHEMA = {
    "type": "object",
    "required": ["type"],
    "properties": {"type": {"type": "string", "enum": ["bank", "chat", "output", "entry", "fact"]}},
}


@router.get(
    "/export",
    response={200: None},
    url_name="api-export",
    summary="Export memory",
    openapi_extra={"responses": {200: {"content": {"application/x-ndjson": {"schema": ROW_SCHEMA}}}}},
)
def export(request: HttpRequest) -> StreamingHttpResponse:
    """JSON Lines, each with its `type`: the bank's settings, chats and outputs of programs, all entries and facts.

    The turns of members' chats are not exported. The audit log records the export.
    """
    bank = bank_of(request)
    viewer = asker_of(request).person
    rows = services.export(bank, actor=key_of(request).actor, chats=program_chats(request), viewer=viewer)
    return StreamingHttpResponse(_lines(rows), content_type="application/x-ndjson")


def _lines(rows: Iterator[dict[str, object]]) -> Iterator[bytes]:
    for row in rows:
        yield json.dumps(row, ensure_ascii=False, cls=DjangoJSONEncoder).encode() + b"\n"

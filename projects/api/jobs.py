"""Work that is asked for at once, and how far it is: looked at, or followed as server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime
from time import monotonic

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Router, Status
from pydantic import BaseModel, Field

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.models import Bank, Job

from .auth import bank_of, key_of
from .chats import program_chat
from .problems import Problem
from .schemas import NUMBER, Body, Key, NumberIn, NumberOut, address, row_number

router = Router(tags=["work"])

#: Seconds between two looks; of silence before a heartbeat; before whoever follows is asked to come again.
LOOK, HEARTBEAT, LONGEST = 0.5, 15.0, 600.0


#: An event, as tools read a schema of this kind of answer.
EVENT = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {"type": "string", "enum": ["progress", "done"]},
        "data": {"type": "string", "contentMediaType": "application/json", "description": "The job."},
    },
}


class Summarising(Body):
    """Which chat; all that wait, if none is named."""

    chat: Key | None = None


class JobOut(BaseModel):
    """Work that the workers have been asked for. `percent` never goes back."""

    id: NumberOut
    kind: str = Field(json_schema_extra={"enum": [*Job.Kind.values]})
    asked_by: str
    asked_at: datetime
    percent: int
    finished_at: datetime | None

    @classmethod
    def of(cls, row: Job) -> "JobOut":
        """From its row."""
        names = ("kind", "asked_by", "asked_at", "percent", "finished_at")
        return cls(id=NUMBER.to_url(row.pk), **{name: getattr(row, name) for name in names})


@router.post("/summarise", response={202: JobOut}, url_name="api-summarise", summary="Summarise now")
def summarise(request: HttpRequest, response: HttpResponse, body: Summarising) -> Status[JobOut]:
    """Workers begin with the next sweep, idle or not; `Location` says how far they are. 409 while memory is off."""
    bank = bank_of(request)
    chats = None if body.chat is None else [program_chat(bank, body.chat).pk]
    try:
        job = services.ask(bank, Job.Kind.SUMMARISE, chats=chats, actor=key_of(request).actor)
    except InvalidInput as error:
        raise Problem(409, str(error)) from None
    response.headers["Location"] = address("jobs", NUMBER.to_url(job.pk))
    return Status(202, JobOut.of(job))


@router.get("/jobs/{job}", response=JobOut, url_name="api-job", summary="How far the work is")
def look(request: HttpRequest, job: NumberIn) -> JobOut:
    return JobOut.of(_job(bank_of(request), row_number(job)))


@router.get(
    "/jobs/{job}/events",
    response={200: None},
    url_name="api-job-events",
    summary="Follow the work",
    openapi_extra={"responses": {200: {"content": {"text/event-stream": {"schema": EVENT}}}}},
)
def follow(request: HttpRequest, job: NumberIn) -> StreamingHttpResponse:
    """Server-sent events: `progress` with the job as JSON at each change, a comment in silence, `done` at the end."""
    bank, number = bank_of(request), row_number(job)
    _job(bank, number)
    stream = StreamingHttpResponse(events(bank, number), content_type="text/event-stream")
    stream.headers["X-Accel-Buffering"] = "no"  # a proxy that gathers them would bring them when they are over
    return stream


async def events(bank: Bank, number: int, *, look: float = LOOK, heartbeat: float = HEARTBEAT) -> AsyncIterator[str]:
    """Each change of a job, until it is over, gone, or has been followed for ``LONGEST`` seconds."""
    begun = quiet_since = monotonic()
    told = None
    while monotonic() < begun + LONGEST:
        row = await sync_to_async(_look)(bank, number)
        if row is None:
            return
        if row != told:
            yield f"event: {'done' if row.finished_at else 'progress'}\ndata: {_line(row)}\n\n"
            told, quiet_since = row, monotonic()
        if row.finished_at:
            return
        if monotonic() > quiet_since + heartbeat:
            yield ": still at it\n\n"
            quiet_since = monotonic()
        await asyncio.sleep(look)


def _look(bank: Bank, number: int) -> JobOut | None:
    row = bank.jobs.filter(pk=number).first()
    return JobOut.of(row) if row else None


def _line(row: JobOut) -> str:
    return json.dumps(row.model_dump(mode="json"))


def _job(bank: Bank, number: int) -> Job:
    row = bank.jobs.filter(pk=number).first()
    if row is None:
        raise Http404
    return row

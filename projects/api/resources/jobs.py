"""Endpoints for jobs: start one, read its progress, follow it as server-sent events."""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import datetime
from functools import partial
from time import monotonic

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Router, Status
from pydantic import BaseModel, Field

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Bank, Job
from projects.api.auth import bank_of, key_of
from projects.api.problems import Problem
from projects.api.schemas import PUBLIC_ID, Body, ChatKeyText, PublicIdIn, PublicIdOut, api_url, row_id_in_path
from projects.web.polling import changes, with_heartbeat

from .chats import program_chat

router = Router(tags=["work"])

POLL_SECONDS = 0.5
#: Seconds without an event after which a comment is sent, to keep the connection alive.
HEARTBEAT_SECONDS = 15.0
#: The stream ends after this time; the client may reconnect.
MAX_FOLLOW_SECONDS = 600.0


#: The JSON schema of one event.
EVENT_SCHEMA = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {"type": "string", "enum": ["progress", "done"]},
        "data": {"type": "string", "contentMediaType": "application/json", "description": "The job."},
    },
}


class SummariseRequest(Body):
    """The chat to summarise; without one, all chats with pending turns."""

    chat: ChatKeyText | None = None


class JobOut(BaseModel):
    """A job for the workers. `percent` never decreases."""

    id: PublicIdOut
    kind: str = Field(json_schema_extra={"enum": [*Job.Kind.values]})
    asked_by: str
    asked_at: datetime
    percent: int
    finished_at: datetime | None

    @classmethod
    def of(cls, row: Job) -> "JobOut":
        names = ("kind", "asked_by", "asked_at", "percent", "finished_at")
        return cls(id=PUBLIC_ID.to_url(row.pk), **{name: getattr(row, name) for name in names})


@router.post("/summarise", response={202: JobOut}, url_name="api-summarise", summary="Summarise now")
def summarise(request: HttpRequest, response: HttpResponse, body: SummariseRequest) -> Status[JobOut]:
    """Workers start at once, even if the chat is active. `Location` is the job's URL. 409: memory is off."""
    bank = bank_of(request)
    chats = None if body.chat is None else [program_chat(request, body.chat).pk]
    try:
        job = services.request_job(bank, Job.Kind.SUMMARISE, chats=chats, actor=key_of(request).actor)
    except InvalidInput as error:
        raise Problem(409, str(error)) from None
    response.headers["Location"] = api_url("jobs", PUBLIC_ID.to_url(job.pk))
    return Status(202, JobOut.of(job))


@router.get("/jobs/{job}", response=JobOut, url_name="api-job", summary="Get a job's progress")
def get_job(request: HttpRequest, job: PublicIdIn) -> JobOut:
    return JobOut.of(_get_job(bank_of(request), row_id_in_path(job)))


@router.get(
    "/jobs/{job}/events",
    response={200: None},
    url_name="api-job-events",
    summary="Follow a job",
    openapi_extra={"responses": {200: {"content": {"text/event-stream": {"schema": EVENT_SCHEMA}}}}},
)
def follow(request: HttpRequest, job: PublicIdIn) -> StreamingHttpResponse:
    """Server-sent events with the job as JSON: `progress` at each change, then `done`. Comments keep it alive."""
    bank, number = bank_of(request), row_id_in_path(job)
    _get_job(bank, number)
    stream = StreamingHttpResponse(events(bank, number), content_type="text/event-stream")
    stream.headers["X-Accel-Buffering"] = "no"  # a buffering proxy would deliver the events only at the end
    return stream


async def events(
    bank: Bank, number: int, *, poll: float = POLL_SECONDS, heartbeat: float = HEARTBEAT_SECONDS
) -> AsyncIterator[str]:
    """Yield an event for each change of a job, until it is finished or erased, or for ``MAX_FOLLOW_SECONDS``."""
    deadline = monotonic() + MAX_FOLLOW_SECONDS
    rows = changes(partial(_find_job_out, bank, number), seconds=poll)
    async with aclosing(with_heartbeat(rows, seconds=heartbeat, beat=None)) as stream:
        async for row in stream:
            yield _event(row) if row else ": waiting\n\n"
            if (row and row.finished_at) or monotonic() > deadline:
                return


def _find_job_out(bank: Bank, number: int) -> JobOut | None:
    row = services.jobs_of(bank).filter(pk=number).first()
    return JobOut.of(row) if row else None


def _event(row: JobOut) -> str:
    name = "done" if row.finished_at else "progress"
    return f"event: {name}\ndata: {json.dumps(row.model_dump(mode='json'))}\n\n"


def _get_job(bank: Bank, number: int) -> Job:
    row = services.jobs_of(bank).filter(pk=number).first()
    if row is None:
        raise Http404
    return row

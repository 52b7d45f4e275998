"""Outputs: recorded one by one or many at once, and read back in their order."""

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Header, Router, Status
from pydantic import AwareDatetime, BaseModel, Field

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Bank, Output

from .auth import bank_of
from .chats import program_chat
from .idempotency import HEADER, MAX_NAME, Done, once
from .problems import Problem, invalid
from .schemas import NUMBER, Body, ChatIn, Cursor, Key, Limit, NumberOut, Page, Words, chat_key, paged

router = Router(tags=["outputs"])

#: Outputs of one request.
MOST = 500
Said = Annotated[Words, Field(max_length=services.MAX_TEXT_CHARACTERS)]
Name = Annotated[Words, Field(max_length=200)]
Repeated = Annotated[
    str | None,
    Header(
        None,
        alias=HEADER,
        description=f"A name of your own for this request (1 to {MAX_NAME} characters). Sent again within a day it is "
        "answered the same and records nothing; with another body it is refused with 409.",
        examples=["3f2b8c1e"],
    ),
]


class NewOutput(Body):
    """One inference: what was asked and what was answered."""

    chat: Key
    author: Name = Field(description="Who asked, by a key of yours: memory quotes people by it.", examples=["ann"])
    question: Said = Field(examples=["Which Postgres do we take for billing?"])
    answer: Said = Field("", examples=["Decided: Postgres 16."])
    messages: list[Any] = Field([], description="What was said in between, in OpenAI's chat format: tools, images.")
    status: Output.Status = Field(
        Output.Status.OK, description="Memory takes what is ok. What is not is completed by the same id with an answer."
    )
    created_at: AwareDatetime | None = Field(None, description="When it was asked; now, if nothing is said.")
    id: Name = Field("", description="Your own id: the same one in the same chat is recorded once.", examples=["m-1"])
    title: Name = Field("", description="The chat's title, if it has none.")

    def taken(self, now: datetime) -> services.NewOutput:
        """As the service takes it."""
        return services.NewOutput(
            chat_key=self.chat,
            author=self.author,
            question=self.question,
            created_at=self.created_at or now,
            answer=self.answer,
            messages=self.messages,
            status=self.status,
            key=self.id,
            title=self.title,
        )


class NewOutputs(Body):
    """Outputs that are recorded together: all, or none if one is refused."""

    outputs: list[NewOutput] = Field(min_length=1, max_length=MOST)


class Recorded(BaseModel):
    """What became of an output."""

    id: NumberOut | None = Field(description="Its number; null if it was known before, or has been erased.")
    recorded: bool


class RecordedAll(BaseModel):
    """What became of each, in the order of the request."""

    outputs: list[Recorded]


class OutputOut(BaseModel):
    """A turn as it was recorded; one that grew too old has no words."""

    id: NumberOut
    key: str = Field(description="Your own id; empty: none was given.")
    author: str
    question: str
    answer: str
    messages: list[Any]
    status: Output.Status
    created_at: datetime

    @classmethod
    def of(cls, row: Output) -> "OutputOut":
        """From its row."""
        names = ("key", "author", "question", "answer", "messages", "status", "created_at")
        return cls(id=NUMBER.to_url(row.pk), **{name: getattr(row, name) for name in names})


@router.post("/outputs", response={201: Recorded}, url_name="api-outputs", summary="Record an output")
def record(
    request: HttpRequest, response: HttpResponse, body: NewOutput, idempotency_key: Repeated
) -> Status[Recorded]:
    """No model is asked, so an outage loses nothing; a second time the same `id` is the output that is there."""
    bank, now = bank_of(request), timezone.now()
    new = _valid(bank, [body], now, [""])[0]
    given = {name: getattr(new, name) for name in new.__slots__ if name not in ("said_by", "answered_by")}
    done = once(request, 1, lambda: [services.record(bank, now=now, **given)])
    return Status(201, _recorded(done, response)[0])


@router.post("/outputs/batch", response={201: RecordedAll}, url_name="api-batch", summary="Record many outputs")
def record_many(
    request: HttpRequest, response: HttpResponse, body: NewOutputs, idempotency_key: Repeated
) -> Status[RecordedAll]:
    """All of them or, if one is refused, none. What was known before, or was erased, is left as it is."""
    bank, now = bank_of(request), timezone.now()
    new = _valid(bank, body.outputs, now, [f"/outputs/{at}" for at in range(len(body.outputs))])
    done = once(request, len(new), lambda: services.record_many(bank, new, now=now))
    return Status(201, RecordedAll(outputs=_recorded(done, response)))


@router.get(
    "/chats/{chat}/outputs", response=Page[OutputOut], url_name="api-chat-outputs", summary="Read a chat, oldest first"
)
def read(request: HttpRequest, chat: ChatIn, cursor: Cursor, limit: Limit) -> Page[OutputOut]:
    """The turns of a chat that programs recorded. Whoever comes again with the last cursor gets what came since."""
    rows = services.turns_of(program_chat(bank_of(request), chat_key(chat)))
    found, after = paged(rows, cursor, limit, order="sequence")
    return Page(items=[OutputOut.of(row) for row in found], next=after)


def _valid(bank: Bank, many: list[NewOutput], now: datetime, places: list[str]) -> list[services.NewOutput]:
    """As the service takes them; :class:`Problem` names the place. A member's own chat on this site is hers alone."""
    keys = {each.chat for each in many}
    chats = services.chats_of(bank).filter(key__in=keys, conversation__isnull=False)
    hers = set(chats.values_list("key", flat=True))
    new = [each.taken(now) for each in many]
    for place, each in zip(places, new, strict=True):
        if each.chat_key in hers:
            raise Problem(409, "chat: it is a member's own chat on this site.", f"{place}/chat")
        try:
            each.require_valid(now)
        except InvalidInput as error:
            raise invalid(error, place) from None
    return new


def _recorded(done: Done, response: HttpResponse) -> list[Recorded]:
    if done.again:
        response.headers["Idempotent-Replayed"] = "true"
    numbers = [pk and NUMBER.to_url(pk) for pk in done.outputs]
    return [Recorded(id=number or None, recorded=number is not None) for number in numbers]

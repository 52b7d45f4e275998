"""Endpoints for outputs: record one or many, read a chat."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Header, Router, Status
from pydantic import AwareDatetime, BaseModel, Field, StrictBool

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Output
from projects.api.auth import asker_of, bank_of, key_of
from projects.api.idempotency import (
    IDEMPOTENCY_HEADER,
    MAX_IDEMPOTENCY_KEY_CHARACTERS,
    IdempotentResult,
    RecordOutputs,
    run_once,
)
from projects.api.problems import Problem, problem_from
from projects.api.schemas import (
    PUBLIC_ID,
    Author,
    Body,
    ChatIn,
    ChatKeyText,
    Cursor,
    From,
    Limit,
    Metadata,
    MetadataIn,
    OfChat,
    Page,
    PublicIdIn,
    PublicIdOut,
    StorableText,
    To,
    chat_key,
    labels,
    page_of,
    row_id_in_path,
)
from projects.tenancy import authentication, people

from .chats import program_chat, program_chats
from .receipts import ReceiptOut, erase

router = Router(tags=["outputs"])

MAX_OUTPUTS_PER_REQUEST = 500
#: Limit of the part of a question that is used to look up the memory that its author was given.
MAX_ASKED_CHARACTERS = 20_000
#: An older answer of a program that names no member is taken to be from before it used this memory.
MAX_ANSWER_AGE = timedelta(days=1)
TurnText = Annotated[StorableText, Field(max_length=services.MAX_TEXT_CHARACTERS)]
ShortText = Annotated[StorableText, Field(max_length=200)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        None,
        alias=IDEMPOTENCY_HEADER,
        description=f"A unique name for this request (1 to {MAX_IDEMPOTENCY_KEY_CHARACTERS} characters). "
        "Sent again within a day, it gets the same response and records nothing. "
        "With a different body, it is refused with 409.",
        examples=["3f2b8c1e"],
    ),
]


class NewOutput(Body):
    """One inference: a question and its answer."""

    chat: ChatKeyText
    author: ShortText = Field(description="Who asked. Memory attributes lines to this name.", examples=["ann"])
    question: TurnText = Field(examples=["Which Postgres do we take for billing?"])
    answer: TurnText = Field("", examples=["Decided: Postgres 16."])
    messages: list[Any] = Field([], description="Messages in between, in OpenAI's chat format: tools, images.")
    status: Output.Status = Field(
        Output.Status.OK,
        description="Memory uses outputs that are ok. Others are completed by an output with the same id.",
    )
    created_at: AwareDatetime | None = Field(None, description="When it was asked; default: now.")
    id: ShortText = Field("", description="Your id. The same id in the same chat is recorded once.", examples=["m-1"])
    title: ShortText = Field("", description="The chat's title, if it has none.")
    metadata: MetadataIn = Field({}, description="Labels to find it by; no model reads them. Erased with it.")
    private: StrictBool | None = Field(
        None,
        description="For a new chat: true: it is for its author only, if the key may speak for them, otherwise for "
        "nobody; false: for the whole project. Default: as the project is set.",
    )

    def to_service(self, now: datetime) -> services.NewOutput:
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
            metadata=self.metadata,
            private=self.private,
        )


class NewOutputs(Body):
    """Outputs to record together: all, or none if one is refused."""

    outputs: list[NewOutput] = Field(min_length=1, max_length=MAX_OUTPUTS_PER_REQUEST)


class Recorded(BaseModel):
    """The result for one output."""

    id: PublicIdOut | None = Field(description="Its number; null if it was already recorded, or has been erased.")
    recorded: bool


class RecordedAll(BaseModel):
    """The results, in the order of the request."""

    outputs: list[Recorded]


class OutputOut(BaseModel):
    """A recorded turn. Its text is empty once its retention period has passed."""

    id: PublicIdOut
    key: str = Field(description="Your id; empty: none.")
    author: str
    question: str
    answer: str
    messages: list[Any]
    status: Output.Status
    created_at: datetime
    chat: str
    metadata: dict[str, Any]

    @classmethod
    def of(cls, row: Output) -> "OutputOut":
        names = ("key", "author", "question", "answer", "messages", "status", "created_at", "metadata")
        row = row.for_others()
        return cls(id=PUBLIC_ID.to_url(row.pk), chat=row.chat.key, **{name: getattr(row, name) for name in names})


@router.post("/outputs", response={201: Recorded}, url_name="api-outputs", summary="Record an output")
def record(
    request: HttpRequest, response: HttpResponse, body: NewOutput, idempotency_key: IdempotencyKey
) -> Status[Recorded]:
    """Calls no model, so a provider's outage loses nothing. An `id` that exists returns the recorded output."""
    bank, now = bank_of(request), timezone.now()
    new = _validated(request, [body], now, [""])
    values = {name: getattr(new[0], name) for name in new[0].__slots__ if name not in ("said_by", "answered_by")}
    record = partial(services.record, bank, now=now, **values)
    result = run_once(request, 1, _in_own_chats(request, new, [""], lambda: [record()]))
    return Status(201, _recorded(result, response)[0])


@router.post("/outputs/batch", response={201: RecordedAll}, url_name="api-batch", summary="Record many outputs")
def record_many(
    request: HttpRequest, response: HttpResponse, body: NewOutputs, idempotency_key: IdempotencyKey
) -> Status[RecordedAll]:
    """Records all of them, or none if one is refused. Outputs already recorded or erased stay unchanged."""
    bank, now = bank_of(request), timezone.now()
    pointers = [f"/outputs/{index}" for index in range(len(body.outputs))]
    new = _validated(request, body.outputs, now, pointers)
    record = partial(services.record_many, bank, new, now=now)
    result = run_once(request, len(new), _in_own_chats(request, new, pointers, record))
    return Status(201, RecordedAll(outputs=_recorded(result, response)))


@router.get(
    "/chats/{chat}/outputs", response=Page[OutputOut], url_name="api-chat-outputs", summary="Read a chat, oldest first"
)
def chat_outputs(request: HttpRequest, chat: ChatIn, cursor: Cursor, limit: Limit) -> Page[OutputOut]:
    """The turns of a chat that programs recorded. Send the last cursor again later to get newer turns."""
    turns = services.turns_of(program_chat(request, chat_key(chat)))
    rows, after = page_of(turns.select_related("chat"), cursor, limit, order="sequence")
    return Page(items=[OutputOut.of(row) for row in rows], next=after)


@router.get("/outputs", response=Page[OutputOut], url_name="api-outputs", summary="List outputs, newest first")
def list_outputs(
    request: HttpRequest,
    cursor: Cursor,
    limit: Limit,
    since: From,
    until: To,
    author: Author,
    chat: OfChat,
    metadata: Metadata,
    status: Output.Status | None = None,
) -> Page[OutputOut]:
    """The turns of all chats that programs recorded, except other people's private chats."""
    turns = services.TurnFilter(author, chat, since, until, labels(metadata))
    rows = turns.outputs(bank_of(request)).filter(chat__in=program_chats(request)).select_related("chat")
    page, after = page_of(rows if status is None else rows.filter(status=status), cursor, limit, order="-sequence")
    return Page(items=[OutputOut.of(row) for row in page], next=after)


@router.get("/outputs/{output}", response=OutputOut, url_name="api-output", summary="Get an output")
def get_output(request: HttpRequest, output: PublicIdIn) -> OutputOut:
    return OutputOut.of(program_output(request, row_id_in_path(output)))


@router.delete(
    "/outputs/{output}",
    response=ReceiptOut,
    url_name="api-output",
    summary="Erase an output with everything derived from it",
)
def delete_output(request: HttpRequest, output: PublicIdIn) -> ReceiptOut:
    """Like `forget` with this output."""
    return erase(request, output=program_output(request, row_id_in_path(output)).pk)


def program_output(request: HttpRequest, number: int) -> Output:
    """A turn of a chat that programs recorded; 404 for members' chats on this site and others' private chats."""
    rows = services.outputs_of(bank_of(request)).filter(pk=number, chat__in=program_chats(request))
    row = rows.select_related("chat").first()
    if row is None:
        raise Http404
    return row


def _validated(
    request: HttpRequest, bodies: list[NewOutput], now: datetime, pointers: list[str]
) -> list[services.NewOutput]:
    """Validate outputs; raise :class:`Problem` with the field, also for a member's chat on this site (409)."""
    key = key_of(request)
    keys = {output.chat for output in bodies}
    chats = services.chats_of(key.project.bank).filter(key__in=keys, conversation__isnull=False)
    members_keys = set(chats.values_list("key", flat=True))
    authors = authentication.author_of(key, {output.author for output in bodies})
    new = [replace(output.to_service(now), author=authors[output.author], begun_by=key.program) for output in bodies]
    for pointer, output in zip(pointers, new, strict=True):
        if output.chat_key in members_keys:
            raise Problem(409, "chat: this key belongs to a member's chat on this site.", f"{pointer}/chat")
        try:
            output.require_valid(now)
        except InvalidInput as error:
            raise problem_from(error, pointer) from None
    return _for_people(request, new, now)


def _for_people(request: HttpRequest, new: list[services.NewOutput], now: datetime) -> list[services.NewOutput]:
    """Set the readers of each output, and what its answer quotes from the memory that its author was given.

    A program that names no member was given the memory that everybody may read. Quotes are then looked up only for
    recent outputs with an answer: older ones are an imported history.
    """
    named, key = asker_of(request), key_of(request)
    askers = {name: people.enter_as_named(key, name) for name in {output.author for output in new}}

    def for_people(output: services.NewOutput) -> services.NewOutput:
        asker = askers[output.author] if askers[output.author].person else named
        if not asker.person and (not output.answer or output.created_at < now - MAX_ANSWER_AGE):
            return output
        text = services.written_text(output.answer, output.messages)
        memory = services.prompt_memory(
            key.project.bank,
            chat_key=output.chat_key,
            question=output.question[:MAX_ASKED_CHARACTERS],
            asker=asker,
            other_text=text,
        )
        quotes = memory.quoted(text, question=output.question)
        return replace(output, readers=(asker.person,) if asker.person else (), quotes=quotes)

    return list(map(for_people, new))


def _in_own_chats(
    request: HttpRequest, new: list[services.NewOutput], pointers: list[str], record: RecordOutputs
) -> RecordOutputs:
    """Wrap ``record``: raise :class:`Problem` (409) if an output is for a private chat of other people.

    Those people would read memory that only this author was given. The check holds the bank's lock, so that of
    concurrent requests for a new chat the first one begins it.
    """
    bank = bank_of(request)

    def record_in_own() -> Sequence[Output | None]:
        with transaction.atomic():
            services.lock_bank(bank)
            _refuse_chats_of_others(request, new, pointers)
            return record()

    return record_in_own


def _refuse_chats_of_others(request: HttpRequest, new: list[services.NewOutput], pointers: list[str]) -> None:
    bank = bank_of(request)
    chats = services.chats_of(bank).filter(key__in={output.chat_key for output in new})
    readers = {chat.key: services.readers_of(chat) or set() for chat in chats}
    unreadable = chats.filter(private=True).exclude(pk__in=program_chats(request).values("pk"))
    closed = {chat.key for chat in unreadable if not readers[chat.key]}
    for pointer, output in zip(pointers, new, strict=True):
        own = readers.setdefault(output.chat_key, output.people(private=bank.new_chats_private))
        if output.chat_key in closed or (own and not output.is_for(own)):
            raise Problem(409, "chat: this key belongs to a private chat of others.", f"{pointer}/chat")


def _recorded(result: IdempotentResult, response: HttpResponse) -> list[Recorded]:
    if result.replayed:
        response.headers["Idempotent-Replayed"] = "true"
    numbers = [pk and PUBLIC_ID.to_url(pk) for pk in result.outputs]
    return [Recorded(id=number or None, recorded=number is not None) for number in numbers]

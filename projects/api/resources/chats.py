"""Endpoints for chats that programs recorded: list, rename, make private, compact."""

from datetime import datetime
from typing import Annotated, Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from ninja import Router
from pydantic import BaseModel, Field, StrictBool

from memorybank import services
from memorybank.services import Bank, Chat, Checkpoint
from projects.api.auth import bank_of, key_of
from projects.api.schemas import (
    CHAT_KEY_CONVERTER,
    NUMBER,
    Author,
    Body,
    ChatIn,
    Cursor,
    From,
    Limit,
    Metadata,
    NumberOut,
    Page,
    StorableText,
    To,
    api_url,
    chat_key,
    labels,
    page_of,
)
from projects.chat import compaction

from .receipts import ReceiptOut, erase

router = Router(tags=["chats"])


class ChatOut(BaseModel):
    """A chat and its pending outputs."""

    key: str
    url: str = Field(description="Its address in this API.")
    title: str
    private: bool
    last_output_at: datetime | None
    pending_outputs: int
    parked: bool = Field(
        description="Its content failed repeatedly. A new turn, or a person in the admin, has it retried."
    )

    @classmethod
    def of(cls, row: Chat) -> "ChatOut":
        names = ("key", "title", "private", "last_output_at", "pending_outputs")
        values: dict[str, Any] = {name: getattr(row, name) for name in names}
        return cls(url=api_url("chats", CHAT_KEY_CONVERTER.to_url(row.key)), parked=row.parked_at is not None, **values)


class ChatChange(Body):
    """Changes to a chat. Omitted fields stay unchanged."""

    title: Annotated[StorableText, Field(min_length=1, max_length=200)] | None = None
    private: StrictBool | None = Field(
        None, description="true: not summarised and not used as memory; memory made from it is erased at once."
    )


class CompactionRequest(Body):
    """Options for compacting a chat."""

    focus: Annotated[StorableText, Field(max_length=1000)] = Field("", description="What matters most.")
    harder: StrictBool = Field(False, description="Keep half as much of the newest turns.")


class CheckpointOut(BaseModel):
    """The notes that replace turns up to `through` in the chat's prompt; the turns stay stored."""

    through: NumberOut
    text: str
    tokens_before: int
    tokens_after: int
    method: str
    made_at: datetime

    @classmethod
    def of(cls, row: Checkpoint) -> "CheckpointOut":
        names = ("text", "tokens_before", "tokens_after", "method", "made_at")
        return cls(through=NUMBER.to_url(row.last_output), **{name: getattr(row, name) for name in names})


class CompactionProgress(BaseModel):
    """Progress of a compaction in progress, and the chat's newest checkpoint."""

    percent: int | None
    stage: str
    problem: str
    checkpoint: CheckpointOut | None


@router.get("/chats", response=Page[ChatOut], url_name="api-chats", summary="List chats, newest first")
def list_chats(
    request: HttpRequest,
    cursor: Cursor,
    limit: Limit,
    since: From,
    until: To,
    author: Author,
    metadata: Metadata,
    private: bool | None = None,
    parked: bool | None = None,
) -> Page[ChatOut]:
    """Chats that programs recorded, by the day of their last output, and by what one of their outputs has.

    Members' chats on this site are not listed; memory has their facts.
    """
    bank = bank_of(request)
    rows = program_chats(bank).filter(services.days_between("last_output_at", since, until, bank.tz))
    if turns := services.TurnFilter(author=author, metadata=labels(metadata)):
        rows = rows.filter(pk__in=turns.outputs(bank).order_by().values("chat"))
    rows = rows if parked is None else rows.filter(parked_at__isnull=not parked)
    chats, after = page_of(rows if private is None else rows.filter(private=private), cursor, limit)
    return Page(items=[ChatOut.of(row) for row in chats], next=after)


@router.get("/chats/{chat}", response=ChatOut, url_name="api-chat", summary="Get a chat")
def get_chat(request: HttpRequest, chat: ChatIn) -> ChatOut:
    return ChatOut.of(program_chat(bank_of(request), chat_key(chat)))


@router.patch(
    "/chats/{chat}", response=ChatOut, url_name="api-chat", summary="Rename a chat, make it private or public"
)
def update_chat(request: HttpRequest, chat: ChatIn, body: ChatChange) -> ChatOut:
    bank, actor = bank_of(request), key_of(request).actor
    chat_row = program_chat(bank, chat_key(chat))
    if body.title is not None:
        services.rename_chat(bank, chat_key=chat_row.key, title=body.title)
    if body.private is not None:
        services.set_private(bank, chat_key=chat_row.key, private=body.private, actor=actor)
    return ChatOut.of(program_chat(bank, chat_row.key))


@router.delete(
    "/chats/{chat}", response=ReceiptOut, url_name="api-chat", summary="Erase a chat with everything derived from it"
)
def delete_chat(request: HttpRequest, chat: ChatIn) -> ReceiptOut:
    """Like `forget` with this chat."""
    return erase(request, chat=program_chat(bank_of(request), chat_key(chat)).key)


@router.post(
    "/chats/{chat}/compaction", response=CheckpointOut, url_name="api-compaction", summary="Compact a chat's prompt"
)
def compact(request: HttpRequest, chat: ChatIn, body: CompactionRequest) -> CheckpointOut:
    """Waits until it is done. If it fails, 409 says why and the chat is unchanged."""
    chat_row = program_chat(bank_of(request), chat_key(chat))
    return CheckpointOut.of(compaction.compact(key_of(request).project, chat_row, body.focus, harder=body.harder))


@router.get(
    "/chats/{chat}/compaction",
    response=CompactionProgress,
    url_name="api-compaction",
    summary="Get the progress of a compaction",
)
def get_compaction(request: HttpRequest, chat: ChatIn) -> CompactionProgress:
    chat_row = program_chat(bank_of(request), chat_key(chat))
    progress = compaction.progress(key_of(request).project, chat_row)
    checkpoint = services.newest_checkpoint(chat_row)
    return CompactionProgress(**progress, checkpoint=CheckpointOut.of(checkpoint) if checkpoint else None)


def program_chat(bank: Bank, key: str) -> Chat:
    """A chat of ``bank`` that programs recorded, by its key; 404 for a member's chat on this site."""
    chat_row = program_chats(bank).filter(key=key).first()
    if chat_row is None:
        raise Http404
    return chat_row


def program_chats(bank: Bank) -> QuerySet[Chat]:
    """The chats of ``bank`` that programs recorded."""
    return services.chats_of(bank).filter(conversation=None)

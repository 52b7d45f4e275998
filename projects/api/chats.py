"""Chats that programs recorded: looked at, named, made private, shortened for their own prompts."""

from datetime import datetime
from typing import Annotated, Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from ninja import Router
from pydantic import BaseModel, Field, StrictBool

from memorybank import services
from memorybank.services import Bank, Chat, Checkpoint
from projects.chat import compaction

from .auth import bank_of, key_of
from .schemas import CHAT, NUMBER, Body, ChatIn, Cursor, Limit, NumberOut, Page, Words, address, chat_key, paged

router = Router(tags=["chats"])


class ChatOut(BaseModel):
    """A chat, and what waits in it to become memory."""

    key: str
    url: str = Field(description="Its address here.")
    title: str
    private: bool
    last_output_at: datetime | None
    pending_outputs: int
    parked: bool = Field(description="Its content kept failing; a new turn or somebody in the admin gives it a chance.")

    @classmethod
    def of(cls, row: Chat) -> "ChatOut":
        """From its row."""
        names = ("key", "title", "private", "last_output_at", "pending_outputs")
        given: dict[str, Any] = {name: getattr(row, name) for name in names}
        return cls(url=address("chats", CHAT.to_url(row.key)), parked=row.parked_at is not None, **given)


class ChatChange(Body):
    """What is left out stays as it is."""

    title: Annotated[Words, Field(min_length=1, max_length=200)] | None = None
    private: StrictBool | None = Field(
        None, description="true: neither summarised nor shown as memory, and what came of it is erased at once."
    )


class Compacting(Body):
    """How a chat is to be shortened."""

    focus: Annotated[Words, Field(max_length=1000)] = Field("", description="What matters most.")
    harder: StrictBool = Field(False, description="Keep half as much of the newest turns.")


class CheckpointOut(BaseModel):
    """What stands in the chat's prompt for its turns up to `through`; the turns stay stored."""

    through: NumberOut
    text: str
    tokens_before: int
    tokens_after: int
    method: str
    made_at: datetime

    @classmethod
    def of(cls, row: Checkpoint) -> "CheckpointOut":
        """From its row."""
        names = ("text", "tokens_before", "tokens_after", "method", "made_at")
        return cls(through=NUMBER.to_url(row.last_output), **{name: getattr(row, name) for name in names})


class HowFar(BaseModel):
    """Whether somebody shortens the chat now, how far that is, and what stands for its turns already."""

    percent: int | None
    stage: str
    problem: str
    checkpoint: CheckpointOut | None


@router.get("/chats", response=Page[ChatOut], url_name="api-chats", summary="List chats, newest first")
def listed(request: HttpRequest, cursor: Cursor, limit: Limit, private: bool | None = None) -> Page[ChatOut]:
    """Those that programs recorded. What members write on this site is theirs; memory has its facts."""
    rows = _of_programs(bank_of(request))
    found, after = paged(rows if private is None else rows.filter(private=private), cursor, limit)
    return Page(items=[ChatOut.of(row) for row in found], next=after)


@router.get("/chats/{chat}", response=ChatOut, url_name="api-chat", summary="Look at a chat")
def one(request: HttpRequest, chat: ChatIn) -> ChatOut:
    return ChatOut.of(program_chat(bank_of(request), chat_key(chat)))


@router.patch("/chats/{chat}", response=ChatOut, url_name="api-chat", summary="Name a chat, make it private or not")
def change(request: HttpRequest, chat: ChatIn, body: ChatChange) -> ChatOut:
    bank, actor = bank_of(request), key_of(request).actor
    found = program_chat(bank, chat_key(chat))
    if body.title is not None:
        services.rename_chat(bank, chat_key=found.key, title=body.title)
    if body.private is not None:
        services.set_private(bank, chat_key=found.key, private=body.private, actor=actor)
    return ChatOut.of(program_chat(bank, found.key))


@router.post(
    "/chats/{chat}/compaction", response=CheckpointOut, url_name="api-compaction", summary="Shorten a chat's own prompt"
)
def compact(request: HttpRequest, chat: ChatIn, body: Compacting) -> CheckpointOut:
    """Waits until it is done; 409 says why nothing came of it, and the chat is then as it was."""
    found = program_chat(bank_of(request), chat_key(chat))
    return CheckpointOut.of(compaction.compact(key_of(request).project, found, body.focus, harder=body.harder))


@router.get(
    "/chats/{chat}/compaction", response=HowFar, url_name="api-compaction", summary="How far shortening a chat is"
)
def how_far(request: HttpRequest, chat: ChatIn) -> HowFar:
    found = program_chat(bank_of(request), chat_key(chat))
    progress = compaction.progress(key_of(request).project, found)
    standing = services.newest_checkpoint(found)
    return HowFar(**progress, checkpoint=CheckpointOut.of(standing) if standing else None)


def program_chat(bank: Bank, key: str) -> Chat:
    """A chat of ``bank`` that programs recorded, by its key; what a member writes on this site is not there (404)."""
    found = _of_programs(bank).filter(key=key).first()
    if found is None:
        raise Http404
    return found


def _of_programs(bank: Bank) -> QuerySet[Chat]:
    return services.chats_of(bank).filter(conversation=None)

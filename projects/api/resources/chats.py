"""Endpoints for chats that programs recorded: list, rename, make private, compact."""

from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from ninja import Router
from pydantic import BaseModel, Field, StrictBool

from memorybank import services
from memorybank.services import Chat, Checkpoint
from projects.api.auth import asker_of, bank_of, key_of
from projects.api.problems import Problem
from projects.api.schemas import (
    CHAT_KEY_CONVERTER,
    PUBLIC_ID,
    Author,
    Body,
    ChatIn,
    Cursor,
    From,
    Limit,
    Metadata,
    Page,
    PublicIdOut,
    StorableText,
    To,
    api_url,
    chat_key,
    labels,
    page_of,
)
from projects.chat import compaction
from projects.models import APIKey, ConversationNode, Project, Scope
from projects.tenancy import people

from .receipts import ReceiptOut, erase

router = Router(tags=["chats"])

MemberName = Annotated[StorableText, Field(min_length=1, max_length=200)]


class ChatOut(BaseModel):
    """A chat and its pending outputs."""

    key: str
    url: str = Field(description="Its address in this API.")
    title: str
    private: bool
    readers: list[str] = Field(description="User names of the members whom a private chat is for.")
    last_output_at: datetime | None
    pending_outputs: int
    parked: bool = Field(
        description="Its content failed repeatedly. A new turn, or a person in the admin, has it retried."
    )

    @classmethod
    def of(cls, row: Chat, project: Project) -> "ChatOut":
        readers = people.names_of(project, services.readers_of(row) or ())
        names = ("key", "title", "private", "last_output_at", "pending_outputs")
        values: dict[str, Any] = {name: getattr(row, name) for name in names}
        return cls(
            url=api_url("chats", CHAT_KEY_CONVERTER.to_url(row.key)),
            parked=row.parked_at is not None,
            readers=readers,
            **values,
        )


class ChatChange(Body):
    """Changes to a chat. Omitted fields stay unchanged."""

    title: Annotated[StorableText, Field(min_length=1, max_length=200)] | None = None
    private: StrictBool | None = Field(
        None,
        description="true: what is remembered of it is for its readers only, without readers for nobody. "
        "What others may no longer read leaves every prompt at once.",
    )
    readers: list[MemberName] = Field(
        [], max_length=200, description="With `private`: members by user name; needs the scope `people`."
    )


class CompactionRequest(Body):
    """Options for compacting a chat."""

    focus: Annotated[StorableText, Field(max_length=1000)] = Field("", description="What matters most.")
    harder: StrictBool = Field(False, description="Keep half as much of the newest turns.")


class CheckpointOut(BaseModel):
    """The notes that replace turns up to `through` in the chat's prompt; the turns stay stored."""

    through: PublicIdOut
    text: str
    tokens_before: int
    tokens_after: int
    method: str
    made_at: datetime

    @classmethod
    def of(cls, row: Checkpoint) -> "CheckpointOut":
        names = ("text", "tokens_before", "tokens_after", "method", "made_at")
        return cls(through=PUBLIC_ID.to_url(row.last_output), **{name: getattr(row, name) for name in names})


class CompactionProgress(BaseModel):
    """The progress of a running compaction, and the chat's newest checkpoint."""

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
    """Chats that programs recorded. `from` and `to` apply to the last output; one output must match the other filters.

    Members' chats on this site are not listed; memory has their facts. Other people's private chats are not listed.
    """
    bank = bank_of(request)
    rows = program_chats(request).filter(services.days_between("last_output_at", since, until, bank.tz))
    if turns := services.TurnFilter(author=author, metadata=labels(metadata)):
        rows = rows.filter(pk__in=turns.outputs(bank).order_by().values("chat"))
    rows = rows if parked is None else rows.filter(parked_at__isnull=not parked)
    chats, after = page_of(rows if private is None else rows.filter(private=private), cursor, limit)
    return Page(items=[ChatOut.of(row, key_of(request).project) for row in chats], next=after)


@router.get("/chats/{chat}", response=ChatOut, url_name="api-chat", summary="Get a chat")
def get_chat(request: HttpRequest, chat: ChatIn) -> ChatOut:
    return ChatOut.of(program_chat(request, chat_key(chat)), key_of(request).project)


@router.patch(
    "/chats/{chat}", response=ChatOut, url_name="api-chat", summary="Rename a chat, make it private or public"
)
def update_chat(request: HttpRequest, chat: ChatIn, body: ChatChange) -> ChatOut:
    bank, key = bank_of(request), key_of(request)
    chat_row = program_chat(request, chat_key(chat))
    if body.private is not None:
        readers = readers_named(key, body.readers) if body.private else None
        if readers == [] and not key.opens(Scope.ADMIN) and chat_row.begun_by != key.program:
            raise Problem(
                403, "private: without readers this erases memory of a chat that another key began.", "/private"
            )
        _require_own(key.project, chat_row, readers)
        services.set_audience(bank, chat_key=chat_row.key, readers=readers, actor=key.actor)
    if body.title is not None:  # last, because the above may be refused
        services.rename_chat(bank, chat_key=chat_row.key, title=body.title)
    chat_row = services.chats_of(bank).get(pk=chat_row.pk)
    return ChatOut.of(chat_row, key.project)


@router.delete(
    "/chats/{chat}", response=ReceiptOut, url_name="api-chat", summary="Erase a chat with everything derived from it"
)
def delete_chat(request: HttpRequest, chat: ChatIn) -> ReceiptOut:
    """Like `forget` with this chat."""
    return erase(request, chat=program_chat(request, chat_key(chat)).key)


@router.post(
    "/chats/{chat}/compaction", response=CheckpointOut, url_name="api-compaction", summary="Compact a chat's prompt"
)
def compact(request: HttpRequest, chat: ChatIn, body: CompactionRequest) -> CheckpointOut:
    """Waits until it is done. If it fails, 409 says why and the chat is unchanged."""
    chat_row = program_chat(request, chat_key(chat))
    return CheckpointOut.of(compaction.compact(key_of(request).project, chat_row, body.focus, harder=body.harder))


@router.get(
    "/chats/{chat}/compaction",
    response=CompactionProgress,
    url_name="api-compaction",
    summary="Get the progress of a compaction",
)
def get_compaction(request: HttpRequest, chat: ChatIn) -> CompactionProgress:
    chat_row = program_chat(request, chat_key(chat))
    progress = compaction.progress(key_of(request).project, chat_row)
    checkpoint = services.newest_checkpoint(chat_row)
    return CompactionProgress(**progress, checkpoint=CheckpointOut.of(checkpoint) if checkpoint else None)


def readers_named(key: APIKey, names: Collection[str]) -> list[str]:
    """The person keys of the members with these user names.

    Raises :class:`Problem`: 403 for a key without the scope ``people``, 422 for a name that is no member's.
    """
    if names and not key.opens(Scope.PEOPLE):
        raise Problem(403, f"readers: the key lacks the required scope “{Scope.PEOPLE.value}”.", "/readers")
    persons = people.persons_named(key.project, names)
    if unknown := len(set(names) - persons.keys()):
        who = f"{unknown} of these are" if unknown > 1 else "one of these is"
        raise Problem(422, f"readers: {who} no member of the project.", "/readers")
    return list(persons.values())


def _require_own(project: Project, chat: Chat, readers: Collection[str] | None) -> None:
    """Raise :class:`Problem` (409) if a chat gets a single reader although others' answers may quote private memory.

    Memory of a chat with one reader includes answers that quote private memory, and these may quote that of others.
    """
    if readers is None or len(readers) != 1 or services.readers_of(chat) == set(readers):
        return
    others = services.turns_of(chat).exclude(author__in=people.names_of(project, readers))
    continued = ConversationNode.objects.filter(chat=chat).exists()  # by the gateway; it gives its author more memory
    if others.filter(quotes_private=True).exists() or (continued and others.exists()):
        raise Problem(409, "readers: another member wrote in this chat; name them, too.", "/readers")


def program_chat(request: HttpRequest, key: str) -> Chat:
    """A chat that programs recorded, by its key; 404 for members' chats on this site and others' private chats."""
    chat_row = program_chats(request).filter(key=key).first()
    if chat_row is None:
        raise Http404
    return chat_row


def program_chats(request: HttpRequest) -> QuerySet[Chat]:
    """The chats that programs recorded, without private chats that the member named in the request may not read.

    A private chat without readers is visible to the key that began it, and to keys with the scope ``admin``.
    """
    key = key_of(request)
    chats = services.chats_of(key.project.bank).filter(conversation=None)
    return chats.not_of_others(asker_of(request).person, None if key.opens(Scope.ADMIN) else key.program)

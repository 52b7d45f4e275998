"""Endpoints for memory in prompts (the block and recalled notes), and for search."""

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel, Field, StrictBool, StrictInt

from memorybank import services
from memorybank.services import Hit, MemoryLine, PromptMemory, Text
from projects.api.auth import asker_of, bank_of
from projects.api.schemas import PUBLIC_ID, REPORTED, Body, MetadataIn, PublicIdOut, StorableText

router = Router(tags=["memory"])

AskingChat = Annotated[
    StorableText, Field(max_length=200, description="The asking chat, whose own lines are left out.")
]
Question = Annotated[
    StorableText, Field(min_length=1, max_length=20_000, examples=["Which Postgres does billing run on?"])
]


class HitKind(StrEnum):
    """The kinds of hits: a turn, or a kind of fact."""

    OUTPUT = "output"
    FACT = "fact"
    DECISION = "decision"
    PLAN = "plan"
    PREFERENCE = "preference"
    QUESTION = "question"


class LineOut(BaseModel):
    """A line of memory in a prompt, with its sources."""

    text: str
    speaker: str
    reported: bool = Field(description=REPORTED)
    granularity: str
    period: str
    pinned: bool
    tokens: int
    why: str = Field(description="Why a note was recalled.")
    citations: list[PublicIdOut] = Field(description="Outputs.")
    facts: list[PublicIdOut]

    @classmethod
    def of(cls, line: MemoryLine) -> "LineOut":
        names = ("text", "speaker", "granularity", "period", "pinned", "tokens")
        return cls(
            reported=line.is_report,
            why=str(line.why),  # evaluates the lazy text
            citations=[PUBLIC_ID.to_url(pk) for pk in line.citations],
            facts=[PUBLIC_ID.to_url(pk) for pk in line.facts],
            **{name: getattr(line, name) for name in names},
        )


class TextOut(BaseModel):
    """The exact text for a prompt, with its token count. Empty if there is none."""

    text: str
    tokens: int
    lines: list[LineOut]

    @classmethod
    def of(cls, shown: Text) -> "TextOut":
        return cls(text=shown.text, tokens=shown.tokens, lines=[LineOut.of(line) for line in shown.lines])


class BlockOut(BaseModel):
    """The block for a system prompt, the same for every question and asker, and the lines for the asker only."""

    block: TextOut
    personal: TextOut = Field(
        description="For the member in `X-Memory-User` only, if the key has the scope `people`; otherwise empty."
    )
    version: int = Field(description="Increases with every change of memory; 0: there is no block.")
    made_at: datetime | None
    is_current: bool = Field(description="false: memory has changed since; the next sweep updates the block.")


class MemoryOut(BlockOut):
    """The block for the system prompt, and the notes for the newest message only."""

    recalled: TextOut


class MemoryRequest(Body):
    """A chat's newest message."""

    question: Question
    chat: AskingChat = ""
    keep: StrictBool = Field(
        False,
        description="true: this becomes a prompt. While people write in the chat, it gets the same block again, for "
        "the provider's cache.",
    )


class RecallFilter(Body):
    """Keeps hits that are, or cite, turns with this author, chat, days and metadata. Empty fields match all."""

    author: Annotated[StorableText, Field(max_length=200)] = ""
    chat: Annotated[StorableText, Field(max_length=200, description="The key of a chat.")] = ""
    since: date | None = Field(
        None, alias="from", description="The first day, from its start in the project's time zone."
    )
    until: date | None = Field(None, alias="to", description="The last day, until its end.")
    metadata: MetadataIn = {}
    kinds: list[HitKind] = Field([], max_length=len(HitKind), description="Kinds of hits; empty: all.")


class RecallRequest(Body):
    """A question in any wording; dates in it are taken into account."""

    question: Question
    chat: AskingChat = ""
    top: StrictInt = Field(10, ge=1, le=200)
    threshold: float = Field(0, ge=0, le=1_000, description="The least score of a hit.")
    filter: RecallFilter | None = Field(None, description="Which turns count.")


class HitOut(BaseModel):
    """A turn or a fact that answers a question."""

    kind: Literal["fact", "output"]
    id: PublicIdOut
    chat: str
    text: str = Field(description="Of a turn, with its speakers and the quotes of reports.")
    speaker: str = Field(description="Who said the fact; empty: it is a turn.")
    reported: bool = Field(description=REPORTED)
    score: float
    created_at: datetime
    citations: list[PublicIdOut]

    @classmethod
    def of(cls, hit: Hit) -> "HitOut":
        return cls(
            kind=hit.kind,
            id=PUBLIC_ID.to_url(hit.pk),
            chat=hit.chat,
            text=hit.text,
            speaker=hit.speaker,
            reported=hit.is_report,
            score=hit.score,
            created_at=hit.created_at,
            citations=[PUBLIC_ID.to_url(pk) for pk in hit.citations],
        )


class Hits(BaseModel):
    """Hits, best first."""

    hits: list[HitOut]


@router.get("/block", response=BlockOut, url_name="api-block", summary="The block, as a chat gets it")
def block(
    request: HttpRequest,
    chat: Annotated[
        StorableText, Query("", max_length=200, description="The asking chat, whose own lines are left out.")
    ],
) -> BlockOut:
    """Takes two indexed reads, whatever the size of the bank."""
    return BlockOut(**_block(services.prompt_memory(bank_of(request), chat_key=chat, asker=asker_of(request))))


@router.post("/memory", response=MemoryOut, url_name="api-memory", summary="Block and notes for a chat's next message")
def memory(request: HttpRequest, body: MemoryRequest) -> MemoryOut:
    """Exactly the memory that a chat on this site would get. POST, because URLs are logged and bodies are not."""
    bank = bank_of(request)
    asker = asker_of(request)
    prompt_memory = services.prompt_memory(bank, chat_key=body.chat, question=body.question, asker=asker)
    if body.keep:
        services.record_sent_prompt(bank, chat_key=body.chat, memory=prompt_memory)
    return MemoryOut(**_block(prompt_memory), recalled=TextOut.of(prompt_memory.recalled))


@router.post("/recall", response=Hits, url_name="api-recall", summary="Turns and facts that answer a question")
def recall(request: HttpRequest, body: RecallRequest) -> Hits:
    """Search results for people and programs; use `memory` for the notes of a prompt."""
    wanted = body.filter or RecallFilter.model_validate({})
    hits = services.recall(
        bank_of(request),
        body.question,
        top=body.top,
        exclude_chat=body.chat,
        within=services.TurnFilter(wanted.author, wanted.chat, wanted.since, wanted.until, wanted.metadata),
        kinds=[kind.value for kind in wanted.kinds],
        threshold=body.threshold,
        viewer=asker_of(request).person,
    )
    return Hits(hits=[HitOut.of(hit) for hit in hits])


def _block(memory: PromptMemory) -> dict[str, Any]:
    return {
        "block": TextOut.of(memory.block),
        "personal": TextOut.of(memory.personal),
        "version": memory.version,
        "made_at": memory.made_at,
        "is_current": memory.is_current,
    }

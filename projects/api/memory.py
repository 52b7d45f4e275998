"""What a chat's next message is given: the block, and the notes recalled for a question. And ranked hits."""

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel, Field, StrictBool, StrictInt

from memorybank import services
from memorybank.services import Hit, MemoryLine, PromptMemory, Text

from .auth import bank_of
from .schemas import NUMBER, Body, NumberOut, Words

router = Router(tags=["memory"])

Asking = Annotated[Words, Field(max_length=200, description="The chat that asks: it is not told its own lines.")]
Question = Annotated[Words, Field(min_length=1, max_length=20_000, examples=["Which Postgres does billing run on?"])]


class Line(BaseModel):
    """A line of a text for a prompt, with what it rests on."""

    text: str
    speaker: str
    granularity: str
    period: str
    pinned: bool
    tokens: int
    why: str = Field(description="Why a note was recalled, in words.")
    citations: list[NumberOut] = Field(description="Outputs.")
    facts: list[NumberOut]

    @classmethod
    def of(cls, line: MemoryLine) -> "Line":
        """As it is shown."""
        names = ("text", "speaker", "granularity", "period", "pinned", "tokens", "why")
        return cls(
            citations=[NUMBER.to_url(pk) for pk in line.citations],
            facts=[NUMBER.to_url(pk) for pk in line.facts],
            **{name: getattr(line, name) for name in names},
        )


class TextOut(BaseModel):
    """Exactly what stands in a prompt, counted by the real tokenizer; empty: nothing does."""

    text: str
    tokens: int
    lines: list[Line]

    @classmethod
    def of(cls, shown: Text) -> "TextOut":
        """As a prompt gets it."""
        return cls(text=shown.text, tokens=shown.tokens, lines=[Line.of(line) for line in shown.lines])


class BlockOut(BaseModel):
    """What stands in a system prompt, whatever is asked."""

    block: TextOut
    version: int = Field(description="Grows with every change of memory; 0: there is no block.")
    made_at: datetime | None
    is_current: bool = Field(description="false: memory has changed since, and the next sweep makes the block anew.")


class MemoryOut(BlockOut):
    """The block for the system prompt, and the notes that stand beside the newest message and nowhere else."""

    recalled: TextOut


class Asked(Body):
    """A chat's newest message."""

    question: Question
    chat: Asking = ""
    keep: StrictBool = Field(
        False,
        description="A prompt is made of it: while people write in the chat it is given the same block again, for the "
        "provider's cache.",
    )


class Searched(Body):
    """A question in any words; dates in it are taken into account."""

    question: Question
    chat: Asking = ""
    top: StrictInt = Field(10, ge=1, le=200)


class HitOut(BaseModel):
    """A turn or a fact that answers a question."""

    kind: Literal["fact", "output"]
    id: NumberOut
    chat: str
    text: str
    score: float
    created_at: datetime
    citations: list[NumberOut]

    @classmethod
    def of(cls, hit: Hit) -> "HitOut":
        """As it was found."""
        return cls(
            kind=hit.kind,
            id=NUMBER.to_url(hit.pk),
            chat=hit.chat,
            text=hit.text,
            score=hit.score,
            created_at=hit.created_at,
            citations=[NUMBER.to_url(pk) for pk in hit.citations],
        )


class Hits(BaseModel):
    """The best first."""

    hits: list[HitOut]


@router.get("/block", response=BlockOut, url_name="api-block", summary="The block, as a chat gets it")
def block(
    request: HttpRequest,
    chat: Annotated[Words, Query("", max_length=200, description="The chat that asks: without its own lines.")],
) -> BlockOut:
    """Two indexed reads, whatever the bank holds."""
    return BlockOut(**_block(services.prompt_memory(bank_of(request), chat_key=chat)))


@router.post("/memory", response=MemoryOut, url_name="api-memory", summary="Block and notes for a chat's next message")
def memory(request: HttpRequest, body: Asked) -> MemoryOut:
    """Exactly what a chat on this site would be given. By POST, because addresses are logged and questions are not."""
    bank = bank_of(request)
    told = services.prompt_memory(bank, chat_key=body.chat, question=body.question)
    if body.keep:
        services.keep_prompt(bank, chat_key=body.chat, memory=told)
    return MemoryOut(**_block(told), recalled=TextOut.of(told.recalled))


@router.post("/recall", response=Hits, url_name="api-recall", summary="Turns and facts that answer a question")
def recall(request: HttpRequest, body: Searched) -> Hits:
    """For people and programs to look through; a prompt is given notes by `memory`."""
    found = services.recall(bank_of(request), body.question, top=body.top, exclude_chat=body.chat)
    return Hits(hits=[HitOut.of(hit) for hit in found])


def _block(told: PromptMemory) -> dict[str, Any]:
    return {
        "block": TextOut.of(told.block),
        "version": told.version,
        "made_at": told.made_at,
        "is_current": told.is_current,
    }

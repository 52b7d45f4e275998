"""What programs are offered over the Model Context Protocol: three tools, each for the project of the key alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import uuid4

from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Hit, Job, PublicId, prompt_text
from projects.models import APIKey, Scope

MOST_HITS = 50
#: Characters of one question, and of one thing to remember.
MAX_QUESTION, MAX_TEXT = 2_000, 8_000
TITLE = "Remembered by a program"
OFF = prompt_text("mcp.off")

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _described(name: str) -> ConfigDict:
    """What a schema says of the object to a model; without it that would be the docstring."""
    return ConfigDict(json_schema_extra={"description": prompt_text(f"mcp.{name}")})


class Arguments(BaseModel):
    """The base of what tools take."""

    model_config = ConfigDict(extra="forbid", **_described("no_arguments"))


class Question(Arguments):
    """What ``recall`` takes."""

    model_config = _described("question")

    question: Annotated[Text, Field(max_length=MAX_QUESTION, description=prompt_text("mcp.question_words"))]
    top: Annotated[int, Field(ge=1, le=MOST_HITS, description=prompt_text("mcp.question_top"))] = 10


class Remembered(Arguments):
    """What ``remember`` takes."""

    model_config = _described("remembered")

    text: Annotated[Text, Field(max_length=MAX_TEXT, description=prompt_text("mcp.remembered_text"))]


class Found(BaseModel):
    """One hit: a turn, or a line of memory."""

    model_config = _described("found")

    kind: Literal["fact", "output"]
    text: str
    said_at: datetime
    chat: str
    turns: list[str]


class Recalled(BaseModel):
    """What ``recall`` gives."""

    model_config = _described("recalled")

    hits: list[Found]
    note: str = ""

    def __str__(self) -> str:
        told = (f"- {hit.said_at:%d %b %Y}: {hit.text}\n  ({_source(hit)})" for hit in self.hits)
        return "\n".join([prompt_text("mcp.hits"), *told]) if self.hits else self.note


class Memory(BaseModel):
    """What ``project_memory`` gives."""

    model_config = _described("memory")

    memory: str
    tokens: int
    version: int
    note: str = ""

    def __str__(self) -> str:
        return self.memory or self.note


class Noted(BaseModel):
    """What ``remember`` gives."""

    model_config = _described("noted")

    chat: str
    turn: str
    note: str

    def __str__(self) -> str:
        return self.note


def recall(key: APIKey, asked: Question) -> Recalled:
    """What the memory of the project knows of a question, with the turns that each hit rests on."""
    bank = key.project.bank
    hits = services.recall(bank, asked.question, top=asked.top)
    note = "" if hits else prompt_text("mcp.no_hits") if bank.enabled else OFF
    return Recalled(hits=list(map(_found, hits)), note=note)


def project_memory(key: APIKey, _: Arguments) -> Memory:
    """The block of the project."""
    memory = services.prompt_memory(key.project.bank)
    note = prompt_text("mcp.nothing") if key.project.bank.enabled else OFF
    told = memory.block
    return Memory(memory=told.text, tokens=told.tokens, version=memory.version, note="" if told.text else note)


def remember(key: APIKey, told: Remembered) -> Noted:
    """Record a turn of the key's and have the workers summarise it at once.

    A turn and not a line: what a program was talked into saying is masked, proved and held back like all that is
    said, and only a person writes lines past that. Raises :class:`InvalidInput`, also if memory is off.
    """
    bank, now = key.project.bank, timezone.now()
    if not bank.enabled:
        raise InvalidInput(prompt_text("mcp.off_remember"))
    output = services.record(bank, chat_key=uuid4().hex, author=key.actor, question=told.text, title=TITLE, now=now)
    services.request_job(bank, Job.Kind.SUMMARISE, chats=[output.chat_id], actor=key.actor, now=now)
    return Noted(chat=output.chat.key, turn=PublicId().to_url(output.pk), note=prompt_text("mcp.recorded"))


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its name, the scope it needs, what it takes, does and gives. ``reads`` if it changes nothing."""

    name: str
    scope: Scope
    takes: type[Arguments]
    gives: type[BaseModel]
    does: Callable[[APIKey, Any], BaseModel]
    reads: bool = True


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("recall", Scope.READ, Question, Recalled, recall),
        Tool("project_memory", Scope.READ, Arguments, Memory, project_memory),
        Tool("remember", Scope.WRITE, Remembered, Noted, remember, reads=False),
    )
}


def _found(hit: Hit) -> Found:
    turns = [PublicId().to_url(pk) for pk in hit.citations]
    return Found(kind=hit.kind, text=hit.text, said_at=hit.created_at, chat=hit.chat, turns=turns)


def _source(hit: Found) -> str:
    return f"chat {hit.chat}, turn{'s' if len(hit.turns) > 1 else ''} {', '.join(hit.turns)}"

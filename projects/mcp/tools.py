"""The three MCP tools. Each accesses only the project of the API key."""

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
from memorybank.services import ANYBODY, Asker, Hit, Job, PublicId, prompt_text
from projects.models import APIKey, Scope
from projects.web.refusal_texts import StrictFields

MAX_TOOL_HITS = 50
MAX_QUESTION_CHARACTERS, MAX_REMEMBERED_CHARACTERS = 2_000, 8_000
CHAT_TITLE = "Remembered by a program"
MEMORY_OFF_TEXT = prompt_text("mcp.off")

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _described(name: str) -> ConfigDict:
    """A sentence as the schema's description for the model, in place of the docstring."""
    return ConfigDict(json_schema_extra={"description": prompt_text(name)})


class Arguments(StrictFields):
    """Base class of tool arguments."""

    model_config = _described("mcp.no_arguments")


class Question(Arguments):
    """Arguments of ``recall``."""

    model_config = _described("mcp.question")

    question: Annotated[Text, Field(max_length=MAX_QUESTION_CHARACTERS, description=prompt_text("mcp.question_words"))]
    top: Annotated[int, Field(ge=1, le=MAX_TOOL_HITS, description=prompt_text("mcp.question_top"))] = 10


class Remembered(Arguments):
    """Arguments of ``remember``."""

    model_config = _described("mcp.remembered")

    text: Annotated[Text, Field(max_length=MAX_REMEMBERED_CHARACTERS, description=prompt_text("mcp.remembered_text"))]
    private: Annotated[bool, Field(description=prompt_text("mcp.remembered_private"))] = False


class Found(BaseModel):
    """One hit: a turn or a fact."""

    model_config = _described("mcp.found")

    kind: Literal["fact", "output"]
    text: str
    speaker: str
    reported: bool
    said_at: datetime
    chat: str
    turns: list[str]

    def __str__(self) -> str:
        return services.as_shown(self.speaker, self.text, is_report=self.reported)

    def source(self) -> str:
        return f"chat {self.chat}, turn{'s' if len(self.turns) > 1 else ''} {', '.join(self.turns)}"


class Recalled(BaseModel):
    """Result of ``recall``."""

    model_config = _described("memory.recalled")

    hits: list[Found]
    note: str = ""

    def __str__(self) -> str:
        lines = (f"- {hit.said_at:%d %b %Y}: {hit}\n  ({hit.source()})" for hit in self.hits)
        return "\n".join([prompt_text("mcp.hits"), *lines]) if self.hits else self.note


class MemoryResult(BaseModel):
    """Result of ``project_memory``."""

    model_config = _described("mcp.memory")

    memory: str
    tokens: int
    version: int
    note: str = ""

    def __str__(self) -> str:
        return self.memory or self.note


class Noted(BaseModel):
    """Result of ``remember``."""

    model_config = _described("mcp.noted")

    chat: str
    turn: str
    note: str

    def __str__(self) -> str:
        return self.note


@dataclass(frozen=True, slots=True)
class Caller:
    """The API key of a call, and the member on whose behalf it asks."""

    key: APIKey
    asker: Asker = ANYBODY


def recall(caller: Caller, arguments: Question) -> Recalled:
    """Search the project's memory; each hit has the turns that it cites."""
    bank = caller.key.project.bank
    hits = services.recall(bank, arguments.question, top=arguments.top, viewer=caller.asker.person)
    note = "" if hits else prompt_text("mcp.no_hits") if bank.enabled else MEMORY_OFF_TEXT
    return Recalled(hits=list(map(_hit, hits)), note=note)


def project_memory(caller: Caller, _: Arguments) -> MemoryResult:
    """The project's block, followed by the lines for the named member only."""
    bank = caller.key.project.bank
    memory = services.prompt_memory(bank, asker=caller.asker)
    note = prompt_text("mcp.nothing") if bank.enabled else MEMORY_OFF_TEXT
    tokens, text = services.count_tokens(memory.system), memory.system
    return MemoryResult(memory=text, tokens=tokens, version=memory.version, note="" if text else note)


def remember(caller: Caller, arguments: Remembered) -> Noted:
    """Record a turn in the key's name and request its summary, for everybody or for the named member only.

    It records a turn and not a line of memory, because text that a program was tricked into writing is then masked,
    validated and quarantined like any other. Raises :class:`InvalidInput`, also if memory is off, or if ``private`` is
    set and no member is named.
    """
    key, now = caller.key, timezone.now()
    bank, asker = key.project.bank, caller.asker
    if not bank.enabled:
        raise InvalidInput(prompt_text("mcp.off_remember"))
    if arguments.private and not asker.person:
        raise InvalidInput(prompt_text("mcp.nobody"))
    # A program must not publish memory that it was given for one person.
    text = services.written_text(arguments.text)
    given = services.prompt_memory(bank, question=arguments.text, asker=asker, other_text=text)
    quotes = given.quoted(text, question="")
    output = services.record(
        bank,
        chat_key=uuid4().hex,
        author=key.actor,
        question=arguments.text,
        title=CHAT_TITLE,
        private=arguments.private or bool(quotes.words) or None,
        readers=[asker.person] if asker.person else [],
        begun_by=key.program,
        quotes=services.Quotes(chats=quotes.chats),
        now=now,
    )
    services.request_job(bank, Job.Kind.SUMMARISE, chats=[output.chat_id], actor=key.actor, now=now)
    return Noted(chat=output.chat.key, turn=PublicId().to_url(output.pk), note=prompt_text("mcp.recorded"))


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its name, required scope, argument and result types, and function."""

    name: str
    scope: Scope
    arguments: type[Arguments]
    result: type[BaseModel]
    run: Callable[[Caller, Any], BaseModel]
    read_only: bool = True


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("recall", Scope.READ, Question, Recalled, recall),
        Tool("project_memory", Scope.READ, Arguments, MemoryResult, project_memory),
        Tool("remember", Scope.WRITE, Remembered, Noted, remember, read_only=False),
    )
}


def _hit(hit: Hit) -> Found:
    turns = [PublicId().to_url(pk) for pk in hit.citations]
    return Found(
        kind=hit.kind,
        text=hit.text,
        speaker=hit.speaker,
        reported=hit.is_report,
        said_at=hit.created_at,
        chat=hit.chat,
        turns=turns,
    )

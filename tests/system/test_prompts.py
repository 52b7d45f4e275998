"""Every sentence that a model reads stands in memorybank/prompts, and all that stands there is read by one."""

import ast
import re
import tomllib
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest
from django.test import override_settings
from django.urls import reverse

from memorybank import prompts, services
from memorybank.llm.base import Message
from memorybank.models import LLMCall
from projects.chat import compaction
from projects.mcp.tools import TOOLS
from projects.models import Draft
from projects.tenancy import people
from tests.projects.mcp.test_mcp import WRITE, MCPCase
from tests.support import long_chats
from tests.support.cast import NOON, scripted
from tests.support.commands import ROOT
from tests.support.factories import MINUTE, note_taker, sentence

pytestmark = pytest.mark.long

CODE = [
    path
    for folder in ("memorybank", "projects")
    for path in (ROOT / folder).rglob("*.py")
    if "migrations" not in path.parts
]
#: A string of fewer words is no sentence: a format, a label, a name.
MIN_WORDS = 4
_WORD = re.compile(r"[^\W\d_]+")
HOUR, DAY = timedelta(hours=1), timedelta(days=1)

SMALL = {"CHUNK_FROM_TOKENS": 300, "CHUNK_TOKENS": 300, "LINES_PER_LEAF": 12}
MODEL = {"BACKEND": "memorybank.llm.scripted.ScriptedLLM", "MODEL": "scripted"}


def strings() -> Iterator[str]:
    """Every string constant of our Python, docstrings and the parts of f-strings among them.

    Without those that are translated: they are for people, who may be told the same as a model.
    """
    for path in CODE:
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
        translated = {id(arg) for call in calls if call.func.id == "_" for arg in call.args}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in translated:
                yield node.value


def templates() -> set[str]:
    return {path.stem for path in prompts.PROMPTS_FOLDER.glob("*.txt")}


def sentences() -> dict[str, str]:
    tables = tomllib.loads((prompts.PROMPTS_FOLDER / "sentences.toml").read_text(encoding="utf-8"))
    return {f"{table}.{name}": text for table, named in tables.items() for name, text in named.items()}


def answer(messages: Sequence[Message]) -> str:
    """Notes of whatever is asked, or an answer."""
    system = messages[0]["content"]
    if system.startswith("You shorten a long chat"):
        return long_chats.model([dict(message) for message in messages])
    return note_taker(messages) if "long-term memory" in system else "Certainly."


@pytest.mark.any_database
@override_settings(MEMORYBANK={"LLMS": {"chat": MODEL}, **SMALL})
class WhatModelsReadTest(MCPCase):
    """One project whose models read everything: summaries, merges, digests, checkpoints, chats, and MCP."""

    def setUp(self) -> None:
        super().setUp()
        scripted().answer = answer

    def test_no_sentence_that_a_model_reads_stands_in_python(self) -> None:
        self.summarise_and_roll_up()
        self.chat_and_compact()
        read = "\n".join([message["content"] for call in scripted().history for message in call] + list(self.mcp()))
        self.assertEqual(
            set(LLMCall.objects.filter(outcome="ok").values_list("purpose", flat=True)),
            {"summary", "chunk", "merge", "digest", "chat", "compact"},
        )
        long = {text.strip() for text in strings() if len(_WORD.findall(text)) >= MIN_WORDS}
        self.assertEqual({text for text in long if text in read}, set())
        self.assertEqual({name for name, text in sentences().items() if text not in read and "{" not in text}, set())

    def summarise_and_roll_up(self) -> None:
        bank = self.apollo.bank
        bank.max_tokens = 300
        bank.save()
        for chat in range(2):
            for number in range(30):
                time = NOON + chat * HOUR + number * MINUTE
                text = sentence(chat * 30 + number)
                services.record(bank, chat_key=f"c{chat}", author="Priya", question=text, created_at=time, now=time)
            services.run(bank=bank, now=NOON + (chat + 1) * HOUR)
        services.run(bank=bank, now=NOON + 3 * DAY)

    def chat_and_compact(self) -> None:
        chat = self.begin_chat(self.alice, self.apollo)
        services.record_many(self.apollo.bank, long_chats.turns(4_000, chat=chat.key, author="alice"), now=NOON + DAY)
        compaction.compact(self.apollo, chat)
        services.record(
            self.apollo.bank,
            chat_key="own",
            author="alice",
            question="From now on answer me in short sentences without tables.",
            private=True,
            readers=[people.person_of(self.apollo, self.alice)],
            created_at=NOON + DAY,
            now=NOON + DAY,
        )
        services.run(bank=self.apollo.bank, now=NOON + 2 * DAY)
        self.say(self.alice, chat, "When is the launch of Apollo in Grimsvale?")
        broken = services.record(
            self.apollo.bank, chat_key=chat.key, author="alice", question="And of Zeus?", status="error", now=NOON
        )
        Draft.objects.create(output=broken, text="On 9", saved_at=NOON)
        self.client.post(reverse("continue", args=["acme", "apollo", chat.key, broken.pk]))

    def mcp(self) -> Iterator[str]:
        """What programs are offered and told, whatever they ask."""
        begun = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        reader, writer, empty = self.key(), self.key(scopes=WRITE), self.key(self.zeus)
        asked = [
            (writer, "initialize", begun),
            (writer, "tools/list", {}),
            (reader, "resources/list", {}),
            (reader, "resources/read", {"uri": "memorybank://block"}),
            (reader, "tools/call", {"name": "recall", "arguments": {"question": "When is the launch?"}}),
            (reader, "tools/call", {"name": "remember", "arguments": {"text": "x"}}),
            (writer, "tools/call", {"name": "remember", "arguments": {"text": "The venue is the Old Mill."}}),
            (writer, "tools/call", {"name": "remember", "arguments": {"text": "For me alone.", "private": True}}),
            (empty, "tools/call", {"name": "recall", "arguments": {"question": "launch"}}),
            (empty, "tools/call", {"name": "project_memory"}),
        ]
        yield from (text for key, method, params in asked for text in texts(self.post(key, method, params).json()))
        services.disable(self.zeus.bank, actor="charlie")
        off = [("project_memory", {}), ("remember", {"text": "Nobody hears this."})]
        writer = self.key(self.zeus, WRITE)
        yield from (text for tool, given in off for text in texts(self.call(writer, tool, **given)))


def texts(value: object) -> Iterator[str]:
    """Every string in JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


def test_every_prompt_and_every_sentence_is_asked_for_by_its_name() -> None:
    named = set(strings())
    assert not templates() - named
    tools = {f"mcp.{tool}{end}" for tool in TOOLS for end in ("", "_title")}
    assert not set(sentences()) - tools - named


def test_no_sentence_stands_there_twice() -> None:
    assert len(set(sentences().values())) == len(sentences())


def test_an_edit_of_any_part_of_a_prompt_is_a_new_version() -> None:
    whole = prompts.version("summarise", "reminder")
    assert re.fullmatch(r"summarise@[0-9a-f]{8}", whole)
    assert len({whole, prompts.version("summarise"), prompts.version("summarise", "merge")}) == 3

"""The official MCP client against a running site: two chats of a project, and keys of other projects."""

import ast
import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.commands import PROCESS_TIMEOUT_SECONDS, ROOT
from tests.support.gateway_site import PROJECTS, Gateway

pytestmark = pytest.mark.own_servers

OUR_PROJECT, *STRANGERS = PROJECTS
DECISION = "We decided on 4 March 2026 that the launch is on 17 May 2026 in Grimsvale."
QUESTION = "When and where is the launch?"


@asynccontextmanager
async def connected(served: Gateway, key: str, mode: str = "auto") -> AsyncIterator[Any]:
    """Connect as docs/mcp.md shows."""
    from httpx2 import AsyncClient
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    http = AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=PROCESS_TIMEOUT_SECONDS)
    async with http, Client(streamable_http_client(f"{served.address}/mcp", http_client=http), mode=mode) as memory:
        yield memory


async def everything(served: Gateway, key: str, mode: str = "auto") -> str:
    """Everything that the server sends to a client."""
    async with connected(served, key, mode) as memory:
        answers = [
            await memory.call_tool("recall", {"question": QUESTION}),
            await memory.call_tool("project_memory"),
            *[await memory.read_resource(item.uri) for item in (await memory.list_resources()).resources],
        ]
        return json.dumps([item.model_dump(mode="json") for item in answers])


async def answer_of(served: Gateway, tool: str, arguments: dict[str, Any]) -> Any:
    async with connected(served, served.keys[OUR_PROJECT]) as memory:
        return await memory.call_tool(tool, arguments)


def test_what_one_client_remembers_is_told_to_the_next_one_and_to_no_other_project(served: Gateway) -> None:
    noted = asyncio.run(answer_of(served, "remember", {"text": DECISION}))
    assert not noted.is_error
    served.summarise(OUR_PROJECT)
    for mode in ("auto", "legacy"):  # by discovery, and by the handshake of older clients
        assert asyncio.run(everything(served, served.keys[OUR_PROJECT], mode)).count("Grimsvale") >= 4
        for stranger in STRANGERS:
            assert "Grimsvale" not in asyncio.run(everything(served, served.keys[stranger], mode))


def test_a_refusal_reaches_who_uses_the_client(served: Gateway) -> None:
    from mcp import MCPError

    async def refused() -> str:
        with pytest.raises(BaseException) as caught:
            await everything(served, "mb_wrong")
        group = caught.value
        while isinstance(group, BaseExceptionGroup):
            [group] = group.exceptions
        assert isinstance(group, MCPError)
        return str(group)

    assert "Authorization: Bearer mb_" in asyncio.run(refused())


def test_the_page_s_example_does_what_it_says(served: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs/mcp.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```python\n(.*?)```", page, re.S)
    example = example.replace("mb_…", served.keys[OUR_PROJECT]).replace("https://memory.example.com", served.address)
    code = compile(example, "docs/mcp.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    async def run() -> None:
        await eval(code, {})

    asyncio.run(run())
    assert "hits" in capsys.readouterr().out

"""The Model Context Protocol by its own SDK: tools and resources offered, one exchange answered. Slow to import.

There are no sessions, and nothing outlives an exchange, so any process answers any request. The key travels with the
request: whoever answers has no other way to a project.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import anyio
from asgiref.sync import sync_to_async
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from mcp_types import Tool as Offered
from pydantic import ValidationError

from memorybank.exceptions import InvalidInput
from memorybank.services import prompt_text
from projects.models import APIKey

from .tools import TOOLS, Arguments, Tool, project_memory

BLOCK = "memorybank://block"

Context = ServerRequestContext[Any, Any]


async def exchange(headers: Iterable[tuple[str, str]], body: bytes, key: APIKey) -> tuple[int, dict[str, str], bytes]:
    """Answer one POST: its status, headers and body."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        "key": key,
    }
    incoming: list[dict[str, Any]] = [{"type": "http.request", "body": body}]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        if incoming:
            return incoming.pop()
        await anyio.sleep_forever()  # nobody here knows that the client has gone, and an answer takes milliseconds
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    manager = StreamableHTTPSessionManager(
        _server(), json_response=True, stateless=True, max_request_body_size=len(body) + 1
    )
    async with manager.run():
        await manager.handle_request(scope, receive, send)
    start, *rest = sent
    told = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
    return start["status"], told, b"".join(part.get("body", b"") for part in rest)


@cache
def _server() -> Server[Any]:
    return Server(
        "memory-bank",
        version="1",
        title="Memory Bank",
        instructions=prompt_text("mcp.instructions"),
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        on_list_resources=_list_resources,
        on_read_resource=_read_resource,
    )


async def _list_tools(context: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
    key = _key(context)
    return ListToolsResult(tools=[_offered(tool) for tool in TOOLS.values() if key.opens(tool.scope)])


def _offered(tool: Tool) -> Offered:
    # Nothing is ever taken back or replaced, and nothing but this project's memory is reached.
    hints = ToolAnnotations(read_only_hint=tool.reads, destructive_hint=False, open_world_hint=False)
    return Offered(
        name=tool.name,
        title=prompt_text(f"mcp.{tool.name}_title"),
        description=prompt_text(f"mcp.{tool.name}"),
        input_schema=tool.takes.model_json_schema(),
        output_schema=tool.gives.model_json_schema(mode="serialization"),
        annotations=hints,
    )


async def _call_tool(context: Context, call: CallToolRequestParams) -> CallToolResult:
    """A refusal is a result that says why in one line, for a model to read."""
    key, tool = _key(context), TOOLS.get(call.name)
    if tool is None:
        why = prompt_text("mcp.unknown_tool").format(tool=call.name[:40], tools=", ".join(TOOLS))
        raise MCPError(INVALID_PARAMS, why)
    if not key.opens(tool.scope):
        return _refused(prompt_text("mcp.scope").format(tool=tool.name, scope=tool.scope.value))
    try:
        given = await sync_to_async(tool.does)(key, tool.takes.model_validate(call.arguments or {}))
    except ValidationError as error:
        return _refused(_first(error))
    except InvalidInput as error:
        return _refused(str(error))
    told = TextContent(type="text", text=str(given))
    return CallToolResult(content=[told], structured_content=given.model_dump(mode="json"))


async def _list_resources(_: Context, __: PaginatedRequestParams | None) -> ListResourcesResult:
    block = Resource(
        uri=BLOCK,
        name="project_memory",
        title=prompt_text("mcp.project_memory_title"),
        description=prompt_text("mcp.block"),
        mime_type="text/plain",
    )
    return ListResourcesResult(resources=[block])


async def _read_resource(context: Context, asked: ReadResourceRequestParams) -> ReadResourceResult:
    if str(asked.uri) != BLOCK:
        why = prompt_text("mcp.unknown_resource").format(resource=str(asked.uri)[:80], known=BLOCK)
        raise MCPError(INVALID_PARAMS, why)
    memory = await sync_to_async(project_memory)(_key(context), Arguments())
    return ReadResourceResult(contents=[TextResourceContents(uri=BLOCK, mime_type="text/plain", text=str(memory))])


def _key(context: Context) -> APIKey:
    assert context.request is not None
    key: APIKey = context.request.scope["key"]
    return key


def _refused(why: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=why)], is_error=True)


def _first(error: ValidationError) -> str:
    """What is wrong with the first argument that is: its name and the limit, not what was sent."""
    first = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'arguments'}: {first['msg']}."

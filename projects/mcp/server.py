"""The MCP server, built on the official SDK: its tools and resources. Each call handles one request. Slow to import.

There are no sessions and no state between requests, so any process can answer any request. Each request carries its
API key, which alone determines the project.
"""

from __future__ import annotations

import json
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
    PARSE_ERROR,
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
from mcp_types import Tool as OfferedTool
from pydantic import ValidationError

from memorybank.exceptions import InvalidInput
from memorybank.services import Asker, prompt_text
from projects.models import APIKey
from projects.web.refusal_texts import field_errors

from .tools import TOOLS, Arguments, Caller, Tool, project_memory

BLOCK_URI = "memorybank://block"
#: Errors of a body that is no message: the SDK's texts quote it.
UNREADABLE_MESSAGES = {PARSE_ERROR: "The body is not JSON.", INVALID_PARAMS: "The body is not a JSON-RPC message."}

Context = ServerRequestContext[Any, Any]


async def handle_post(
    headers: Iterable[tuple[str, str]], body: bytes, key: APIKey, asker: Asker
) -> tuple[int, dict[str, str], bytes]:
    """Handle one POST request of a key, for the member it names; return the response's status, headers and body."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        "caller": Caller(key, asker),
    }
    incoming: list[dict[str, Any]] = [{"type": "http.request", "body": body}]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        if incoming:
            return incoming.pop()
        await anyio.sleep_forever()  # a disconnect is not detected, but an answer takes milliseconds
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    manager = StreamableHTTPSessionManager(
        _server(), json_response=True, stateless=True, max_request_body_size=len(body) + 1
    )
    async with manager.run():
        await manager.handle_request(scope, receive, send)
    start, *rest = sent
    response_headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
    response_headers.pop("content-length", None)  # Django counts the final content
    content = b"".join(part.get("body", b"") for part in rest)
    return start["status"], response_headers, _own_error(content) if b'"error":' in content else content


def _own_error(content: bytes) -> bytes:
    """The answer, without the parts of an error of the SDK that repeat the request."""
    answer = json.loads(content)
    if error := answer.get("error"):
        data = error.pop("data", None)
        if isinstance(data, dict) and "supported" in data:  # protocol versions, from which a client chooses
            error["data"] = {"supported": data["supported"]}
        if answer.get("id") is None:
            error["message"] = UNREADABLE_MESSAGES.get(error["code"], error["message"])
    return json.dumps(answer).encode()


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
    key = _caller(context).key
    return ListToolsResult(tools=[_offered_tool(tool) for tool in TOOLS.values() if key.opens(tool.scope)])


def _offered_tool(tool: Tool) -> OfferedTool:
    # Tools never delete or replace anything, and reach nothing but this project's memory.
    hints = ToolAnnotations(read_only_hint=tool.read_only, destructive_hint=False, open_world_hint=False)
    return OfferedTool(
        name=tool.name,
        title=prompt_text(f"mcp.{tool.name}_title"),
        description=prompt_text(f"mcp.{tool.name}"),
        input_schema=tool.arguments.model_json_schema(),
        output_schema=tool.result.model_json_schema(mode="serialization"),
        annotations=hints,
    )


async def _call_tool(context: Context, call: CallToolRequestParams) -> CallToolResult:
    """Call a tool. A missing scope or invalid arguments become an error result with one line for the model."""
    caller, tool = _caller(context), TOOLS.get(call.name)
    if tool is None:
        why = prompt_text("mcp.unknown_tool").format(tools=", ".join(TOOLS))
        raise MCPError(INVALID_PARAMS, why)
    if not caller.key.opens(tool.scope):
        return _error_result(prompt_text("mcp.scope").format(tool=tool.name, scope=tool.scope.value))
    try:
        result = await sync_to_async(tool.run)(caller, tool.arguments.model_validate(call.arguments or {}))
    except ValidationError as error:
        return _error_result(_first_error(error))
    except InvalidInput as error:
        return _error_result(str(error))
    text = TextContent(type="text", text=str(result))
    return CallToolResult(content=[text], structured_content=result.model_dump(mode="json"))


async def _list_resources(_: Context, __: PaginatedRequestParams | None) -> ListResourcesResult:
    block = Resource(
        uri=BLOCK_URI,
        name="project_memory",
        title=prompt_text("mcp.project_memory_title"),
        description=prompt_text("mcp.block"),
        mime_type="text/plain",
    )
    return ListResourcesResult(resources=[block])


async def _read_resource(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    if str(params.uri) != BLOCK_URI:
        why = prompt_text("mcp.unknown_resource").format(known=BLOCK_URI)
        raise MCPError(INVALID_PARAMS, why)
    memory = await sync_to_async(project_memory)(_caller(context), Arguments())
    return ReadResourceResult(contents=[TextResourceContents(uri=BLOCK_URI, mime_type="text/plain", text=str(memory))])


def _caller(context: Context) -> Caller:
    assert context.request is not None
    caller: Caller = context.request.scope["caller"]
    return caller


def _error_result(why: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=why)], is_error=True)


def _first_error(error: ValidationError) -> str:
    """The first invalid argument: its name and the limit."""
    path, why = next(iter(field_errors(error.errors(include_input=False, include_url=False)).items()))
    return f"{'.'.join(map(str, path)) or 'arguments'}: {why}"

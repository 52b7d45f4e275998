"""LLM API protocols, one per file: parse requests, add memory to them, read answers."""

from collections.abc import Mapping

from .anthropic_messages import AnthropicMessages
from .chat_completions import ChatCompletions
from .protocol import Answer, AnswerFormat, Endpoint, Protocol, named_files
from .responses import Responses

#: The gateway serves the endpoints of these protocols.
PROTOCOLS: tuple[Protocol, ...] = (ChatCompletions(), Responses(), AnthropicMessages())

__all__ = [
    "Answer",
    "AnswerFormat",
    "AnthropicMessages",
    "ChatCompletions",
    "Endpoint",
    "Protocol",
    "Responses",
    "named_files",
    "protocol_of",
]


def protocol_of(path: str, headers: Mapping[str, str]) -> Protocol:
    """The protocol of a client whose request no endpoint handles."""
    is_anthropic = "anthropic-version" in headers or path.startswith("/v1/messages")
    return AnthropicMessages() if is_anthropic else ChatCompletions()

"""LLM API protocols, one a file: parse requests, add memory to them, read answers."""

from .anthropic_messages import AnthropicMessages
from .chat_completions import ChatCompletions
from .protocol import Answer, AnswerFormat, Protocol, UnsupportedRequest
from .responses import Responses

#: Their endpoints are the addresses of the gateway.
PROTOCOLS: tuple[Protocol, ...] = (ChatCompletions(), Responses(), AnthropicMessages())

__all__ = [
    "Answer",
    "AnswerFormat",
    "AnthropicMessages",
    "ChatCompletions",
    "Protocol",
    "Responses",
    "UnsupportedRequest",
]

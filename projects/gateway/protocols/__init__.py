"""The protocols that are passed through, one a file: how requests are read and added to, how answers are read."""

from .anthropic_messages import AnthropicMessages
from .chat_completions import ChatCompletions
from .protocol import Answer, Protocol, Unacceptable
from .responses import Responses

__all__ = ["Answer", "AnthropicMessages", "ChatCompletions", "Protocol", "Responses", "Unacceptable"]

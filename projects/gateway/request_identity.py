"""Read a request's chat id and person. Pure."""

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from .protocols import Protocol

#: Headers with a chat's id, in order of preference, and whether one id is one conversation. A session's id is shared by
#: the sub-agents that an agent starts. Headers whose id changes with every request are not listed.
CHAT_ID_HEADERS = {
    "X-Memory-Chat": True,
    "X-OpenWebUI-Chat-Id": True,
    "X-Claude-Code-Session-Id": False,
    "X-Session-Id": False,
    "X-Session-Affinity": False,
}
CONVERSATION_FIELD, CACHE_KEY_FIELD = "conversation", "prompt_cache_key"
USER_HEADER, MEMORY_HEADER = "X-Memory-User", "X-Memory"
#: What the vendors' clients count when they send a request again, because its answer was lost.
RETRY_COUNT_HEADER, IDEMPOTENCY_HEADER = "X-Stainless-Retry-Count", "Idempotency-Key"
MAX_NAME_CHARACTERS = 200
#: Only a cache key with a UUID names a chat: others may be shared by all chats of a program.
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True)
class ChatId:
    """A chat's id in a request, and the header or field that held it."""

    source: str
    id: str
    one_conversation: bool

    def key(self, root: str) -> str:
        """The chat's key in its bank. ``root`` includes the API key and the person, so nobody else has the same."""
        encoded = f"{self.source}\0{self.id}".encode(errors="replace")
        return f"gw-{hmac.new(root.encode(), encoded, sha256).hexdigest()[:40]}"


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends a request, in which chat, and whether the client says that it repeats an earlier request."""

    key_id: int
    person: str = ""
    chat_id: ChatId | None = None
    is_repetition: bool = False
    idempotency_key: str = ""


def sender_of(key_id: int, protocol: Protocol, body: Mapping[str, Any], headers: Mapping[str, str]) -> Sender:
    """The sender of a request."""
    return Sender(
        key_id,
        person_of(protocol, body, headers),
        chat_id_of(protocol, body, headers),
        headers.get(RETRY_COUNT_HEADER, "0").strip() not in ("", "0"),
        headers.get(IDEMPOTENCY_HEADER, "").strip(),
    )


def chat_id_of(protocol: Protocol, body: Mapping[str, Any], headers: Mapping[str, str]) -> ChatId | None:
    """The id of the request's chat; None if the request has none."""
    for header, one_conversation in CHAT_ID_HEADERS.items():
        if value := headers.get(header, "").strip():
            return ChatId(header.lower(), value, one_conversation)
    if value := protocol.conversation(dict(body)):
        return ChatId(CONVERSATION_FIELD, value, True)
    cache_key = body.get(CACHE_KEY_FIELD)
    if isinstance(cache_key, str) and _UUID.search(cache_key):
        return ChatId(CACHE_KEY_FIELD, cache_key, False)
    return None


def person_of(protocol: Protocol, body: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    """Who is speaking; "" if the program does not say."""
    return (headers.get(USER_HEADER, "").strip() or protocol.person(dict(body)).strip())[:MAX_NAME_CHARACTERS]

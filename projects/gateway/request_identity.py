"""Read a request's chat id and person. Pure."""

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import unquote_to_bytes

from ..models import APIKey, NameSource
from ..models.key import PERSON_HEADER
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
USER_HEADER, MEMORY_HEADER = PERSON_HEADER, "X-Memory"
#: Headers in which a front end with several users names the speaker. The name comes last: two people may share it.
FRONT_END_HEADERS = ("X-OpenWebUI-User-Email", "X-OpenWebUI-User-Id", "X-OpenWebUI-User-Name")
#: A header's value as RFC 8187 encodes it, and a byte as URLs encode it.
_EXTENDED = re.compile(r"UTF-8'[A-Za-z0-9-]*'(.*)", re.I)
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
#: Headers of the vendors' clients for a request that they send again because its answer was lost.
RETRY_COUNT_HEADER, IDEMPOTENCY_HEADER = "X-Stainless-Retry-Count", "Idempotency-Key"
MAX_IDENTITY_CHARACTERS = 200
#: How the keys of chats begin that were named by an id.
NAMED_CHAT = "gw-id-"
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
        return f"{NAMED_CHAT}{hmac.new(root.encode(), encoded, sha256).hexdigest()[:40]}"


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of a request, its chat, and whether the client says that it repeats an earlier request."""

    key_id: int
    person: str = ""
    chat_id: ChatId | None = None
    is_repetition: bool = False
    idempotency_key: str = ""


def sender_of(key: APIKey, protocol: Protocol, body: Mapping[str, Any], headers: Mapping[str, str]) -> Sender:
    """The sender of a request."""
    return Sender(
        key.pk,
        person_of(key, protocol, body, headers),
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


def person_of(key: APIKey, protocol: Protocol, body: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    """The speaker's name from the first source that the key trusts and the request has; "" if there is none."""
    front_end = (header_text(headers.get(name, "")) for name in FRONT_END_HEADERS)
    name_by_source = {
        NameSource.MEMORY: header_text(headers.get(USER_HEADER, "")),
        NameSource.FRONT_END: next(filter(None, front_end), ""),
        NameSource.BODY: protocol.person(dict(body)).strip(),
        NameSource.MESSAGE: protocol.name_of_message(dict(body)).strip(),
    }
    names = (name for source, name in name_by_source.items() if name and key.trusts(source))
    return next(names, "")[:MAX_IDENTITY_CHARACTERS]


def header_text(value: str) -> str:
    """Decode a header's text: plain UTF-8, percent-encoded, or encoded by RFC 8187."""
    encoded = _EXTENDED.fullmatch(value.strip())
    if encoded or _PERCENT.search(value):
        decoded = unquote_to_bytes(encoded[1] if encoded else value)
    else:
        decoded = value.encode("latin-1", errors="replace")
    try:
        return decoded.decode().strip()
    except UnicodeDecodeError:
        return value.strip()

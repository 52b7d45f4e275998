"""What a request says of itself beside its messages: which chat it is, who speaks, that it is none of a chat. Pure."""

import hmac
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from .messages import Asked
from .protocols import Protocol

#: Headers that name a chat, ours first; and whether all that stands under one id is one conversation. A session's id is
#: shared by the helpers that an agent starts. Ids that are new with every request are not among them.
HEADERS = {
    "X-Memory-Chat": True,
    "X-OpenWebUI-Chat-Id": True,
    "X-Claude-Code-Session-Id": False,
    "X-Session-Id": False,
    "X-Session-Affinity": False,
}
CONVERSATION, CACHE_KEY = "conversation", "prompt_cache_key"
USER_HEADER, SWITCH = "X-Memory-User", "X-Memory"
MOST = 200  # characters of an id or a name
#: A cache key that is no such id may be one for all chats of a program.
_UNIQUE = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True)
class Name:
    """An id that a chat goes by, and where it stood."""

    source: str
    id: str
    one_conversation: bool

    def key(self, root: str) -> str:
        """The chat's key in its bank: nobody else's, because ``root`` holds the API key and the person."""
        spelt = f"{self.source}\0{self.id}".encode(errors="replace")
        return f"gw-{hmac.new(root.encode(), spelt, sha256).hexdigest()[:40]}"


def name_of(protocol: Protocol, body: Mapping[str, Any], headers: Mapping[str, str]) -> Name | None:
    """The id that a request names its chat by; None if it does not."""
    for header, one in HEADERS.items():
        if given := headers.get(header, "").strip():
            return Name(header.lower(), given, one)
    if given := protocol.conversation(dict(body)):
        return Name(CONVERSATION, given, True)
    cached = body.get(CACHE_KEY)
    if isinstance(cached, str) and _UNIQUE.search(cached):
        return Name(CACHE_KEY, cached, False)
    return None


def person_of(protocol: Protocol, body: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    """Who speaks, as far as the program tells; else ""."""
    return (headers.get(USER_HEADER, "").strip() or protocol.person(dict(body)).strip())[:MOST]


def is_off(body: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    """Whether the client says that this call is not one of the chat: by header, or in ``metadata``."""
    metadata = body.get("metadata")
    told: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
    if "off" in (headers.get(SWITCH, "").lower(), str(told.get("memory", "")).lower()):
        return True
    return str(told.get("task", "")) in _known()["tasks"]


def is_auxiliary(system: str, asked: Asked) -> bool:
    """Whether a front end has a title, a tag or a summary made beside the chat, by what such calls begin with."""
    beginnings = [" ".join(text[:2000].split()).casefold() for text in (system, asked.question.text)]
    return beginnings[1] in _known()["whole"] or any(text.startswith(_known()["openings"]) for text in beginnings)


@cache
def _known() -> dict[str, tuple[str, ...]]:
    """The file beside this one."""
    given = tomllib.loads((Path(__file__).parent / "auxiliary.toml").read_text(encoding="utf-8"))
    return {name: tuple(text.casefold() for text in texts) for name, texts in given.items()}

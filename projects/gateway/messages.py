"""What a request says, whatever its protocol: messages as lineage compares them and as memory keeps them. Pure."""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

#: What a client tells the model beside a person's words, anew each time: neither said nor compared.
_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.S)


@dataclass(frozen=True, slots=True)
class Said:
    """One message. ``at`` is its place in the body; ``kept`` is what is recorded of it, in OpenAI's chat format.

    ``beside`` is what it has beside words (calls, pictures), spelt in one way.
    """

    role: str
    text: str = ""
    beside: str = ""
    at: int = -1
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """What it is compared by: clients change white space, and whether one text is a list of parts."""
        return sha256(
            "\0".join([self.role, " ".join(self.text.split()), self.beside]).encode(errors="replace")
        ).hexdigest()

    @property
    def calls(self) -> bool:
        """Whether it asks for tools, so that its turn goes on."""
        return bool(self.kept.get("tool_calls"))


@dataclass(frozen=True, slots=True)
class Asked:
    """A request taken apart: what came before its question, and what was said since (tools at work)."""

    before: tuple[Said, ...]
    question: Said
    since: tuple[Said, ...] = ()

    @property
    def tools(self) -> list[dict[str, Any]]:
        """What is recorded between question and answer."""
        return [said.kept for said in self.since if said.kept]


def asked(said: Sequence[Said]) -> Asked | None:
    """The turn that is under way: it begins at the newest message of a person. None if there is none."""
    at = next((at for at in reversed(range(len(said))) if said[at].role == "user"), None)
    if at is None:
        return None
    return Asked(tuple(said[:at]), said[at], tuple(said[at + 1 :]))


def without_reminders(text: str) -> str:
    """A person's own words."""
    return _REMINDER.sub("", text).strip() if "<system-reminder>" in text else text


def person(text: str, others: Iterable[Any], at: int) -> Said | None:
    """A person's message; None if nothing of it is hers. ``others`` are parts that are not text."""
    words, attached = without_reminders(text), list(others)
    if not words and not attached:
        return None
    placeholders = [{"type": str(part.get("type", "attachment"))} for part in attached if isinstance(part, dict)]
    kept = {"role": "user", "content": placeholders} if placeholders else {}
    return Said("user", words, digest(attached), at, kept)


def assistant(text: str, calls: Sequence[dict[str, Any]], at: int = -1) -> Said:
    """The model's message. ``calls`` are in OpenAI's chat format."""
    kept = {"role": "assistant", "content": text, **({"tool_calls": list(calls)} if calls else {})}
    spelt = [[call["function"]["name"], arguments(call["function"]["arguments"])] for call in calls]
    return Said("assistant", text, digest(spelt), at, kept)


def tool(text: str, call_id: str, others: Iterable[Any] = (), at: int = -1) -> Said:
    """What a tool answered."""
    kept = {"role": "tool", "tool_call_id": call_id, "content": text or "[no text]"}
    return Said("tool", text, digest(list(others)), at, kept)


def call(call_id: Any, name: Any, given: Any) -> dict[str, Any]:
    """A tool's call in OpenAI's chat format."""
    spelt = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return {"id": str(call_id or ""), "type": "function", "function": {"name": str(name or ""), "arguments": spelt}}


def arguments(spelt: str) -> Any:
    """Arguments as values: clients write their JSON anew."""
    try:
        return json.loads(spelt) if spelt else {}
    except (ValueError, RecursionError):
        return spelt


def digest(value: Any) -> str:
    """One spelling of what is no text; "" for nothing."""
    if not value:
        return ""
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode(errors="replace")).hexdigest()


def texts(content: Any, kinds: Collection[str] = ("text",)) -> tuple[str, list[Any]]:
    """A message's content (a string, or a list of parts): its words, and the parts that are none."""
    if isinstance(content, str):
        return content, []
    if not isinstance(content, list):
        return "", []
    of_words = [part for part in content if _is_text(part, kinds)]
    others = [part for part in content if not _is_text(part, kinds) and isinstance(part, dict)]
    return "\n".join(part if isinstance(part, str) else str(part.get("text", "")) for part in of_words), others


def _is_text(part: Any, kinds: Collection[str]) -> bool:
    return isinstance(part, str) or (isinstance(part, dict) and part.get("type") in kinds)


def beside(content: Any, words: str, kind: str = "text") -> Any:
    """A content with ``words`` after it: in its list of parts where it is one."""
    if isinstance(content, list):
        return [*content, {"type": kind, "text": words}]
    return f"{content}\n\n{words}" if content else words

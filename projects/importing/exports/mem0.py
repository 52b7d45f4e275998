"""mem0's memories, as its ``get_all`` returns them. Each fact becomes a turn with the fact as its question.

All facts of one owner become one conversation, in chronological order.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from .conversation import (
    BadConversation,
    BadFieldError,
    ExportedConversation,
    ExportedTurn,
    Item,
    Read,
    identifier,
    moment,
    require,
    rows,
    text,
)

OWNER_FIELDS = ("user_id", "agent_id", "app_id", "run_id")
MEM0_CHAT_TITLE = "Memories from mem0"


def recognises(item: Mapping[str, Any]) -> bool:
    return "memory" in item or any("memory" in row for row in _rows_of(item))


def read(items: Iterable[Item]) -> Read:
    turns: dict[tuple[str, str], list[ExportedTurn]] = defaultdict(list)
    for place, row in rows(items, ["results"], "result"):
        try:
            require(row, Mapping, "memory", "object")
            owner = next((text(row, name) for name in OWNER_FIELDS if row.get(name)), "")
            said = text(row, "memory")
            if not said.strip():
                raise BadFieldError("memory: is missing.")
            at = moment(row.get("created_at"), "created_at")
            turns[owner, text(row, "user_id")].append(ExportedTurn(identifier(row, "id"), said, "", at))
        except BadFieldError as error:
            yield BadConversation(place, str(error))
    for (owner, person), facts in turns.items():
        facts.sort(key=lambda turn: turn.created_at)
        yield ExportedConversation(owner or "memories", MEM0_CHAT_TITLE, facts, person)


def _rows_of(item: Mapping[str, Any]) -> list[Any]:
    results = item.get("results")
    return [row for row in results[:1] if isinstance(row, Mapping)] if isinstance(results, list) else []

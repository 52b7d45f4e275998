"""RESTai's log of a project (``GET /projects/ID/logs?end=100000``) or of one conversation, one row for each turn.

A row without a ``chat_id`` becomes a separate conversation.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from .conversation import (
    BadConversation,
    BadFieldError,
    ExportedConversation,
    ExportedTurn,
    Item,
    LeftOut,
    Read,
    identifier,
    moment,
    require,
    rows,
    text,
)

#: The field with the rows: of a project (newest first), or of a conversation (oldest first).
LIST_FIELDS = ("logs", "turns")


def recognises(item: Mapping[str, Any]) -> bool:
    return any(isinstance(item.get(name), list) for name in LIST_FIELDS) or {"question", "chat_id"} <= item.keys()


def read(items: Iterable[Item]) -> Read:
    turns: dict[tuple[str, str], list[ExportedTurn]] = defaultdict(list)
    left_out: dict[tuple[str, str], Counter[LeftOut]] = defaultdict(Counter)
    for place, row in rows(items, LIST_FIELDS, "row"):
        try:
            require(row, Mapping, "logs", "list of objects")
            key = identifier(row, "id")
            # Several users may have used the same conversation id.
            owner = text(row, "chat_id") or f"turn-{key}", str(row.get("user_id") or "")
            question, answer = text(row, "question"), text(row, "answer")
            at = moment(row.get("date"), "date")
            left_out[owner][LeftOut.FILES] += bool(row.get("image"))
            if not answer or text(row, "status") not in ("", "success"):
                left_out[owner][LeftOut.FAILED] += 1
                turns.setdefault(owner, [])
            else:
                turns[owner].append(ExportedTurn(key, question, answer, at, text(row, "llm")))
        except BadFieldError as error:
            yield BadConversation(place, str(error))
    for owner, said in turns.items():
        said.sort(key=lambda turn: turn.created_at)
        chat, person = owner
        yield ExportedConversation(f"{chat}:{person}" if person else chat, "", said, person, left_out=+left_out[owner])

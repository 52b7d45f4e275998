"""Our own JSON Lines, one turn a line, as the command ``import_chats`` takes them without ``--from``.

The lines must be of one project, because their chats go into the project that was chosen. The turns of one person in a
chat become one conversation.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from memorybank.exceptions import InvalidInput
from projects.importing.jsonl import REQUIRED_FIELDS, line_key, line_time, require_fields

from .conversation import BadConversation, ExportedConversation, ExportedTurn, Item, LeftOut, Read, require, text

#: Turns with another status have no answer to remember.
LEFT_OUT = {
    "pending": LeftOut.UNANSWERED,
    "error": LeftOut.FAILED,
    "blocked": LeftOut.FAILED,
    "cancelled": LeftOut.FAILED,
}


def recognises(item: Mapping[str, Any]) -> bool:
    return item.keys() >= set(REQUIRED_FIELDS)


def read(items: Iterable[Item]) -> Read:
    turns: dict[tuple[str, str], list[ExportedTurn]] = defaultdict(list)
    titles: dict[tuple[str, str], str] = {}
    left_out: dict[tuple[str, str], Counter[LeftOut]] = defaultdict(Counter)
    projects: set[str] = set()
    seen: Counter[str] = Counter()
    for place, row in items:
        try:
            require_fields(require(row, Mapping, "line", "object"))
            projects.add(f"{row['tenant']}/{row['project']}")
            owner = text(row, "chat"), text(row, "user")
            if not owner[1]:
                raise InvalidInput("user: must not be empty.")
            question, answer = text(row, "question"), text(row, "answer")
            key = line_key({**row, "question": question, "answer": answer}, seen)
            turn = ExportedTurn(key, question, answer, line_time(row["created_at"]))
            titles[owner] = titles.get(owner) or text(row, "title")
            if reason := LEFT_OUT.get(text(row, "status")):
                left_out[owner][reason] += 1
            else:
                turns[owner].append(turn)
        except ValueError as error:
            yield BadConversation(place, str(error))
    if len(projects) > 1:
        raise InvalidInput(
            f"the lines are of {len(projects)} projects. Upload a file for each, or let the operator of this site "
            "import all of them with the command: python manage.py import_chats FILE"
        )
    for owner, title in titles.items():
        chat, person = owner
        said = sorted(turns[owner], key=lambda turn: turn.created_at)
        yield ExportedConversation(chat, title, said, person, left_out=left_out[owner])

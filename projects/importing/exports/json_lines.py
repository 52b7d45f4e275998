"""Our own JSON Lines, one turn a line, as the command ``import_chats`` takes them without ``--from``.

The lines must be of one project, because their chats go into the project that was chosen. The turns of one person in a
chat become one conversation. A damaged line, even the first one, is named and skipped.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

from memorybank.exceptions import InvalidInput
from projects.importing.jsonl import REQUIRED_FIELDS, line_key, line_time, parse_line, require_fields

from .conversation import BadConversation, ExportedConversation, ExportedTurn, Item, LeftOut, Read, require, text

#: Turns with another status have no answer to remember.
LEFT_OUT = {
    "pending": LeftOut.UNANSWERED,
    "error": LeftOut.FAILED,
    "blocked": LeftOut.FAILED,
    "cancelled": LeftOut.FAILED,
}
#: In how much of a file one of our lines must be found.
SEARCHED_BYTES = 8 * 2**20


def has_lines(file: IO[bytes]) -> bool:
    """Whether a line of ours is near the beginning, even behind damaged ones. Leaves the file at its beginning."""
    lines = file.read(SEARCHED_BYTES).decode("utf-8-sig", "replace").strip().split("\n")
    file.seek(0)
    return not lines[0].startswith("[") and any(map(_is_ours, lines))


def _is_ours(line: str) -> bool:
    try:
        item = json.loads(line) if line.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return False
    return item is not None and recognises(item)


def lines(file: IO[bytes], name: str) -> Iterator[Item]:
    """The text of each line that is not blank, with its place in the file."""
    for number, line in enumerate(file, start=1):
        if line.strip():
            yield f"{name}, line {number}", line.decode("utf-8-sig", "surrogateescape")


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
            if isinstance(row, str):  # a line; otherwise an item of an array
                row = parse_line(row)
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

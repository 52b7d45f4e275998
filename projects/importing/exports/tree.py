"""Convert a tree of messages to a conversation: the shown branch, and other versions of its turns. No I/O."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from .conversation import ExportedConversation, ExportedTurn, LeftOut

USER, ASSISTANT = "user", "assistant"


@dataclass(frozen=True, slots=True)
class ExportedMessage:
    """A message of a tree. Messages without text, or with a role other than ``USER`` and ``ASSISTANT``, are ignored."""

    id: str
    parent: str
    role: str
    text: str
    at: datetime
    model: str = ""
    files: int = 0


def conversation(
    key: str, title: str, messages: Sequence[ExportedMessage], *, current: str = "", person: str = ""
) -> ExportedConversation:
    """The conversation that ends with the message ``current``, or if there is none, with the newest leaf.

    A message whose parent is unknown counts as a root of the tree.
    """
    tree = _Tree(messages)
    shown = tree.path_to(current if current in tree.messages else tree.newest_leaf())
    left_out: Counter[LeftOut] = Counter()
    turns = _turns(shown, left_out)
    versions = _versions(turns, tree.other_paths(shown), left_out)
    left_out[LeftOut.FILES] = sum(message.files for message in shown)
    return ExportedConversation(key, title, turns, person, versions, +left_out)


def _versions(
    turns: Sequence[ExportedTurn], paths: Sequence[Sequence[ExportedMessage]], left_out: Counter[LeftOut]
) -> dict[int, list[list[ExportedTurn]]]:
    """The other versions of each turn, oldest first, by the turn's index.

    ``paths`` are newest first. Of paths that share the first such turn, only the newest is used; each of the others
    counts as ``LeftOut.NESTED``.
    """
    shown, seen = {turn.key for turn in turns}, set[str]()
    versions: dict[int, list[list[ExportedTurn]]] = defaultdict(list)
    for path in paths:
        unanswered: Counter[LeftOut] = Counter()
        other = _turns(path, unanswered)
        rest = [turn for turn in other if turn.key not in shown]
        place = len(other) - len(rest)
        if not rest:  # such as an edit without an answer
            left_out += unanswered
        elif place == len(turns) or rest[0].key in seen:
            left_out[LeftOut.NESTED] += 1
        else:
            versions[place].append(rest)
            seen.update(turn.key for turn in rest)
    for several in versions.values():
        several.sort(key=lambda version: (version[0].created_at, version[0].key))
    return dict(versions)


class _Tree:
    """Messages by id, and their children in the order of the file."""

    def __init__(self, messages: Sequence[ExportedMessage]) -> None:
        self.messages: Mapping[str, ExportedMessage] = {message.id: message for message in messages}
        self._children: dict[str, list[str]] = defaultdict(list)
        for message in self.messages.values():
            self._children[self._parent(message.id)].append(message.id)

    def _parent(self, id: str) -> str:
        parent = self.messages[id].parent
        return parent if parent in self.messages and parent != id else ""

    def path_to(self, id: str) -> list[ExportedMessage]:
        """The messages from the root to this one."""
        path: list[str] = []
        seen: set[str] = set()
        while id and id not in seen:  # a damaged file may contain a cycle
            seen.add(id)
            path.append(id)
            id = self._parent(id)
        return [self.messages[id] for id in reversed(path)]

    def newest_leaf(self) -> str:
        """The id of the newest message without children; "" if there are no messages."""
        leaves = [id for id in self.messages if not self._children[id]] or list(self.messages)
        return max(leaves, key=lambda id: self.messages[id].at, default="")

    def other_paths(self, shown: Sequence[ExportedMessage]) -> list[list[ExportedMessage]]:
        """The paths to all leaves outside the shown path, newest leaf first."""
        on_path = {message.id for message in shown}
        ends = [id for id in self.messages if not self._children[id] and id not in on_path]
        ends.sort(key=lambda id: self.messages[id].at, reverse=True)
        return [self.path_to(id) for id in ends]


def _turns(path: Sequence[ExportedMessage], left_out: Counter[LeftOut]) -> list[ExportedTurn]:
    """Pair questions with the answers that follow. Consecutive messages of one role are joined."""
    turns: list[ExportedTurn] = []
    asked: list[ExportedMessage] = []
    answered: list[ExportedMessage] = []
    for message in path:
        if message.role not in (USER, ASSISTANT) or not message.text.strip():
            continue
        if message.role == USER and answered:
            turns.extend(_turn(asked, answered, left_out))
            asked, answered = [], []
        (asked if message.role == USER else answered).append(message)
    return turns + _turn(asked, answered, left_out)


def _turn(
    asked: Sequence[ExportedMessage], answered: Sequence[ExportedMessage], left_out: Counter[LeftOut]
) -> list[ExportedTurn]:
    if not (asked and answered):
        left_out[LeftOut.UNANSWERED] += bool(asked)  # its answer may be in a later export
        left_out[LeftOut.UNASKED] += bool(answered)
        return []
    question, answer = ("\n\n".join(message.text for message in side) for side in (asked, answered))
    model = next((message.model for message in reversed(answered) if message.model), "")
    # The key is the last answer's id: a regenerated answer has the same question message as the first answer.
    return [ExportedTurn(answered[-1].id, question, answer, asked[0].at, model)]

"""Match a request to the chat that it continues, by hashes of its earlier messages. Pure.

A conversation is a chain of hashes, one for each message. The first hash includes the API key and the person, so
messages of different people are never compared. Only conversations that end with an answer given through the gateway
are known.
"""

import hmac
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from .messages import Message

#: Limits the database query for a very long chat.
MAX_TURNS_BACK = 2_000


class Recognition(StrEnum):
    """How a chat was recognised."""

    NAMED = "id"
    SAME = "continued"
    EDITED = "edited"
    COMPACTED = "compacted"
    RETRIED = "retried"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class ConversationStep:
    """A recorded turn: the conversation's hash before it and after it, and the hash of the turn alone."""

    chat: int
    output: int
    before: str
    after: str
    turn_hash: str


@dataclass(frozen=True, slots=True)
class ConversationPath:
    """A conversation: ``nodes`` are its hashes after 0, 1, 2 … messages; ``turn_hashes`` are those of its turns."""

    nodes: tuple[str, ...]
    turn_hashes: tuple[str, ...] = ()

    @property
    def end(self) -> str:
        """The hash of the whole conversation."""
        return self.nodes[-1]

    @property
    def recent_nodes(self) -> tuple[str, ...]:
        """The nodes that the database is asked for, the longest conversation last."""
        return self.nodes[1:][-MAX_TURNS_BACK:]


def root_hash(secret: str, key: int, person: str) -> str:
    """The first hash. Without ``secret``, nobody can test whether something was said."""
    return hmac.new(secret.encode(), f"lineage\0{key}\0{person}".encode(errors="replace"), sha256).hexdigest()


def extend(node: str, messages: Iterable[Message]) -> str:
    """The hash of the conversation at ``node`` followed by these messages."""
    for message in messages:
        node = _hash(node, message.fingerprint)
    return node


def conversation_path(root: str, messages: Sequence[Message]) -> ConversationPath:
    """The conversation that these messages form."""
    nodes, turn_hashes, question = [root], [], None
    for index, message in enumerate(messages):
        nodes.append(_hash(nodes[-1], message.fingerprint))
        if message.role == "user":
            question = message
        next_role = messages[index + 1].role if index + 1 < len(messages) else "user"
        if message.role == "assistant" and question and next_role == "user":
            turn_hashes.append(turn_hash(root, question, message))
    return ConversationPath(tuple(nodes), tuple(turn_hashes))


def turn_hash(root: str, question: Message, answer: Message) -> str:
    """The hash of a turn alone, without its tool messages: clients drop those first."""
    return _hash(_hash(root, question.fingerprint), answer.fingerprint)


def _hash(node: str, fingerprint: str) -> str:
    return sha256(f"{node}\0{fingerprint}".encode()).hexdigest()


def match_chat(path: ConversationPath, steps: Collection[ConversationStep]) -> tuple[int | None, Recognition]:
    """The chat that a request continues, and how it was recognised.

    The whole conversation is known: SAME. Only its last turn is known: COMPACTED, the client shortened the rest.
    Only a part from its beginning is known: EDITED, or undone. Nothing is known, or several chats match: NEW.
    """
    for chats, recognition in (
        (_chats_of(step for step in steps if step.after == path.end), Recognition.SAME),
        (
            _chats_of(step for step in steps if path.turn_hashes and step.turn_hash == path.turn_hashes[-1]),
            Recognition.COMPACTED,
        ),
        (_chats_at_longest(path, steps), Recognition.EDITED),
    ):
        if chats:
            return (chats.pop(), recognition) if len(chats) == 1 else (None, Recognition.NEW)
    return None, Recognition.NEW


def _chats_of(steps: Iterable[ConversationStep]) -> set[int]:
    return {step.chat for step in steps}


def _chats_at_longest(path: ConversationPath, steps: Collection[ConversationStep]) -> set[int]:
    by_node = defaultdict(set)
    for step in steps:
        by_node[step.after].add(step.chat)
    return next((by_node[node] for node in reversed(path.recent_nodes) if node in by_node), set())


def abandoned_outputs(
    path: ConversationPath, steps: Collection[ConversationStep], *, one_conversation: bool
) -> set[int]:
    """The outputs of a chat that its client has undone, edited or re-asked. ``steps`` are all steps of that chat.

    Turns that branch off from the request's conversation are abandoned, with all that followed them, unless the client
    still sends them. A chat's first turn is abandoned only if the id stands for ``one_conversation``, a different first
    turn was continued, and nothing followed this one: a program may send single messages under one id, and none of
    those was undone.
    """
    nodes, turn_hashes = set(path.nodes), set(path.turn_hashes)
    sent_again = {step.output for step in steps if step.after in nodes or step.turn_hash in turn_hashes}
    if match_chat(path, steps)[1] not in (Recognition.SAME, Recognition.EDITED):
        return set()
    children = defaultdict(list)
    for step in steps:
        children[step.before].append(step)
    known_nodes = _known_nodes(path, steps)
    branches = [step for node in known_nodes for step in children[node]]
    if one_conversation:
        branches += [step for step in children[path.nodes[0]] if not children[step.after]]
    abandoned: set[int] = set()
    seen: set[ConversationStep] = set()
    while branches:
        step = branches.pop()
        if step.after in nodes or step.output in sent_again or step in seen:
            continue
        seen.add(step)
        abandoned.add(step.output)
        branches += children[step.after]
    return abandoned


def _known_nodes(path: ConversationPath, steps: Collection[ConversationStep]) -> list[str]:
    """The nodes of the path that have been recorded, without the root."""
    after = {step.after for step in steps}
    return [node for node in path.nodes[1:] if node in after]

"""Which chat a request goes on with, by what was said in it before: hashes of beginnings and of last turns. Pure.

A beginning is known by a chain of hashes, one a message; the first link holds the key and the person, so nobody's words
are compared with anybody else's. Only beginnings that end with an answer of ours are known at all.
"""

import hmac
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from .messages import Said

#: Turns looked back for, in a very long chat.
MOST = 2_000


class How(StrEnum):
    """How a chat was recognised."""

    NAMED = "id"
    SAME = "continued"
    EDITED = "edited"
    COMPACTED = "compacted"
    RETRIED = "retried"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Step:
    """A recorded turn: the beginning that it followed, that which it made, and the turn by itself."""

    chat: int
    output: int
    before: str
    after: str
    tail: str


@dataclass(frozen=True, slots=True)
class Path:
    """A beginning: ``nodes`` after none, one, two … of its messages; ``tails`` of its turns."""

    nodes: tuple[str, ...]
    tails: tuple[str, ...] = ()

    @property
    def end(self) -> str:
        """All of it."""
        return self.nodes[-1]

    @property
    def looked_for(self) -> tuple[str, ...]:
        """What may be known of it, the longest beginning last."""
        return self.nodes[1:][-MOST:]


def root(secret: str, key: int, person: str) -> str:
    """The first link: nobody without ``secret`` can tell whether something was said."""
    return hmac.new(secret.encode(), f"lineage\0{key}\0{person}".encode(errors="replace"), sha256).hexdigest()


def linked(node: str, said: Iterable[Said]) -> str:
    """The beginning at ``node`` with these after it."""
    for each in said:
        node = _hash(node, each.mark)
    return node


def path(first: str, said: Sequence[Said]) -> Path:
    """The beginning that these messages are."""
    nodes, tails, question = [first], [], None
    for at, each in enumerate(said):
        nodes.append(_hash(nodes[-1], each.mark))
        if each.role == "user":
            question = each
        following = said[at + 1].role if at + 1 < len(said) else "user"
        if each.role == "assistant" and question and following == "user":
            tails.append(tail(first, question, each))
    return Path(tuple(nodes), tuple(tails))


def tail(first: str, question: Said, answer: Said) -> str:
    """A turn by itself, without what tools did in it: clients throw that away first."""
    return _hash(_hash(first, question.mark), answer.mark)


def _hash(node: str, mark: str) -> str:
    return sha256(f"{node}\0{mark}".encode()).hexdigest()


def recognised(asked: Path, steps: Collection[Step]) -> tuple[int | None, How]:
    """The chat that a request goes on with, and how that shows.

    All that was said before is known: the same. Its last turn is: the client made the beginning shorter. A part from
    the beginning is: it was edited or undone. Nothing is, or several chats fit: a new one.
    """
    for chats, how in (
        (_chats(step for step in steps if step.after == asked.end), How.SAME),
        (_chats(step for step in steps if asked.tails and step.tail == asked.tails[-1]), How.COMPACTED),
        (_chats_at_longest(asked, steps), How.EDITED),
    ):
        if chats:
            return (chats.pop(), how) if len(chats) == 1 else (None, How.NEW)
    return None, How.NEW


def _chats(steps: Iterable[Step]) -> set[int]:
    return {step.chat for step in steps}


def _chats_at_longest(asked: Path, steps: Collection[Step]) -> set[int]:
    by_node = defaultdict(set)
    for step in steps:
        by_node[step.after].add(step.chat)
    return next((by_node[node] for node in reversed(asked.looked_for) if node in by_node), set())


def left_behind(asked: Path, steps: Collection[Step], *, one_conversation: bool) -> set[int]:
    """The outputs of a chat that its client has undone, edited or asked anew; ``steps`` are all of that chat.

    Where the request's beginning branches off, and at every turn of it, other turns are left behind, and whatever
    followed them; never one that the client still tells. What begins a chat is only left behind where an id stands
    for ``one_conversation``, by another beginning that has gone on, and if nothing followed it: a program may send
    single messages under one id, and none of those was undone.
    """
    nodes, tails = set(asked.nodes), set(asked.tails)
    told = {step.output for step in steps if step.after in nodes or step.tail in tails}
    if recognised(asked, steps)[1] not in (How.SAME, How.EDITED):
        return set()
    children = defaultdict(list)
    for step in steps:
        children[step.before].append(step)
    known = _known(asked, steps)
    gone = [step for node in known for step in children[node]]
    if one_conversation:
        gone += [step for step in children[asked.nodes[0]] if not children[step.after]]
    found: set[int] = set()
    seen: set[Step] = set()
    while gone:
        step = gone.pop()
        if step.after in nodes or step.output in told or step in seen:
            continue
        seen.add(step)
        found.add(step.output)
        gone += children[step.after]
    return found


def _known(asked: Path, steps: Collection[Step]) -> list[str]:
    """The nodes of the path that are known, without the first."""
    after = {step.after for step in steps}
    return [node for node in asked.nodes[1:] if node in after]

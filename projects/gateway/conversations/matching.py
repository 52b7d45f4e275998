"""Match a request to the chat that it continues, by hashes of its messages. Pure.

A conversation is a chain of hashes, one for each message; the first includes the project and the person. Recording
stores a step at the end of each request's messages, and another one after its answer. A request continues the chat
whose last turn ends the request's history. If the history ends with an earlier turn of a chat, the request begins a new
chat: a branch that contains its own turns only.
"""

import hmac
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from hashlib import sha256

from ..messages import GatewayMessage, ParsedRequest

#: Limits the database query for a very long chat.
MAX_TURNS_BACK = 2_000
#: A history from another key continues a chat if it repeats at least this many turns with their answers.
MIN_TURNS_ACROSS_KEYS = 2


class Recognition(StrEnum):
    """How a chat was recognised."""

    SAME = "continued"
    COMPACTED = "compacted"
    RETRIED = "retried"
    REPEATED = "repeated"
    BRANCHED = "branched"
    NEW = "new"


class TurnState(Enum):
    """Whether a turn has its answer."""

    ANSWERED = 1
    PENDING = 2
    UNANSWERED = 3


@dataclass(frozen=True, slots=True)
class ConversationStep:
    """A place in a recorded turn: ``before`` is the hash before the turn, ``after`` the hash at this place.

    ``turn_hash`` is the hash of question and answer alone; it is "" where a request ends and the answer begins.
    """

    chat: int
    output: int
    before: str
    after: str
    turn_hash: str
    key: int | None
    state: TurnState

    @property
    def is_request(self) -> bool:
        """Whether a request ends here."""
        return not self.turn_hash


@dataclass(frozen=True, slots=True)
class ConversationPath:
    """The places of a request's messages in its conversation.

    ``nodes`` are the hashes after 0, 1, 2 … messages before the question, and ``turn_hashes`` those of the turns there.
    ``question`` is the hash after the question, ``request`` the one after all messages, ``tool_calls`` the one after
    the model's latest message of this turn, or "", and ``repeat`` the one that includes the idempotency key, or "".
    ``answered`` is the hash after the last answer before the question if only the results of its tool calls follow it.
    """

    nodes: tuple[str, ...]
    turn_hashes: tuple[str, ...]
    question: str
    request: str
    tool_calls: str = ""
    repeat: str = ""
    ends_with_answer: bool = False
    answered: str = ""

    @property
    def end(self) -> str:
        """The hash of the history before the question."""
        return self.nodes[-1]

    @property
    def places(self) -> tuple[str, ...]:
        """The hashes to look up in the database."""
        history = self.nodes[1:][-MAX_TURNS_BACK:]
        return (*history, *filter(None, [self.request, self.tool_calls, self.repeat]))


@dataclass(frozen=True, slots=True)
class Match:
    """The chat and the turn that a request belongs to; None stands for a new chat or a new turn.

    ``stopped`` is the previous turn if that has no answer: the client continues from the part that it received.
    ``reopens`` says whether the turn already has an answer, which the client corrects or uses as a tool call.
    """

    recognition: Recognition
    chat: int | None = None
    output: int | None = None
    stopped: int | None = None
    reopens: bool = False


def root_hash(secret: str, *scope: object) -> str:
    """The first hash of a conversation, keyed with ``secret``: nobody without it can test guesses of what was said."""
    encoded = "\0".join(["conversation", *map(str, scope)]).encode(errors="replace")
    return hmac.new(secret.encode(), encoded, sha256).hexdigest()


def extend(root: str, node: str, messages: Iterable[GatewayMessage]) -> str:
    """The hash of the conversation at ``node`` followed by these messages. A program's feedback is not compared."""
    for message in messages:
        if message.role == "feedback":
            continue
        node = item_node(root, message.reference) if message.reference else _hash(node, message.fingerprint)
    return node


def item_node(root: str, item_id: str) -> str:
    """The hash after a message with an id of the upstream; the id represents the whole conversation up to it."""
    return _hash(root, f"item\0{item_id}")


def conversation_path(root: str, request: ParsedRequest, idempotency_key: str = "") -> ConversationPath:
    """The path of a request."""
    nodes, turn_hashes, asked = [root], [], None
    history = request.before
    for index, message in enumerate(history):
        nodes.append(extend(root, nodes[-1], [message]))
        if message.role == "user":
            asked = message
        next_role = history[index + 1].role if index + 1 < len(history) else "user"
        if message.role == "assistant" and asked and next_role == "user":
            turn_hashes.append(turn_hash(root, asked, message))
    question = extend(root, nodes[-1], [request.question])
    node, tool_calls = question, ""
    for message in request.since:
        node = extend(root, node, [message])
        tool_calls = node if message.role == "assistant" else tool_calls
    repeat = _hash(node, f"repeat\0{idempotency_key}") if idempotency_key else ""
    spoken = [position for position, message in enumerate(history) if message.role in ("user", "assistant")]
    last = spoken[-1] if spoken and history[spoken[-1]].role == "assistant" else None
    return ConversationPath(
        nodes=tuple(nodes),
        turn_hashes=tuple(turn_hashes),
        question=question,
        request=node,
        tool_calls=tool_calls,
        repeat=repeat,
        ends_with_answer=last == len(history) - 1,
        answered=nodes[last + 1] if last is not None else "",
    )


def turn_hash(root: str, question: GatewayMessage, answer: GatewayMessage) -> str:
    """The hash of a turn alone, without its tool messages: clients drop those first."""
    return _hash(_hash(root, question.fingerprint), answer.fingerprint)


def _hash(node: str, fingerprint: str) -> str:
    return sha256(f"{node}\0{fingerprint}".encode(errors="replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class RecordedSteps:
    """The steps that share a place with a request, and the latest live turn of each of their chats.

    ``is_altered`` takes an output's id and says whether the last answer of the request's history is its answer, altered
    by the client. ``key`` is the request's API key; None, for a chat with an id, matches steps of every key, and any
    turn of a chat instead of its last.
    """

    steps: Collection[ConversationStep]
    latest: Mapping[int, int]
    is_altered: Callable[[int], bool]
    key: int | None = None

    def match(self, path: ConversationPath, *, is_repetition: bool) -> Match:
        """Match a request to a chat and a turn."""
        attempt = self._attempt(path, is_repetition) or self._tool_loop(path)
        if attempt:
            return attempt
        branches = any(step.after in path.nodes[1:] for step in self._own())
        if path.tool_calls or len(path.nodes) == 1:
            return Match(Recognition.BRANCHED if branches else Recognition.NEW)
        at_end = [step for step in self._own() if step.after in (path.end, path.answered)]
        if at_end:
            return self._continue(at_end) or Match(Recognition.BRANCHED)
        match = self._other_key(path) or self._altered(path) or self._compacted(path)
        return match or Match(Recognition.BRANCHED if branches else Recognition.NEW)

    def _own(self) -> list[ConversationStep]:
        return [step for step in self.steps if self.key in (None, step.key)]

    def _is_last(self, step: ConversationStep) -> bool:
        return self.key is None or self.latest.get(step.chat, 0) <= step.output

    def _attempts(self, place: str) -> list[ConversationStep]:
        return [step for step in self._own() if step.is_request and step.after == place]

    def _attempt(self, path: ConversationPath, is_repetition: bool) -> Match | None:
        """An earlier attempt of the same request that failed, or that the client says it repeats."""
        attempts = self._attempts(path.request)
        failed = [step for step in attempts if step.state == TurnState.UNANSWERED and self._is_last(step)]
        if failed:
            step = max(failed, key=lambda step: step.output)
            return Match(Recognition.RETRIED, step.chat, step.output)
        repeated = [*(attempts if is_repetition else []), *(self._attempts(path.repeat) if path.repeat else [])]
        if repeated:
            step = max(repeated, key=lambda step: step.output)
            return Match(Recognition.REPEATED, step.chat, step.output)
        return None

    def _tool_loop(self, path: ConversationPath) -> Match | None:
        """The turn whose tool calls this request answers, unless another request has answered them."""
        if not path.tool_calls:
            return None
        taken = {step.output for step in self._attempts(path.request)} if path.request != path.tool_calls else set()
        waiting = [
            step
            for step in self._own()
            if step.after == path.tool_calls and step.output not in taken and self._goes_on(step)
        ]
        step = min(waiting, key=lambda step: (step.state != TurnState.PENDING, step.output), default=None)
        reopens = bool(step and step.state == TurnState.ANSWERED)
        return Match(Recognition.SAME, step.chat, step.output, reopens=reopens) if step else None

    def _goes_on(self, step: ConversationStep) -> bool:
        """Whether a turn can continue: it waits for tool results, or is the chat's last and has an answer.

        Such an answer was a tool call, or is to be corrected.
        """
        return step.state == TurnState.PENDING or (step.state == TurnState.ANSWERED and self._is_last(step))

    def _continue(self, steps: Iterable[ConversationStep]) -> Match | None:
        """The first chat that ends at one of these steps. Chats that are equal up to here are interchangeable."""
        last = [step for step in steps if self._is_last(step)]
        step = min(last, key=lambda step: step.output, default=None)
        return _after(step) if step else None

    def _other_key(self, path: ConversationPath) -> Match | None:
        """The one chat of another key with exactly this history."""
        at_end = [step for step in self.steps if step.after == path.end]
        if len(path.turn_hashes) < MIN_TURNS_ACROSS_KEYS or len({step.output for step in at_end}) != 1:
            return None
        return self._continue(at_end)

    def _altered(self, path: ConversationPath) -> Match | None:
        """The one turn with the same history and question whose answer the client altered, or received only in part."""
        if not path.ends_with_answer:
            return None
        by_output = {step.output: step for step in self._attempts(path.nodes[-2])}
        alone = len(by_output) == 1
        fitting = [
            step
            for step in by_output.values()
            if (alone if step.state == TurnState.UNANSWERED else self.is_altered(step.output))
        ]
        return self._continue(fitting) if len(fitting) == 1 else None

    def _compacted(self, path: ConversationPath) -> Match | None:
        """The one chat that ends with the last turn of the history; the client shortened what was before it."""
        steps = [step for step in self._own() if path.turn_hashes and step.turn_hash == path.turn_hashes[-1]]
        if len({step.output for step in steps}) != 1 or not self._is_last(steps[0]):
            return None
        return Match(Recognition.COMPACTED, steps[0].chat)


def _after(step: ConversationStep) -> Match:
    return Match(Recognition.SAME, step.chat, stopped=None if step.state == TurnState.ANSWERED else step.output)


@dataclass(frozen=True, slots=True)
class Revision:
    """The earlier turns that a request in a chat with an id repeats, and those that it replaces."""

    repeated: frozenset[int] = frozenset()
    replaced: frozenset[int] = frozenset()


def revision(path: ConversationPath, steps: Collection[ConversationStep]) -> Revision:
    """The revision of a chat with these steps.

    Turns that branch off from the request's history are replaced, with all that followed them. A chat's first turn is
    replaced only if another first turn was continued and nothing followed this one: a program may send single messages
    under one id, and none of those was replaced.
    """
    nodes, turn_hashes = set(path.nodes[1:]), set(path.turn_hashes)
    repeated = {step.output for step in steps if step.after in nodes and not step.is_request}
    repeated |= {step.output for step in steps if step.turn_hash in turn_hashes and step.turn_hash}
    exact = {step.before for step in steps if step.output in repeated}
    repeated |= {step.output for step in steps if step.after in nodes and step.before not in exact}  # altered answers
    children = defaultdict(list)
    for step in steps:
        children[step.before].append(step)
    known = [step.after for step in steps if step.after in nodes]
    branches = [step for node in known for step in children[node]]
    branches += [step for step in steps if step.is_request and step.after == path.request]
    if known:
        branches += [step for step in children[path.nodes[0]] if not _continued(step, steps)]
    replaced: set[int] = set()
    while branches:
        step = branches.pop()
        if step.output in repeated or step.output in replaced:
            continue
        replaced.add(step.output)
        branches += [child for own in steps if own.output == step.output for child in children[own.after]]
    return Revision(frozenset(repeated), frozenset(replaced))


def _continued(step: ConversationStep, steps: Iterable[ConversationStep]) -> bool:
    ends = {own.after for own in steps if own.output == step.output}
    return any(other.before in ends for other in steps if other.output != step.output)

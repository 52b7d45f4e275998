"""Find the chat and the turn that a request belongs to: by an id in the request, otherwise by its messages."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import uuid4

from django.conf import settings
from django.db.models import Max, Q, QuerySet

from memorybank import services
from memorybank.services import Bank, Output, PreparedQuery
from projects.models import ConversationNode

from .. import side_calls
from ..messages import ParsedRequest, is_altered_answer
from ..request_identity import CONVERSATION_FIELD, NAMED_CHAT, ChatId, Sender
from . import matching
from .matching import ConversationPath, ConversationStep, Match, Recognition, RecordedSteps, Revision, TurnState

#: Limits the steps that are loaded: a hash that more steps share does not identify a chat.
MAX_CANDIDATES = 500
#: How many of a chat's latest turns are compared with a request that may quote them: clients quote the latest.
MAX_QUOTED_TURNS = 3
NO_REVISION = Revision()
STATES: dict[str, TurnState] = {Output.Status.OK: TurnState.ANSWERED, Output.Status.PENDING: TurnState.PENDING}
#: The columns of a :class:`StepRow`, in its order.
STEP_COLUMNS = (
    "chat_id",
    "output_id",
    "before",
    "after",
    "tail",
    "key_id",
    "output__status",
    "chat__key",
    "chat__private",
)


#: The ids among these chats that the sender may read.
ReadableChats = Callable[[Collection[int]], Collection[int]]


class StepRow(NamedTuple):
    """A recorded step as it is read from the database."""

    chat: int
    output: int
    before: str
    after: str
    tail: str
    key: int | None
    status: str
    chat_key: str
    is_private: bool


STEPS_OF_CHAT = PreparedQuery(
    lambda bank, key: ConversationNode.objects.filter(chat__bank=bank, chat__key=key).values_list(*STEP_COLUMNS)
)


def nodes_of(bank: Any, shared: Q) -> QuerySet[ConversationNode]:
    """The nodes of a bank, given by its id, that share a hash."""
    return ConversationNode.objects.filter(shared).alias(of_bank=services.bank_of_chat("chat")).filter(of_bank=bank)


def _candidates(bank: Any, places: list[Any], last_turn: list[Any]) -> QuerySet[ConversationNode, tuple[Any, ...]]:
    """The bank's newest steps that share a hash, or the last turn, with a request."""
    shared = nodes_of(bank, Q(after__in=places) | Q(tail__in=last_turn))
    return shared.order_by("-pk").values_list(*STEP_COLUMNS)[: MAX_CANDIDATES + len(places)]


CANDIDATES = PreparedQuery(_candidates)


def _live_turns(bank: Any, chats: list[Any]) -> QuerySet[Output, tuple[Any, ...]]:
    """The latest answered or pending turn of each chat."""
    live = services.outputs_of(bank).filter(chat__pk__in=chats, status__in=STATES).order_by()
    return live.values_list("chat").annotate(Max("pk"))


LATEST_TURNS = PreparedQuery(_live_turns)


@dataclass(frozen=True, slots=True)
class TurnLocation:
    """A turn's chat, how the chat was recognised, and the turn's output; ``output`` is None for a new turn.

    ``stopped`` is the output of the previous turn if that has no answer and the client continues from it nevertheless.
    """

    chat_key: str
    recognised: str
    root: str
    path: ConversationPath
    output: int | None = None
    stopped: int | None = None
    is_repetition: bool = False
    reopens: bool = False
    revision: Revision = NO_REVISION
    #: Only for chats with an id. ``repeats_no_turn``: the chat has turns, but the request contains none of them.
    #: ``turns_with_same_history``: the answered turns that follow the same history as the request's question.
    repeats_no_turn: bool = False
    turns_with_same_history: tuple[int, ...] = ()
    #: Whether the request's history, if it has one, is that of its chat.
    has_known_history: bool = True


def locate_turn(
    bank: Bank, sender: Sender, request: ParsedRequest, readable: ReadableChats | None = None
) -> TurnLocation:
    """Locate the turn in progress. Read-only. It continues no private chat that is not ``readable``.

    A conversation that began under one of ``SECRET_KEY_FALLBACKS`` keeps that key, because all hashes of a conversation
    must be made with the same key.
    """
    located = _locate(bank, sender, request, readable, settings.SECRET_KEY)
    for earlier in settings.SECRET_KEY_FALLBACKS:
        if _is_known(bank, sender, located):
            break
        before = _locate(bank, sender, request, readable, earlier)
        if _is_known(bank, sender, before):
            return before
    return located


def _is_known(bank: Bank, sender: Sender, located: TurnLocation) -> bool:
    if sender.chat_id:
        return services.chats_of(bank).filter(key=located.chat_key).exists()
    return located.recognised != Recognition.NEW


def _locate(
    bank: Bank, sender: Sender, request: ParsedRequest, readable: ReadableChats | None, secret: str
) -> TurnLocation:
    root = matching.root_hash(secret, "history", bank.pk, sender.person)
    path = matching.conversation_path(root, request, sender.idempotency_key)
    if sender.chat_id:
        return _locate_in_named_chat(bank, sender, sender.chat_id, request, path, readable, secret)
    candidates = map(StepRow._make, CANDIDATES.rows(bank.pk, path.places, path.turn_hashes[-1:]))
    # A client that names a chat always does, so a request without an id does not continue it.
    rows = _in_readable([row for row in candidates if not row.chat_key.startswith(NAMED_CHAT)], readable)
    steps = _steps(rows)
    match = _match(bank, steps, request, path, sender, key=sender.key_id)
    if match.chat is None:
        key = f"gw-{uuid4().hex}"
        return TurnLocation(key, recognised=match.recognition, root=root, path=path, has_known_history=False)
    return TurnLocation(
        chat_key=next(row.chat_key for row in rows if row.chat == match.chat),
        recognised=match.recognition,
        root=root,
        path=path,
        output=match.output,
        stopped=match.stopped,
        is_repetition=match.recognition == Recognition.REPEATED,
        reopens=match.reopens,
    )


def _in_readable(rows: list[StepRow], readable: ReadableChats | None) -> list[StepRow]:
    """The steps without those of private chats that are not for the sender."""
    private = {row.chat for row in rows if row.is_private}
    closed = private.difference(readable(private)) if private and readable else set[int]()
    return [row for row in rows if row.chat not in closed]


def _locate_in_named_chat(
    bank: Bank,
    sender: Sender,
    chat_id: ChatId,
    request: ParsedRequest,
    path: ConversationPath,
    readable: ReadableChats | None,
    secret: str,
) -> TurnLocation:
    # For a named person, an id means the same chat with every API key of the project; otherwise it is per API key.
    scope = (bank.pk, sender.person) if sender.person else (bank.pk, "", sender.key_id)
    chat_key = chat_id.key(matching.root_hash(secret, "id", *scope))
    rows = list(map(StepRow._make, STEPS_OF_CHAT.rows(bank.pk, chat_key)))
    if len(_in_readable(rows, readable)) < len(rows):
        chat_key = chat_id.key(matching.root_hash(secret, "id", *scope, sender.key_id))
        rows = list(map(StepRow._make, STEPS_OF_CHAT.rows(bank.pk, chat_key)))
    steps = _steps(rows)
    match = _match(bank, steps, request, path, sender, key=None)
    # The upstream keeps a conversation, so a request does not tell its turns again, and none is edited.
    edits = chat_id.one_conversation and chat_id.source != CONVERSATION_FIELD
    revision = matching.revision(path, steps) if edits else NO_REVISION
    revision = replace(revision, replaced=revision.replaced | _summaries(bank, request, path, steps))
    again = [step for step in steps if step.before == path.end and step.state == TurnState.ANSWERED]
    return TurnLocation(
        chat_key=chat_key,
        recognised=chat_id.source,
        root=path.nodes[0],
        path=path,
        output=match.output,
        stopped=match.stopped,
        is_repetition=match.recognition == Recognition.REPEATED,
        reopens=match.reopens,
        revision=revision,
        repeats_no_turn=match.recognition == Recognition.NEW and bool(steps),
        has_known_history=match.recognition not in (Recognition.NEW, Recognition.BRANCHED),
        turns_with_same_history=() if chat_id.one_conversation else tuple({step.output for step in again}),
    )


def chats_of_history(bank: Bank, location: TurnLocation) -> set[int]:
    """The chats that recorded turns of the request's history."""
    path = location.path
    history, turns = path.nodes[1:][-MAX_CANDIDATES:], path.turn_hashes[-MAX_CANDIDATES:]
    shared = nodes_of(bank.pk, Q(after__in=history) | Q(tail__in=turns))
    return set(shared.order_by().values_list("chat", flat=True).distinct()[:MAX_CANDIDATES])


def _summaries(
    bank: Bank, request: ParsedRequest, path: ConversationPath, steps: list[ConversationStep]
) -> frozenset[int]:
    """The chat's latest turns whose answers come back as a summary: the client made those calls, not a person."""
    answered = {step.output for step in steps if step.state == TurnState.ANSWERED}
    repeated = {step.output for step in steps if step.after in path.nodes and not step.is_request}
    unrepeated = sorted(answered - repeated)[-MAX_QUOTED_TURNS:]
    if not unrepeated or max(answered) in repeated or not request.before:
        return frozenset()
    answers = services.outputs_of(bank).filter(pk__in=unrepeated).values_list("pk", "answer")
    return frozenset(pk for pk, answer in answers if side_calls.is_summary(answer, request))


def is_beside_chat(bank: Bank, request: ParsedRequest, location: TurnLocation) -> bool:
    """Whether the request is a side call about the chat that its id names, and not a turn of that chat."""
    if location.repeats_no_turn:
        turns = services.outputs_of(bank).filter(status=Output.Status.OK)
        recent = turns.filter(chat__key=location.chat_key).order_by("-pk").values_list("question", "answer")
        return side_calls.quotes_turn(request, recent[:MAX_QUOTED_TURNS])
    if location.turns_with_same_history and len(request.question.text) >= side_calls.MIN_COMPACTION_CHARACTERS:
        turns = services.outputs_of(bank).filter(status=Output.Status.OK, pk__in=location.turns_with_same_history)
        return side_calls.compacts(request, turns.values_list("question", flat=True))
    return False


def _match(
    bank: Bank,
    steps: list[ConversationStep],
    request: ParsedRequest,
    path: ConversationPath,
    sender: Sender,
    *,
    key: int | None,
) -> Match:
    last_answer = request.before[-1].text if request.before else ""

    def is_altered(output: int) -> bool:
        outputs = services.outputs_of(bank).remembered()
        recorded = outputs.filter(pk=output).values_list("answer", flat=True).first()
        return is_altered_answer(last_answer, recorded or "")

    chats = list({step.chat for step in steps}) if key is not None else []
    latest = dict(LATEST_TURNS.rows(bank.pk, chats)) if chats else {}
    recorded = RecordedSteps(steps, latest, is_altered, key)
    return recorded.match(path, is_repetition=sender.is_repetition)


def _steps(rows: Iterable[StepRow]) -> list[ConversationStep]:
    return [
        ConversationStep(
            chat=row.chat,
            output=row.output,
            before=row.before,
            after=row.after,
            turn_hash=row.tail,
            key=row.key,
            state=STATES.get(row.status, TurnState.UNANSWERED),
        )
        for row in rows
    ]

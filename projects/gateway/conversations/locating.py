"""Find the chat and the turn that a request belongs to: by an id in the request, otherwise by its messages."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import uuid4

from django.conf import settings
from django.db.models import Max, Q, QuerySet

from memorybank import services
from memorybank.services import Bank, Output
from projects.models import ConversationNode

from .. import side_calls
from ..messages import ParsedRequest, is_altered_answer
from ..request_identity import ChatId, Sender
from . import matching
from .matching import (
    ConversationPath,
    ConversationStep,
    Match,
    Recognition,
    RecordedSteps,
    Revision,
    TurnState,
)

#: A place that more steps than this share identifies no chat.
MAX_CANDIDATES = 500
#: The number of a chat's latest turns that are searched in a request that quotes it: clients quote the latest.
MAX_QUOTED_TURNS = 3
NO_REVISION = Revision()
STATES = {Output.Status.OK: TurnState.ANSWERED, Output.Status.PENDING: TurnState.PENDING}


@dataclass(frozen=True, slots=True)
class TurnLocation:
    """Where a turn belongs: its chat, how that was recognised, and which turn of it; ``output`` is None for a new one.

    ``stopped`` is the turn before it that the client goes on from although it has no answer.
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
    #: In a chat with an id: whether it has turns, but the request contains none of them; and the answered turns to
    #: which the request goes back.
    tells_none: bool = False
    asks_again: tuple[int, ...] = ()


def locate_turn(bank: Bank, sender: Sender, request: ParsedRequest) -> TurnLocation:
    """Locate the turn in progress. Read-only.

    A conversation that began under an earlier secret key goes on under it: all hashes of a conversation are of one key.
    """
    located = _locate(bank, sender, request, settings.SECRET_KEY)
    for earlier in settings.SECRET_KEY_FALLBACKS:
        if _is_known(bank, sender, located):
            break
        before = _locate(bank, sender, request, earlier)
        if _is_known(bank, sender, before):
            return before
    return located


def _is_known(bank: Bank, sender: Sender, located: TurnLocation) -> bool:
    if sender.chat_id:
        return services.chats_of(bank).filter(key=located.chat_key).exists()
    return located.recognised != Recognition.NEW


def _locate(bank: Bank, sender: Sender, request: ParsedRequest, secret: str) -> TurnLocation:
    root = matching.root_hash(secret, "history", bank.pk, sender.person)
    path = matching.conversation_path(root, request, sender.idempotency_key)
    if sender.chat_id:
        return _locate_in_named_chat(bank, sender, sender.chat_id, request, path, secret)
    steps = _steps(_candidates(bank, path))
    match = _match(bank, steps, request, path, sender, key=sender.key_id)
    if match.chat is None:
        return TurnLocation(f"gw-{uuid4().hex}", match.recognition, root, path)
    chat_key = services.chats_of(bank).values_list("key", flat=True).get(pk=match.chat)
    repetition = match.recognition == Recognition.REPEATED
    return TurnLocation(chat_key, match.recognition, root, path, match.output, match.stopped, repetition, match.reopens)


def _locate_in_named_chat(
    bank: Bank, sender: Sender, chat_id: ChatId, request: ParsedRequest, path: ConversationPath, secret: str
) -> TurnLocation:
    # A named person has the same chat through every key of the project; without a name, an id is the key's own.
    scope = (bank.pk, sender.person) if sender.person else (bank.pk, "", sender.key_id)
    chat_key = chat_id.key(matching.root_hash(secret, "id", *scope))
    steps = _steps(ConversationNode.objects.filter(chat__bank=bank, chat__key=chat_key))
    match = _match(bank, steps, request, path, sender, key=None)
    revision = matching.revision(path, steps) if chat_id.one_conversation else NO_REVISION
    revision = replace(revision, replaced=revision.replaced | _summaries(bank, request, path, steps))
    again = [step for step in steps if step.before == path.end and step.state == TurnState.ANSWERED]
    return TurnLocation(
        chat_key,
        chat_id.source,
        path.nodes[0],
        path,
        match.output,
        match.stopped,
        match.recognition == Recognition.REPEATED,
        match.reopens,
        revision,
        match.recognition == Recognition.NEW and bool(steps),
        () if chat_id.one_conversation else tuple({step.output for step in again}),
    )


def _summaries(
    bank: Bank, request: ParsedRequest, path: ConversationPath, steps: list[ConversationStep]
) -> frozenset[int]:
    """The chat's latest turns whose answers come back as a summary: they were calls of the client, not of a person."""
    answered = {step.output for step in steps if step.state == TurnState.ANSWERED}
    repeated = {step.output for step in steps if step.after in path.nodes and not step.is_request}
    unrepeated = sorted(answered - repeated)[-MAX_QUOTED_TURNS:]
    if not unrepeated or max(answered) in repeated or not request.before:
        return frozenset()
    answers = services.outputs_of(bank).filter(pk__in=unrepeated).values_list("pk", "answer")
    return frozenset(pk for pk, answer in answers if side_calls.is_summary(answer, request))


def is_beside_chat(bank: Bank, request: ParsedRequest, location: TurnLocation) -> bool:
    """Whether the request is about the chat that its id names, and no turn of it."""
    turns = services.outputs_of(bank).filter(status=Output.Status.OK)
    if location.tells_none:
        recent = turns.filter(chat__key=location.chat_key).order_by("-pk").values_list("question", "answer")
        return side_calls.quotes_turn(request, recent[:MAX_QUOTED_TURNS])
    if location.asks_again and len(request.question.text) >= side_calls.MIN_COMPACTION_CHARACTERS:
        return side_calls.compacts(request, turns.filter(pk__in=location.asks_again).values_list("question", flat=True))
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
    outputs = services.outputs_of(bank)
    last_answer = request.before[-1].text if request.before else ""

    def is_altered(output: int) -> bool:
        recorded = outputs.remembered().filter(pk=output).values_list("answer", flat=True).first()
        return is_altered_answer(last_answer, recorded or "")

    latest = _latest_turns(outputs, {step.chat for step in steps}) if key is not None else {}
    recorded = RecordedSteps(steps, latest, is_altered, key)
    return recorded.match(path, is_repetition=sender.is_repetition)


def _latest_turns(outputs: QuerySet[Output], chats: set[int]) -> Mapping[int, int]:
    """The latest turn of each chat that is answered or may still be."""
    live = outputs.filter(chat__in=chats, status__in=STATES).order_by()
    return dict(live.values_list("chat").annotate(Max("pk"))) if chats else {}


def _candidates(bank: Bank, path: ConversationPath) -> QuerySet[ConversationNode]:
    """Steps of the bank that share a place with this request, or the last turn; the newest ones."""
    shared = Q(after__in=path.places) | Q(tail__in=path.turn_hashes[-1:])
    return ConversationNode.objects.filter(shared, chat__bank=bank).order_by("-pk")[: MAX_CANDIDATES + len(path.places)]


def _steps(rows: QuerySet[ConversationNode]) -> list[ConversationStep]:
    columns = ("chat_id", "output_id", "before", "after", "tail", "key_id", "output__status")
    return [
        ConversationStep(chat, output, before, after, tail, key, STATES.get(status, TurnState.UNANSWERED))
        for chat, output, before, after, tail, key, status in rows.values_list(*columns)
    ]

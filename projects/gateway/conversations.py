"""Find the chat that a request belongs to: by an id in the request, otherwise by its earlier messages."""

from dataclasses import dataclass
from uuid import uuid4

from django.conf import settings
from django.db.models import Q, QuerySet

from memorybank import services
from memorybank.services import Bank, Output

from ..models import GatewayStep
from . import conversation_matching
from .conversation_matching import ConversationPath, ConversationStep, Recognition
from .messages import Message, ParsedRequest
from .request_identity import ChatId

#: A turn that more steps than this share identifies no chat.
MAX_CANDIDATES = 100
UNANSWERED_STATUSES = (Output.Status.ERROR, Output.Status.CANCELLED, Output.Status.STOPPED, Output.Status.BLOCKED)


@dataclass(frozen=True, slots=True)
class TurnLocation:
    """Where a turn belongs: its chat, how that was recognised, its key there, and the turns that it replaces."""

    chat_key: str
    recognised: str
    output_key: str
    root: str
    path: ConversationPath
    abandoned: frozenset[int] = frozenset()


def locate_turn(bank: Bank, key_id: int, person: str, request: ParsedRequest, chat_id: ChatId | None) -> TurnLocation:
    """Locate the turn in progress. Read-only."""
    root = conversation_matching.root_hash(settings.SECRET_KEY, key_id, person)
    path = conversation_matching.conversation_path(root, request.before)
    turn = conversation_matching.extend(path.end, [request.question])[:40]
    chat, recognised = _find_chat(bank, root, request, turn, chat_id)
    if recognised == Recognition.NEW:
        return TurnLocation(chat, recognised, turn, root, path)
    recorded = services.outputs_of(bank).filter(Q(key=turn) | Q(key__startswith=f"{turn}."), chat__key=chat)
    attempts = list(recorded.values_list("pk", "status"))
    answered = {pk for pk, status in attempts if status == Output.Status.OK}
    # A re-asked question has an answer already. It is erased once the new one is there, and its key is not used again.
    key = f"{turn}.{uuid4().hex[:8]}" if answered else turn
    steps = _steps(GatewayStep.objects.filter(chat__bank=bank, chat__key=chat)) if chat and path.recent_nodes else []
    abandoned = conversation_matching.abandoned_outputs(
        path, steps, one_conversation=chat_id is not None and chat_id.one_conversation
    )
    return TurnLocation(chat, recognised, key, root, path, frozenset(abandoned | answered))


def _find_chat(bank: Bank, root: str, request: ParsedRequest, turn: str, chat_id: ChatId | None) -> tuple[str, str]:
    """The chat's key and how it was recognised."""
    if chat_id:
        return chat_id.key(root), chat_id.source
    path = conversation_matching.conversation_path(root, _messages_up_to_last_answer(request))
    chat_pk, recognition = conversation_matching.match_chat(path, _steps(_candidate_steps(bank, path)))
    if chat_pk is not None:
        return services.chats_of(bank).values_list("key", flat=True).get(pk=chat_pk), recognition
    return _new_chat(bank, turn)


def _messages_up_to_last_answer(request: ParsedRequest) -> list[Message]:
    """The messages before the question; during a tool loop, also what the model has answered in this turn."""
    last = max(
        (position for position, message in enumerate(request.since, 1) if message.role == "assistant"), default=0
    )
    return [*request.before, request.question, *request.since[:last]] if last else list(request.before)


def _candidate_steps(bank: Bank, path: ConversationPath) -> QuerySet[GatewayStep]:
    """Steps of the bank that share a part of this conversation, or its last turn."""
    if not path.recent_nodes:
        return GatewayStep.objects.none()
    same_history = Q(after__in=path.recent_nodes) | Q(tail__in=path.turn_hashes[-1:])
    return GatewayStep.objects.filter(same_history, chat__bank=bank)[: MAX_CANDIDATES + len(path.nodes)]


def _new_chat(bank: Bank, turn: str) -> tuple[str, str]:
    """A new chat's key; an existing chat's if it began with this message and holds nothing but failed attempts."""
    key = f"gw-{turn}"
    chat = services.chats_of(bank).filter(key=key).first()
    if chat is None:
        return key, Recognition.NEW
    turns = services.turns_of(chat)
    alone = turns.filter(status__in=UNANSWERED_STATUSES, gateway_steps=None)
    if alone.filter(key=turn).exists() and not turns.exclude(pk__in=alone).exists():
        return key, Recognition.RETRIED
    return f"gw-{uuid4().hex}", Recognition.NEW


def _steps(rows: QuerySet[GatewayStep]) -> list[ConversationStep]:
    return [ConversationStep(*row) for row in rows.values_list("chat_id", "output_id", "before", "after", "tail")]

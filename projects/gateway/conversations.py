"""Which chat of its bank a request belongs to: by an id that it names, else by lineage."""

from dataclasses import dataclass
from uuid import uuid4

from django.conf import settings
from django.db.models import Q, QuerySet

from memorybank import services
from memorybank.services import Bank, Output

from ..models import GatewayStep
from . import conversation_matching
from .conversation_matching import How, Path, Step
from .messages import Asked, Said
from .request_identity import Name

#: Chats that have the same turn, beyond which none of them is meant.
MANY = 100
UNANSWERED = (Output.Status.ERROR, Output.Status.CANCELLED, Output.Status.STOPPED, Output.Status.BLOCKED)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a turn belongs: its chat, how that was recognised, its key there, and the turns that it leaves behind."""

    chat_key: str
    recognised: str
    output_key: str
    first: str
    path: Path
    behind: frozenset[int] = frozenset()


def place(bank: Bank, key_id: int, person: str, asked: Asked, name: Name | None) -> Place:
    """The place of the turn that is under way. Reads, and writes nothing."""
    first = conversation_matching.root(settings.SECRET_KEY, key_id, person)
    path = conversation_matching.path(first, asked.before)
    turn = conversation_matching.linked(path.end, [asked.question])[:40]
    chat, recognised = _chat(bank, first, asked, turn, name)
    if recognised == How.NEW:
        return Place(chat, recognised, turn, first, path)
    known = services.outputs_of(bank).filter(Q(key=turn) | Q(key__startswith=f"{turn}."), chat__key=chat)
    attempts = list(known.values_list("pk", "status"))
    answered = {pk for pk, status in attempts if status == Output.Status.OK}
    # What is asked anew was answered: that answer goes when the new one is there, and its key is not used again.
    key = f"{turn}.{uuid4().hex[:8]}" if answered else turn
    steps = _steps(GatewayStep.objects.filter(chat__bank=bank, chat__key=chat)) if chat and path.looked_for else []
    behind = conversation_matching.left_behind(path, steps, one_conversation=name is not None and name.one_conversation)
    return Place(chat, recognised, key, first, path, frozenset(behind | answered))


def _chat(bank: Bank, first: str, asked: Asked, turn: str, name: Name | None) -> tuple[str, str]:
    """The chat's key and how it was recognised."""
    if name:
        return name.key(first), name.source
    told = conversation_matching.path(first, _up_to_ours(asked))
    found, how = conversation_matching.recognised(told, _steps(_alike(bank, told)))
    if found is not None:
        return services.chats_of(bank).values_list("key", flat=True).get(pk=found), how
    return _new(bank, turn)


def _up_to_ours(asked: Asked) -> list[Said]:
    """What came before; while tools are at work, with what we have answered of this turn."""
    last = max((at for at, said in enumerate(asked.since, 1) if said.role == "assistant"), default=0)
    return [*asked.before, asked.question, *asked.since[:last]] if last else list(asked.before)


def _alike(bank: Bank, told: Path) -> QuerySet[GatewayStep]:
    """Steps of the bank that end a part of this beginning, or are its last turn."""
    if not told.looked_for:
        return GatewayStep.objects.none()
    alike = Q(after__in=told.looked_for) | Q(tail__in=told.tails[-1:])
    return GatewayStep.objects.filter(alike, chat__bank=bank)[: MANY + len(told.nodes)]


def _new(bank: Bank, turn: str) -> tuple[str, str]:
    """A new chat; the one that was begun with just this message, if nobody was answered in it or is about to be."""
    key = f"gw-{turn}"
    chat = services.chats_of(bank).filter(key=key).first()
    if chat is None:
        return key, How.NEW
    turns = services.turns_of(chat)
    alone = turns.filter(status__in=UNANSWERED, gateway_steps=None)
    if alone.filter(key=turn).exists() and not turns.exclude(pk__in=alone).exists():
        return key, How.RETRIED
    return f"gw-{uuid4().hex}", How.NEW


def _steps(rows: QuerySet[GatewayStep]) -> list[Step]:
    return [Step(*row) for row in rows.values_list("chat_id", "output_id", "before", "after", "tail")]

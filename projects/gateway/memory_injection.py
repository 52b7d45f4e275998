"""Add memory to a gateway request, within its budget of time. Blocks on the database."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memorybank import services
from memorybank.exceptions import log_message
from memorybank.services import PromptCount, PromptMemory
from projects.tenancy import people

from ..models import APIKey
from . import request_identity, side_calls
from .conversations.given_notes import find_given_notes, find_notes_of_chat
from .conversations.locating import is_beside_chat, locate_turn
from .conversations.turn import GatewayTurn
from .messages import parse_request
from .protocols import Protocol

logger = logging.getLogger(__name__)
SkipReason = PromptCount.Memory


@dataclass(frozen=True, slots=True)
class MemoryInjection:
    """The body that is sent upstream, with memory or unchanged, and why memory was skipped."""

    body: dict[str, Any]
    turn: GatewayTurn | None = None
    skipped: str = ""

    def headers(self) -> dict[str, str]:
        """The response headers about memory."""
        skipped = {"x-memory-skipped": self.skipped} if self.skipped else {}
        if self.turn is None:
            return {**skipped, "x-memory-turn": f"skipped: {self.skipped}"}
        memory = self.turn.memory
        values = {
            "x-memory-block-tokens": str(memory.block.tokens),
            "x-memory-personal-tokens": str(memory.personal.tokens),
            "x-memory-recalled-tokens": str(memory.recalled.tokens),
            "x-memory-version": str(memory.version),
        }
        return {**values, **skipped}


def read_turn(
    key: APIKey, protocol: Protocol, body: dict[str, Any], headers: Mapping[str, str], received_at: datetime
) -> GatewayTurn | None:
    """Parse the request as a turn of a chat; None for a side call or without a question. No database access."""
    if side_calls.is_declared(body, headers):
        return None
    request, answer = parse_request(protocol.messages(body)), protocol.answer_format(body)
    if request is None or side_calls.is_side_call(answer, request):
        return None
    sender = request_identity.sender_of(key, protocol, body, headers)
    conversation = protocol.conversation(body)
    return GatewayTurn(
        key,
        sender,
        request,
        received_at,
        protocol.continues_prefill,
        answer.forces_tool,
        conversation,
        protocol.system(body),
    )


def without_memory(turn: GatewayTurn, body: dict[str, Any], reason: SkipReason) -> MemoryInjection:
    """Leave the body unchanged for ``reason``; the turn is still recorded."""
    return MemoryInjection(body, replace(turn, skipped=reason), reason)


def inject_memory(turn: GatewayTurn, protocol: Protocol, body: dict[str, Any]) -> MemoryInjection:
    """Add memory to the body. If memory fails for any reason, the body stays unchanged."""
    try:
        return _with_memory(turn, protocol, body)
    except Exception as error:
        logger.error("gateway: memory failed for bank %s: %s", turn.bank.pk, log_message(error))
        return without_memory(turn, body, SkipReason.FAILED)


#: What records a turn; the services load it at first use, which takes longer than memory may take for an answer.
RECORDING = ("record", "complete", "add_messages", "set_aside")


@services.all_banks_entered()
def warm_up() -> None:
    """Load what the first message would wait for. Records only the call of an embedding model, if there is one."""
    import httpx2  # noqa: F401  (the HTTP client for upstreams)

    for name in RECORDING:
        getattr(services, name)
    try:
        if bank := services.all_banks().filter(enabled=True).first():
            services.prompt_memory(bank, question="Which database did we choose last week?")
    except Exception as error:
        logger.warning("gateway: the first message may go without memory: %s", log_message(error))


def _with_memory(turn: GatewayTurn, protocol: Protocol, body: dict[str, Any]) -> MemoryInjection:
    bank, question = turn.bank, turn.request.question
    location = locate_turn(bank, turn.sender, turn.request, turn.readable_chats)
    if is_beside_chat(bank, turn.request, location):
        return without_memory(turn, body, SkipReason.ASIDE)
    turn, asker = replace(turn, location=location), people.enter_as_named(turn.key, turn.sender.person)
    keeps = protocol.continues_stored(body)
    given = find_notes_of_chat(bank, location) if keeps else find_given_notes(bank, location, turn.request)
    memory = services.prompt_memory(
        bank,
        chat_key=location.chat_key,
        question=question.text,
        asker=asker,
        given=list(given.earlier.values()),
        given_now=given.now,
        other_text=turn.other_text,
    )
    # Where the upstream keeps the conversation, it has the notes of earlier questions, too.
    again = () if keeps else zip(given.earlier, memory.earlier, strict=False)
    notes_at = {**dict(again), question.position: memory.recalled}
    for position, notes in notes_at.items():
        if notes.text:
            body = protocol.with_notes(body, position, notes.text)
    # Last: a new system message shifts the positions of the others.
    if system := "\n\n".join(filter(None, [turn.key.project.system_prompt.strip(), memory.system])):
        body = protocol.with_system(body, system)
    added = [memory.system, memory.recalled.text, *(notes.text for notes in memory.earlier)]
    skipped = "" if any(added) else _skip_reason(memory)
    return MemoryInjection(body, replace(turn, memory=memory), skipped)


def _skip_reason(memory: PromptMemory) -> str:
    return SkipReason.NOTHING if memory.is_on else SkipReason.OFF

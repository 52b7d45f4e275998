"""Add memory to a gateway request and record its turn. Blocks on the database."""

import logging
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction

from memorybank import services
from memorybank.exceptions import InvalidInput, log_message
from memorybank.services import Bank, LLMCall, Output, PromptCount, PromptMemory
from projects.chat.titles import title_of

from ..models import APIKey, GatewayStep, GivenWith
from . import conversation_matching, request_identity
from .conversations import TurnLocation, locate_turn
from .messages import ParsedRequest, parse_request
from .protocols import Answer, Protocol
from .request_identity import MAX_NAME_CHARACTERS

logger = logging.getLogger(__name__)
SkipReason = PromptCount.Memory


@dataclass(frozen=True, slots=True)
class GatewayTurn:
    """One request of a chat, with the memory added to it."""

    bank: Bank
    author: str
    actor: str
    request: ParsedRequest
    location: TurnLocation
    memory: PromptMemory


@dataclass(frozen=True, slots=True)
class MemoryInjection:
    """The body that is sent upstream, with memory or unchanged, and why memory was skipped."""

    body: dict[str, Any]
    turn: GatewayTurn | None = None
    skipped: str = ""

    def headers(self) -> dict[str, str]:
        """The response headers about memory."""
        if self.turn is None:
            return {"x-memory-skipped": self.skipped}
        memory, location = self.turn.memory, self.turn.location
        values = {
            "x-memory-block-tokens": str(memory.block.tokens),
            "x-memory-recalled-tokens": str(memory.recalled.tokens),
            "x-memory-version": str(memory.version),
            "x-memory-chat": location.chat_key,
            "x-memory-recognised": location.recognised,
        }
        return {**values, **({"x-memory-skipped": self.skipped} if self.skipped else {})}


def inject_memory(key: APIKey, protocol: Protocol, body: dict[str, Any], headers: Any) -> MemoryInjection:
    """Add memory to the body. If memory fails for any reason, the body stays unchanged."""
    bank = key.project.bank
    try:
        if request_identity.is_memory_off(body, headers):
            return _skip_auxiliary(bank, body)
        request = parse_request(protocol.messages(body))
        if request is None or request_identity.is_auxiliary(protocol.system(body), request):
            return _skip_auxiliary(bank, body)
        return _with_memory(key, protocol, body, request, headers)
    except Exception as error:
        logger.error("gateway: memory failed for bank %s: %s", bank.pk, log_message(error))
        count_failure(bank)
        return MemoryInjection(body, skipped=SkipReason.FAILED)


def _skip_auxiliary(bank: Bank, body: dict[str, Any]) -> MemoryInjection:
    _count(bank, SkipReason.ASIDE)
    return MemoryInjection(body, skipped=SkipReason.ASIDE)


def count_failure(bank: Bank) -> None:
    """Count a failure of memory, which the client does not notice."""
    _count(bank, SkipReason.FAILED)


def _count(bank: Bank, reason: SkipReason) -> None:
    try:
        services.count_prompt(bank, reason)
    except Exception as error:  # the database is what fails
        logger.error("gateway: not counted for bank %s: %s", bank.pk, log_message(error))


def _with_memory(
    key: APIKey, protocol: Protocol, body: dict[str, Any], request: ParsedRequest, headers: Any
) -> MemoryInjection:
    bank, person = key.project.bank, request_identity.person_of(protocol, body, headers)
    location = locate_turn(bank, key.pk, person, request, request_identity.chat_id_of(protocol, body, headers))
    memory = services.prompt_memory(bank, chat_key=location.chat_key, question=request.question.text)
    turn = GatewayTurn(bank, person or key.name[:MAX_NAME_CHARACTERS], key.actor, request, location, memory)
    if system := "\n\n".join(filter(None, [key.project.system_prompt.strip(), memory.block.text])):
        body = protocol.with_system(body, system)
    if memory.recalled.text:
        if protocol.conversation(body):  # the upstream stores this conversation, so the notes would stay in it
            turn = replace(turn, memory=replace(memory, recalled=services.Text()))
        else:
            body = protocol.with_notes(body, request.question.position, memory.recalled.text)
    return MemoryInjection(
        body, turn, "" if turn.memory.block.text or turn.memory.recalled.text else _skip_reason(bank)
    )


def _skip_reason(bank: Bank) -> str:
    return SkipReason.NOTHING if bank.enabled else SkipReason.OFF


def record_question(turn: GatewayTurn) -> Output | None:
    """Record the question before it is answered, and count the prompt. None if it cannot be recorded."""
    bank = turn.bank
    try:
        output = services.record(
            bank,
            chat_key=turn.location.chat_key,
            author=turn.author,
            question=turn.request.question.text,
            status=Output.Status.PENDING,
            key=turn.location.output_key,
        )
        if output.status not in (Output.Status.PENDING, Output.Status.OK):
            output = services.retry_output(bank, output.pk)
        services.keep_prompt(bank, chat_key=turn.location.chat_key, memory=turn.memory)
    except InvalidInput as error:  # too long, or erased: the client still gets its answer
        logger.info("gateway: not recorded for bank %s: %s", bank.pk, error)
        return None
    return output


def record_answer(turn: GatewayTurn, output: Output, answer: Answer, status: str) -> None:
    """Complete the turn with its answer. A turn that calls tools continues and is completed by a later answer."""
    if status == Output.Status.OK and answer.unfinished:
        _store_step(turn, output, answer)
        return
    with transaction.atomic():
        if status == Output.Status.OK:  # the answer's step replaces those of its tool calls
            GatewayStep.objects.filter(output=output, output__status=Output.Status.PENDING).delete()
        completed = _complete(turn, output, answer, status)
        if completed.status != Output.Status.OK:
            return
        _store_step(turn, completed, answer)
        usage = GivenWith(
            output=completed,
            memory_version=turn.memory.version,
            memory_tokens=turn.memory.block.tokens,
            recalled_tokens=turn.memory.recalled.tokens,
            prompt_tokens=answer.prompt_tokens or 0,
            answer_tokens=answer.completion_tokens or 0,
        )
        GivenWith.objects.bulk_create([usage], ignore_conflicts=True)
    _forget_abandoned(turn, completed)


def _complete(turn: GatewayTurn, output: Output, answer: Answer, status: str) -> Output:
    question = turn.request.question
    seen = [question.recorded, *turn.request.tools] if question.recorded else turn.request.tools
    values: dict[str, Any] = {
        "answer": answer.text,
        "status": status,
        "error": answer.error,
        "title": title_of(question.text),
    }
    try:
        return services.complete(turn.bank, output, messages=seen, **values)
    except InvalidInput as error:  # the tool messages are too long or malformed; question and answer are not
        logger.info("gateway: output %s is recorded without its tool messages: %s", output.pk, error)
        return services.complete(turn.bank, output, **values)


def _store_step(turn: GatewayTurn, output: Output, answer: Answer) -> None:
    """Store the conversation's new hash, so that the next request is recognised."""
    if not answer.messages:
        return
    location, request = turn.location, turn.request
    after = conversation_matching.extend(location.path.end, [request.question, *request.since, *answer.messages])
    tail = conversation_matching.turn_hash(location.root, request.question, answer.messages[-1])
    step = GatewayStep(output=output, chat_id=output.chat_id, before=location.path.end, after=after, tail=tail)
    GatewayStep.objects.bulk_create([step], ignore_conflicts=True)


def _forget_abandoned(turn: GatewayTurn, completed: Output) -> None:
    """Erase the turns that the client has undone, edited or re-asked."""
    abandoned = (
        services.turns_of(completed.chat).remembered().filter(pk__in=turn.location.abandoned).exclude(pk=completed.pk)
    )
    for pk in abandoned.values_list("pk", flat=True):
        services.forget(turn.bank, output=pk, actor=turn.actor)


def record_call(
    bank: Bank, purpose: LLMCall.Purpose, answer: Answer, asked_at: datetime, now: datetime, failed: str
) -> None:
    """Record a call in the ledger. ``failed`` is the ledger's outcome of a failure, or ""."""
    services.record_call(
        bank,
        purpose=purpose,
        model=answer.model,
        prompt_tokens=answer.prompt_tokens or 0,
        completion_tokens=answer.completion_tokens or 0,
        asked_at=asked_at,
        ended_at=now,
        failed=failed,
        error=answer.error,
    )

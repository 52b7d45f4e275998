"""Add memory to a gateway request and record its turn. Blocks on the database."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.db import transaction

from memorybank import services
from memorybank.exceptions import InvalidInput, log_message
from memorybank.services import Bank, LLMCall, Output, PromptCount, PromptMemory
from projects.chat.titles import title_of
from projects.tenancy import authentication

from ..models import AnswerContext, APIKey, ConversationNode
from . import conversation_matching, request_identity
from .conversations import TurnLocation, locate_turn
from .messages import ParsedRequest, assistant_message, parse_request
from .protocols import Answer, Protocol
from .request_identity import MAX_NAME_CHARACTERS, Sender

logger = logging.getLogger(__name__)
SkipReason = PromptCount.Memory


@dataclass(frozen=True, slots=True)
class GatewayTurn:
    """One request of a chat, with the memory added to it."""

    bank: Bank
    key: APIKey
    sender: Sender
    request: ParsedRequest
    location: TurnLocation
    memory: PromptMemory
    continues_prefill: bool = False
    #: Whether a tool call may be the whole answer, because the client forces one.
    forces_tool: bool = False


@dataclass(frozen=True, slots=True)
class RecordedQuestion:
    """What became of a turn's question: its output, or why there is none. ``set_aside`` counts turns it replaces."""

    turn: GatewayTurn
    output: Output | None = None
    skipped: str = ""
    set_aside: int = 0

    def headers(self) -> dict[str, str]:
        """The response headers about the turn."""
        location = self.turn.location
        became = "repeated" if location.is_repetition else "recorded"
        values = {
            "x-memory-turn": f"skipped: {self.skipped}" if self.skipped else became,
            "x-memory-chat": location.chat_key,
            "x-memory-recognised": location.recognised,
        }
        return {**values, **({"x-memory-set-aside": str(self.set_aside)} if self.set_aside else {})}


@dataclass(frozen=True, slots=True)
class MemoryInjection:
    """The body that is sent upstream, with memory or unchanged, and why memory was skipped."""

    body: dict[str, Any]
    turn: GatewayTurn | None = None
    skipped: str = ""

    def headers(self) -> dict[str, str]:
        """The response headers about memory."""
        if self.turn is None:
            return {"x-memory-skipped": self.skipped, "x-memory-turn": f"skipped: {self.skipped}"}
        memory = self.turn.memory
        values = {
            "x-memory-block-tokens": str(memory.block.tokens),
            "x-memory-recalled-tokens": str(memory.recalled.tokens),
            "x-memory-version": str(memory.version),
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
    bank, sender = key.project.bank, request_identity.sender_of(key.pk, protocol, body, headers)
    location = locate_turn(bank, sender, request)
    memory = services.prompt_memory(bank, chat_key=location.chat_key, question=request.question.text)
    forces_tool = protocol.forces_tool(body)
    turn = GatewayTurn(bank, key, sender, request, location, memory, protocol.continues_prefill, forces_tool)
    if memory.recalled.text:
        if protocol.conversation(body):  # the upstream stores this conversation, so the notes would stay in it
            turn = replace(turn, memory=replace(memory, recalled=services.Text()))
        else:
            body = protocol.with_notes(body, request.question.position, memory.recalled.text)
    # Last: a new system message shifts the positions of the others.
    if system := "\n\n".join(filter(None, [key.project.system_prompt.strip(), memory.block.text])):
        body = protocol.with_system(body, system)
    return MemoryInjection(
        body, turn, "" if turn.memory.block.text or turn.memory.recalled.text else _skip_reason(bank)
    )


def _skip_reason(bank: Bank) -> str:
    return SkipReason.NOTHING if bank.enabled else SkipReason.OFF


def record_question(turn: GatewayTurn) -> RecordedQuestion:
    """Record the question while the upstream works, and count the prompt.

    The turn is located again under the bank's lock: of requests that arrive together, only one continues a chat.
    """
    bank = turn.bank
    try:
        with transaction.atomic():
            services.lock_bank(bank)
            turn = replace(turn, location=locate_turn(bank, turn.sender, turn.request))
            location = turn.location
            if location.stopped:
                _complete_stopped(turn, location.stopped)
            output = _question_output(turn)
            path = location.path
            places = {path.question, path.request, path.repeat} if output.pk != location.output else {path.request}
            _store_steps(turn, output, dict.fromkeys(filter(None, places), ""))
            services.keep_prompt(bank, chat_key=location.chat_key, memory=turn.memory)
            replaced = services.outputs_of(bank).remembered().filter(pk__in=location.revision.replaced, set_aside=False)
            return RecordedQuestion(turn, output, set_aside=replaced.count())
    except InvalidInput as error:  # too long, or erased: the client still gets its answer
        logger.info("gateway: not recorded for bank %s: %s", bank.pk, error)
        return RecordedQuestion(turn, skipped="refused")


def _question_output(turn: GatewayTurn) -> Output:
    """The turn's output: a new one, or the one that the request continues, retries or repeats."""
    location = turn.location
    if location.output is None:
        return services.record(
            turn.bank,
            chat_key=location.chat_key,
            author=_author(turn),
            question=turn.request.question.text,
            status=Output.Status.PENDING,
            key=uuid4().hex,
        )
    output = services.outputs_of(turn.bank).get(pk=location.output)
    if location.reopens:
        return services.reopen_output(turn.bank, output.pk) or output
    if output.status in (Output.Status.PENDING, Output.Status.OK):
        return output
    return services.retry_output(turn.bank, output.pk)


def _author(turn: GatewayTurn) -> str:
    """The person that the request names, as the key may record them; otherwise the key."""
    person = turn.sender.person
    return authentication.author_of(turn.key, {person})[person] if person else turn.key.name[:MAX_NAME_CHARACTERS]


def _complete_stopped(turn: GatewayTurn, pk: int) -> None:
    """Complete a turn that broke off with the part of its answer that the client goes on from."""
    last = turn.request.before[-1]
    part = last.text if last.role == "assistant" else ""
    stopped = services.outputs_of(turn.bank).select_related("chat").get(pk=pk)
    services.complete(turn.bank, stopped, answer=part, title=title_of(stopped.question))


def record_answer(recorded: RecordedQuestion, answer: Answer, status: str) -> None:
    """Complete the turn with its answer. A turn that calls tools continues and is completed by a later answer."""
    turn, output = recorded.turn, recorded.output
    if output is None:
        return
    answer = _with_prefill(turn, answer)
    if status == Output.Status.OK and answer.unfinished and not turn.forces_tool:
        _store_answer_steps(turn, output, answer)
        return
    path = turn.location.path
    with transaction.atomic():
        if status == Output.Status.OK:  # the answer's step replaces those of its tool calls
            steps = ConversationNode.objects.filter(output=output, output__status=Output.Status.PENDING)
            steps.exclude(after__in=[path.question, path.request, path.repeat]).delete()
        completed = _complete(turn, output, answer, status)
        _store_answer_steps(turn, completed, answer)
        if completed.status != Output.Status.OK or status != Output.Status.OK:
            return
        services.set_aside(turn.bank, turn.location.revision.replaced - {completed.pk})
        services.bring_back(turn.bank, turn.location.revision.repeated)
        usage = AnswerContext(
            output=completed,
            memory_version=turn.memory.version,
            memory_tokens=turn.memory.block.tokens,
            recalled_tokens=turn.memory.recalled.tokens,
            prompt_tokens=answer.prompt_tokens or 0,
            answer_tokens=answer.completion_tokens or 0,
        )
        AnswerContext.objects.bulk_create([usage], ignore_conflicts=True)


def _with_prefill(turn: GatewayTurn, answer: Answer) -> Answer:
    """The answer with the beginning that the client wrote, if the upstream continues it."""
    prefill = turn.request.prefill
    if not (turn.continues_prefill and prefill and answer.messages):
        return answer
    first, *others = answer.messages
    whole = assistant_message(f"{prefill.text}{first.text}", first.recorded.get("tool_calls", []))
    return replace(answer, messages=[whole, *others])


def _complete(turn: GatewayTurn, output: Output, answer: Answer, status: str) -> Output:
    question, seen = turn.request.question, turn.request.between
    values: dict[str, Any] = {
        "answer": answer.text or answer.arguments,
        "status": status,
        "error": answer.error,
        "title": title_of(question.text),
    }
    try:
        return services.complete(turn.bank, output, messages=seen, **values)
    except InvalidInput as error:  # the tool messages are too long or malformed; question and answer are not
        logger.info("gateway: output %s is recorded without its tool messages: %s", output.pk, error)
        return services.complete(turn.bank, output, **values)


def _store_answer_steps(turn: GatewayTurn, output: Output, answer: Answer) -> None:
    """Store where the conversation is after the answer, in every form in which the client may send it back."""
    root, path, request = turn.location.root, turn.location.path, turn.request
    places: dict[str, str] = {}
    for messages in filter(None, [answer.messages, *answer.alternatives]):
        tail = conversation_matching.turn_hash(root, request.question, messages[-1])
        places[conversation_matching.extend(root, path.request, messages)] = tail
        if request.prefill:
            places[conversation_matching.extend(root, path.request, [request.prefill, *messages])] = tail
        if messages[-1].item_id:
            places[conversation_matching.item_node(root, messages[-1].item_id)] = tail
    _store_steps(turn, output, places)


def _store_steps(turn: GatewayTurn, output: Output, places: Mapping[str, str]) -> None:
    """Store steps of a turn: hashes of the conversation, each with the turn's hash if it follows an answer."""
    before, key = turn.location.path.end, turn.sender.key_id
    steps = [
        ConversationNode(output=output, chat_id=output.chat_id, before=before, after=after, tail=tail, key_id=key)
        for after, tail in places.items()
    ]
    ConversationNode.objects.bulk_create(steps, ignore_conflicts=True)


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

"""A turn that passes through: what it is given of memory, and what is recorded of it. Blocks on the database."""

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
from .conversations import Place, place
from .messages import Asked, asked
from .protocols import Answer, Protocol
from .request_identity import MOST

logger = logging.getLogger(__name__)
Reason = PromptCount.Memory


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of a chat, with what memory gives it."""

    bank: Bank
    author: str
    actor: str
    asked: Asked
    place: Place
    memory: PromptMemory


@dataclass(frozen=True, slots=True)
class Given:
    """What is sent upstream: the body as it came, or with memory; and why it has none."""

    body: dict[str, Any]
    turn: Turn | None = None
    skipped: str = ""

    def headers(self) -> dict[str, str]:
        """What an answer says of memory."""
        if self.turn is None:
            return {"x-memory-skipped": self.skipped}
        memory, place_ = self.turn.memory, self.turn.place
        told = {
            "x-memory-block-tokens": str(memory.block.tokens),
            "x-memory-recalled-tokens": str(memory.recalled.tokens),
            "x-memory-version": str(memory.version),
            "x-memory-chat": place_.chat_key,
            "x-memory-recognised": place_.recognised,
        }
        return {**told, **({"x-memory-skipped": self.skipped} if self.skipped else {})}


def given(key: APIKey, protocol: Protocol, body: dict[str, Any], headers: Any) -> Given:
    """The body with memory. If memory fails, whyever, it is the body as it came."""
    bank = key.project.bank
    try:
        if request_identity.is_off(body, headers):
            return _aside(bank, body)
        said = asked(protocol.said(body))
        if said is None or request_identity.is_auxiliary(protocol.system(body), said):
            return _aside(bank, body)
        return _with_memory(key, protocol, body, said, headers)
    except Exception as error:
        logger.error("gateway: memory failed for bank %s: %s", bank.pk, log_message(error))
        count_failure(bank)
        return Given(body, skipped=Reason.FAILED)


def _aside(bank: Bank, body: dict[str, Any]) -> Given:
    _count(bank, Reason.ASIDE)
    return Given(body, skipped=Reason.ASIDE)


def count_failure(bank: Bank) -> None:
    """Memory failed: seen in the figures, not by who asked."""
    _count(bank, Reason.FAILED)


def _count(bank: Bank, reason: Reason) -> None:
    try:
        services.count_prompt(bank, reason)
    except Exception as error:  # the database is what fails
        logger.error("gateway: not counted for bank %s: %s", bank.pk, log_message(error))


def _with_memory(key: APIKey, protocol: Protocol, body: dict[str, Any], said: Asked, headers: Any) -> Given:
    bank, person = key.project.bank, request_identity.person_of(protocol, body, headers)
    where = place(bank, key.pk, person, said, request_identity.name_of(protocol, body, headers))
    memory = services.prompt_memory(bank, chat_key=where.chat_key, question=said.question.text)
    turn = Turn(bank, person or key.name[:MOST], key.actor, said, where, memory)
    if system := "\n\n".join(filter(None, [key.project.system_prompt.strip(), memory.block.text])):
        body = protocol.with_system(body, system)
    if memory.recalled.text:
        if protocol.conversation(body):  # the upstream keeps what is said there: notes would stay in it
            turn = replace(turn, memory=replace(memory, recalled=services.Text()))
        else:
            body = protocol.with_notes(body, said.question.at, memory.recalled.text)
    return Given(body, turn, "" if turn.memory.block.text or turn.memory.recalled.text else _why_not(bank))


def _why_not(bank: Bank) -> str:
    return Reason.NOTHING if bank.enabled else Reason.OFF


def begin(turn: Turn) -> Output | None:
    """Record the question, before it is answered, and count the prompt. None if it cannot be recorded."""
    bank = turn.bank
    try:
        output = services.record(
            bank,
            chat_key=turn.place.chat_key,
            author=turn.author,
            question=turn.asked.question.text,
            status=Output.Status.PENDING,
            key=turn.place.output_key,
        )
        if output.status not in (Output.Status.PENDING, Output.Status.OK):
            output = services.retry_output(bank, output.pk)
        services.keep_prompt(bank, chat_key=turn.place.chat_key, memory=turn.memory)
    except InvalidInput as error:  # too long, or erased: the answer is the client's all the same
        logger.info("gateway: not recorded for bank %s: %s", bank.pk, error)
        return None
    return output


def end(turn: Turn, output: Output, answer: Answer, status: str) -> None:
    """Complete the turn with what was answered. One that asks for tools goes on, and is completed by a later answer."""
    if status == Output.Status.OK and answer.unfinished:
        _keep_step(turn, output, answer)
        return
    with transaction.atomic():
        if status == Output.Status.OK:  # the answer's own step takes the place of those of its calls of tools
            GatewayStep.objects.filter(output=output, output__status=Output.Status.PENDING).delete()
        done = _completed(turn, output, answer, status)
        if done.status != Output.Status.OK:
            return
        _keep_step(turn, done, answer)
        with_ = GivenWith(
            output=done,
            memory_version=turn.memory.version,
            memory_tokens=turn.memory.block.tokens,
            recalled_tokens=turn.memory.recalled.tokens,
            prompt_tokens=answer.prompt_tokens or 0,
            answer_tokens=answer.completion_tokens or 0,
        )
        GivenWith.objects.bulk_create([with_], ignore_conflicts=True)
    _leave_behind(turn, done)


def _completed(turn: Turn, output: Output, answer: Answer, status: str) -> Output:
    question = turn.asked.question
    seen = [question.kept, *turn.asked.tools] if question.kept else turn.asked.tools
    told: dict[str, Any] = {
        "answer": answer.text,
        "status": status,
        "error": answer.error,
        "title": title_of(question.text),
    }
    try:
        return services.complete(turn.bank, output, messages=seen, **told)
    except InvalidInput as error:  # what tools said is too long, or too odd: question and answer are not
        logger.info("gateway: output %s is kept without what tools said: %s", output.pk, error)
        return services.complete(turn.bank, output, **told)


def _keep_step(turn: Turn, output: Output, answer: Answer) -> None:
    """Where the conversation is now, for whoever goes on with it."""
    if not answer.said:
        return
    where, said = turn.place, turn.asked
    after = conversation_matching.linked(where.path.end, [said.question, *said.since, *answer.said])
    tail = conversation_matching.tail(where.first, said.question, answer.said[-1])
    step = GatewayStep(output=output, chat_id=output.chat_id, before=where.path.end, after=after, tail=tail)
    GatewayStep.objects.bulk_create([step], ignore_conflicts=True)


def _leave_behind(turn: Turn, done: Output) -> None:
    """What the client has undone, edited or asked anew is no memory any more."""
    behind = services.turns_of(done.chat).remembered().filter(pk__in=turn.place.behind).exclude(pk=done.pk)
    for pk in behind.values_list("pk", flat=True):
        services.forget(turn.bank, output=pk, actor=turn.actor)


def enter(bank: Bank, purpose: LLMCall.Purpose, answer: Answer, asked_at: datetime, now: datetime, failed: str) -> None:
    """Write a call into the ledger. ``failed`` is how, as the ledger calls it, or ""."""
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

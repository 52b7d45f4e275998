"""Record a turn of the gateway: its question while the upstream works, then its answer. Blocks on the database."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Bank, Output, PromptCount
from projects.chat.titles import title_of
from projects.tenancy import authentication, people

from ..models import AnswerContext, ConversationNode
from .conversations import TurnLocation, is_beside_chat, locate_turn, matching
from .memory_injection import GatewayTurn
from .messages import assistant_message
from .protocols import Answer
from .request_identity import MAX_NAME_CHARACTERS

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RecordedQuestion:
    """What became of a turn's question: its output, or why there is none. ``set_aside`` counts turns it replaces."""

    turn: GatewayTurn
    location: TurnLocation
    output: Output | None = None
    skipped: str = ""
    set_aside: int = 0

    def headers(self) -> dict[str, str]:
        """The response headers about the turn."""
        location = self.location
        became = "repeated" if location.is_repetition else "recorded"
        values = {
            "x-memory-turn": f"skipped: {self.skipped}" if self.skipped else became,
            "x-memory-chat": location.chat_key,
            "x-memory-recognised": location.recognised,
        }
        return {**values, **({"x-memory-set-aside": str(self.set_aside)} if self.set_aside else {})}


def record_question(turn: GatewayTurn, *, may_exist: bool = False) -> RecordedQuestion:
    """Record the question while the upstream works, and count the prompt.

    The turn is located again under the bank's lock: of requests that arrive together, only one continues a chat.
    ``may_exist`` if an earlier call may have recorded it although it failed.
    """
    bank = turn.bank
    with transaction.atomic():
        services.lock_bank(bank)
        known = services.outputs_of(bank).filter(key=turn.key_in_chat).select_related("chat") if may_exist else None
        location = locate_turn(bank, turn.sender, turn.request)
        if known and (output := known.first()):
            return RecordedQuestion(turn, replace(location, chat_key=output.chat.key), output)
        if is_beside_chat(bank, turn.request, location):
            count_prompt(bank, PromptCount.Memory.ASIDE, turn.received_at)
            return RecordedQuestion(turn, location, skipped=PromptCount.Memory.ASIDE)
        try:
            with transaction.atomic():
                return _record_at(location, turn)
        except InvalidInput as error:  # too long, or erased: the client still gets its answer
            logger.info("gateway: not recorded for bank %s: %s", bank.pk, error)
            return RecordedQuestion(turn, location, skipped="refused")


def _record_at(location: TurnLocation, turn: GatewayTurn) -> RecordedQuestion:
    if location.stopped:
        _complete_stopped(turn, location.stopped)
    output = _question_output(turn, location)
    recorded = RecordedQuestion(turn, location, output, set_aside=_count_set_aside(turn.bank, location))
    path = location.path
    places = {path.question, path.request, path.repeat} if output.pk != location.output else {path.request}
    _store_steps(recorded, dict.fromkeys(filter(None, places), ""))
    _count_prompt(turn, location)
    return recorded


def _count_set_aside(bank: Bank, location: TurnLocation) -> int:
    replaced = location.revision.replaced
    return services.outputs_of(bank).remembered().filter(pk__in=replaced, set_aside=False).count() if replaced else 0


def _count_prompt(turn: GatewayTurn, location: TurnLocation) -> None:
    if turn.skipped:
        count_prompt(turn.bank, turn.skipped, turn.received_at)
    else:
        services.keep_prompt(turn.bank, chat_key=location.chat_key, memory=turn.memory, now=turn.received_at)


def _question_output(turn: GatewayTurn, location: TurnLocation) -> Output:
    """The turn's output: a new one, or the one that the request continues, retries or repeats."""
    if location.output is None:
        return services.record(
            turn.bank,
            chat_key=location.chat_key,
            author=_author(turn),
            question=turn.request.question.text,
            status=Output.Status.PENDING,
            created_at=turn.received_at,
            key=turn.key_in_chat,
            readers=_readers(turn),
            begun_by=turn.key.program,
        )
    output = services.outputs_of(turn.bank).get(pk=location.output)
    if location.reopens:
        return services.reopen_output(turn.bank, output.pk) or output
    if output.status in (Output.Status.PENDING, Output.Status.OK):
        return output
    return services.retry_output(turn.bank, output.pk)


def _readers(turn: GatewayTurn) -> list[str]:
    """Whom a new chat is for, if new chats are private: the member whom the request names."""
    person = people.asker_for(turn.key, turn.sender.person).person
    return [person] if person else []


def _author(turn: GatewayTurn) -> str:
    """The person that the request names, as the key may record them; otherwise the key."""
    person = turn.sender.person
    return authentication.author_of(turn.key, {person})[person] if person else turn.key.name[:MAX_NAME_CHARACTERS]


def _complete_stopped(turn: GatewayTurn, pk: int) -> None:
    """Complete a turn that broke off with the part of its answer that the client goes on from."""
    last = turn.request.before[-1]
    part = last.text if last.role == "assistant" else ""
    stopped = services.outputs_of(turn.bank).select_related("chat").get(pk=pk)
    quoted = turn.memory.quoted(part, question=stopped.question)
    services.complete(turn.bank, stopped, answer=part, title=title_of(stopped.question), private_words=quoted)


def record_answer(recorded: RecordedQuestion, answer: Answer, status: str) -> None:
    """Complete the turn with its answer. A turn that calls tools continues and is completed by a later answer."""
    turn, output, location = recorded.turn, recorded.output, recorded.location
    if output is None:
        return
    answer = _with_prefill(turn, answer)
    if status == Output.Status.OK and answer.unfinished and not turn.forces_tool:
        services.keep_quoted(output, _quoted(turn, answer))
        _store_answer_steps(recorded, answer)
        return
    path = location.path
    with transaction.atomic():
        if status == Output.Status.OK and (turn.request.since or location.output):
            # The answer's step replaces those of its tool calls.
            steps = ConversationNode.objects.filter(output=output, output__status=Output.Status.PENDING)
            steps.exclude(after__in=[path.question, path.request, path.repeat]).delete()
        completed = _complete(turn, output, answer, status)
        _store_answer_steps(recorded, answer)
        if completed.status != Output.Status.OK or status != Output.Status.OK:
            return
        if replaced := location.revision.replaced - {completed.pk}:
            services.set_aside(turn.bank, replaced)
        if location.revision.repeated:
            services.bring_back(turn.bank, location.revision.repeated)
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
        "private_words": _quoted(turn, answer),
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


def _quoted(turn: GatewayTurn, answer: Answer) -> set[str]:
    """The words that the answer and the messages before it quote from what its asker alone was told."""
    seen = json.dumps(turn.request.between, ensure_ascii=False, default=str)
    said = " ".join([answer.text, answer.arguments, seen])
    return turn.memory.quoted(said, question=turn.request.question.text)


def _store_answer_steps(recorded: RecordedQuestion, answer: Answer) -> None:
    """Store where the conversation is after the answer, in every form in which the client may send it back."""
    root, path, request = recorded.location.root, recorded.location.path, recorded.turn.request
    places: dict[str, str] = {}
    for messages in filter(None, [answer.messages, *answer.alternatives]):
        tail = matching.turn_hash(root, request.question, messages[-1])
        places[matching.extend(root, path.request, messages)] = tail
        if request.prefill:
            places[matching.extend(root, path.request, [request.prefill, *messages])] = tail
        if messages[-1].item_id:
            places[matching.item_node(root, messages[-1].item_id)] = tail
    _store_steps(recorded, places)


def _store_steps(recorded: RecordedQuestion, places: Mapping[str, str]) -> None:
    """Store steps of a turn: hashes of the conversation, each with the turn's hash if it follows an answer."""
    output, before, key = recorded.output, recorded.location.path.end, recorded.turn.sender.key_id
    assert output is not None
    values = {"output": output, "chat_id": output.chat_id, "before": before, "key_id": key}
    steps = [ConversationNode(after=after, tail=tail, **values) for after, tail in places.items()]
    for step in steps:
        if step.after == recorded.location.path.question:
            notes = recorded.turn.memory.recalled.lines
            step.notes = [[line.citations[0], line.place] for line in notes]
    ConversationNode.objects.bulk_create(steps, ignore_conflicts=True)


def count_prompt(bank: Bank, reason: str, now: datetime) -> None:
    """Count a prompt that memory added nothing to."""
    services.count_prompt(bank, PromptCount.Memory(reason), now=now)

"""Record a turn of the gateway: its question while the upstream works, then its answer. Blocks on the database."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Bank, Output, PromptCount, title_of
from projects.tenancy import authentication, people

from ..models import AnswerContext, ConversationNode
from .conversations import matching
from .conversations.locating import TurnLocation, chats_of_history, is_beside_chat, locate_turn
from .conversations.turn import GatewayTurn
from .messages import GatewayMessage, assistant_message, call_reference
from .protocols import Answer
from .request_identity import MAX_IDENTITY_CHARACTERS

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RecordedQuestion:
    """A turn's recorded question: its output, or why there is none. ``set_aside`` counts the turns that it replaces."""

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

    The turn is located again under the bank's lock, so that only one of several simultaneous requests continues a chat.
    ``may_exist``: an earlier attempt may have recorded the question although it seemed to fail.
    """
    bank = turn.bank
    with transaction.atomic(savepoint=False):  # if it fails, so does its whole piece of the spool
        services.lock_bank(bank)
        location = locate_turn(bank, turn.sender, turn.request, turn.readable_chats)
        if may_exist and (known := _recorded(turn, location)):
            return known
        if is_beside_chat(bank, turn.request, location):
            count_prompt(bank, PromptCount.Memory.ASIDE, turn.received_at)
            return RecordedQuestion(turn, location, skipped=PromptCount.Memory.ASIDE)
        try:
            return _record_at(location, turn)
        except InvalidInput as error:  # too long, or erased: the client still gets its answer
            logger.info("gateway: not recorded for bank %s: %s", bank.pk, error)
            return RecordedQuestion(turn, location, skipped="refused")


def _recorded(turn: GatewayTurn, location: TurnLocation) -> RecordedQuestion | None:
    """The question as an earlier attempt recorded it: by its output's key, or by the node of a turn that goes on."""
    own = Q(key=turn.key_in_chat) | Q(conversation_nodes__after=turn.key_in_chat)
    output = services.outputs_of(turn.bank).filter(own).select_related("chat").first()
    if output is None:
        return None
    repeats = location.is_repetition and output.key != turn.key_in_chat  # a new turn does not repeat itself
    location = replace(location, chat_key=output.chat.key, output=output.pk, is_repetition=repeats)
    return RecordedQuestion(turn, location, output)


def _record_at(location: TurnLocation, turn: GatewayTurn) -> RecordedQuestion:
    if location.stopped:
        _complete_stopped(turn, location.stopped)
    output = _question_output(turn, location)
    if turn.request.before and not location.has_known_history:
        services.continue_from(output, chats_of_history(turn.bank, location))
    recorded = RecordedQuestion(turn, location, output, set_aside=_count_set_aside(turn.bank, location))
    path = location.path
    is_new = output.pk != location.output
    places = {path.question, path.request, path.repeat} if is_new else {path.request, turn.key_in_chat}
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
        services.record_sent_prompt(turn.bank, chat_key=location.chat_key, memory=turn.memory, now=turn.received_at)


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
            key_is_fingerprint=True,
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
    """The readers of a new chat, if new chats are private: the member that the request names, if any."""
    person = people.enter_as_named(turn.key, turn.sender.person).person
    return [person] if person else []


def _author(turn: GatewayTurn) -> str:
    """The author: the person that the request names, as the key may record them, or else the name of the key."""
    person = turn.sender.person
    return authentication.author_of(turn.key, {person})[person] if person else turn.key.name[:MAX_IDENTITY_CHARACTERS]


def _complete_stopped(turn: GatewayTurn, pk: int) -> None:
    """Complete an interrupted turn with the part of its answer that the client continues from."""
    last = turn.request.before[-1]
    if last.reference:
        return  # the upstream has the part, or is still working on it
    part = last.text if last.role == "assistant" else ""
    stopped = services.outputs_of(turn.bank).select_related("chat").get(pk=pk)
    quotes = turn.memory.quoted(services.written_text(part), question=stopped.question)
    services.complete(turn.bank, stopped, answer=part, title=title_of(stopped.question), quotes=quotes)


def record_answer(recorded: RecordedQuestion, answer: Answer, status: str) -> None:
    """Complete the turn with its answer. A turn that calls tools continues and is completed by a later answer."""
    turn, output, location = recorded.turn, recorded.output, recorded.location
    if output is None:
        return
    answer = _with_prefill(turn, answer)
    if status == Output.Status.OK and answer.unfinished and not (turn.forces_tool and not answer.in_background):
        services.store_quotes(output, _quotes(turn, answer, output))
        stored = answer.stored_id and not location.is_repetition  # the next request need not tell its messages again
        if stored and not _has_step(output, matching.item_node(location.root, answer.stored_id)):
            calls = [message.recorded for message in answer.messages if message.has_tool_calls]
            _add_messages(turn, output, [*(turn.request.between if turn.request.question_is_stored else []), *calls])
        _store_answer_steps(recorded, answer)
        return
    path = location.path
    with transaction.atomic(savepoint=False):
        if status == Output.Status.OK and (turn.request.since or location.output):
            # The answer's step replaces those of its tool calls.
            steps = ConversationNode.objects.filter(output=output, output__status=Output.Status.PENDING)
            own = [path.question, path.request, path.repeat, turn.key_in_chat]
            steps.exclude(after__in=own).delete()
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
            model=answer.model[:200],
            prompt_tokens=answer.prompt_tokens or 0,
            answer_tokens=answer.completion_tokens or 0,
        )
        services.insert([usage], ignore_conflicts=True)


def record_stored_answer(bank: Bank, output: Output | None, answer: Answer) -> None:
    """Record an answer that the upstream made in the background, when a client asks for it."""
    if output is None or output.status == Output.Status.OK or answer.unfinished:
        return
    status = Output.Status.CANCELLED if answer.state == "cancelled" else Output.Status.OK
    status = Output.Status.ERROR if answer.error else status
    values: dict[str, Any] = {"answer": answer.text, "error": answer.error, "title": title_of(output.question)}
    services.complete(bank, output, status=status, **values)


def _with_prefill(turn: GatewayTurn, answer: Answer) -> Answer:
    """The answer with the beginning that the client wrote, if the upstream continues it."""
    prefill = turn.request.prefill
    if not (turn.continues_prefill and prefill and answer.messages):
        return answer
    first, *others = answer.messages
    whole = assistant_message(f"{prefill.text}{first.text}", first.recorded.get("tool_calls", []))
    return replace(answer, messages=[whole, *others])


def _complete(turn: GatewayTurn, output: Output, answer: Answer, status: str) -> Output:
    seen = turn.request.between
    if turn.request.question_is_stored:
        if status == Output.Status.OK:  # after a failure, the client sends them again
            _add_messages(turn, output, seen)
        seen = []
    values: dict[str, Any] = {
        "quotes": _quotes(turn, answer, output),
        "answer": answer.text or answer.arguments,
        "status": status,
        "error": answer.error,
        "title": title_of(output.question),
    }
    try:
        return services.complete(turn.bank, output, messages=seen, **values)
    except InvalidInput as error:  # the tool messages are too long or malformed; question and answer are not
        logger.info("gateway: output %s is recorded without its tool messages: %s", output.pk, error)
        return services.complete(turn.bank, output, **values)


def _add_messages(turn: GatewayTurn, output: Output, messages: Sequence[dict[str, Any]]) -> None:
    try:
        services.add_messages(turn.bank, output, messages)
    except InvalidInput as error:  # too long or malformed
        logger.info("gateway: output %s is recorded without tool messages: %s", output.pk, error)


def _quotes(turn: GatewayTurn, answer: Answer, output: Output) -> services.Quotes:
    """The parts of the given memory that the answer and the turn's messages repeat; all, if the answer comes later."""
    memory = turn.memory
    if turn.skipped and turn.sender.person:  # the client may have given the model some of it nevertheless
        asker, chat = people.enter_as_named(turn.key, turn.sender.person), output.chat.key
        read = services.prompt_memory(turn.bank, chat_key=chat, asker=asker, other_text=turn.other_text)
        memory = replace(memory, read_words=read.read_words)
    unknown = [memory.system, memory.recalled.text] if answer.in_background else []
    said = services.written_text(answer.text, [answer.arguments, turn.seen, *unknown])
    return memory.quoted(said, question=turn.request.question.text)


def _store_answer_steps(recorded: RecordedQuestion, answer: Answer) -> None:
    """Store the conversation's hash after the answer, for every form in which the client may send the answer back."""
    root, path, request = recorded.location.root, recorded.location.path, recorded.turn.request
    places: dict[str, str] = {}
    if answer.stored_id:
        last = answer.messages[-1] if answer.messages else GatewayMessage("assistant")
        places[matching.item_node(root, answer.stored_id)] = matching.turn_hash(root, request.question, last)
    for messages in filter(None, [answer.messages, *answer.alternatives]):
        tail = matching.turn_hash(root, request.question, messages[-1])
        places[matching.extend(root, path.request, messages)] = tail
        if request.prefill:
            places[matching.extend(root, path.request, [request.prefill, *messages])] = tail
        calls = [call["id"] for message in messages for call in message.recorded.get("tool_calls", [])]
        conversation = recorded.turn.conversation
        names = [call_reference(conversation, call) for call in calls] if conversation else []
        for name in filter(None, [messages[-1].item_id, *names]):
            places[matching.item_node(root, name)] = tail
    _store_steps(recorded, places)


def _has_step(output: Output, node: str) -> bool:
    return ConversationNode.objects.filter(output=output, after=node).exists()


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
    services.insert(steps, ignore_conflicts=True)


def count_prompt(bank: Bank, reason: str, now: datetime, prompts: int = 1) -> None:
    """Count a prompt, or several, that memory added nothing to or that are not recorded."""
    services.count_prompt(bank, PromptCount.Memory(reason), prompts=prompts, now=now)

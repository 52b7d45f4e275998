"""Handle one chat message: build its prompt, record it, call the model for its answer."""

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from memorybank import llm, services
from memorybank.exceptions import InvalidInput, LLMError, LLMTooLong, describe, public_message
from memorybank.services import Bank, Chat, Output, title_of
from projects.models import AnswerContext, Conversation, Draft, Project
from projects.tenancy import people
from projects.web import operator_mail

from . import compaction, model_call
from .audience import readmit_owner
from .model_call import OnChunk, Stopped, ignore_chunk
from .prompt import EarlierTurn, Prompt, assemble, continued

logger = logging.getLogger(__name__)

#: Appended to an answer that somebody stopped, so that people, the model and memory know that it is incomplete.
STOPPED_MARK = " …"


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a message. ``answer`` is None when no chat model is configured or it failed (``error``)."""

    prompt: Prompt
    output: Output
    answer: str | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """A recorded message and the prompt for its answer. It is already answered if the status of ``output`` is OK."""

    project: Project
    chat: Chat
    prompt: Prompt
    output: Output
    prefix: str = ""
    """The beginning of its answer, which is there already and is to be continued."""


def begin(project: Project, owner: User) -> Conversation:
    """Create a chat for ``owner``, or return their unused chat with the same privacy.

    The bank can make all new chats private. Only ``owner`` gets the memory of a private chat.
    """
    private = project.bank.new_chats_private
    unused = Conversation.objects.of(owner, project).filter(chat__last_output_at=None, chat__private=private)
    if conversation := unused.first():
        return conversation
    with transaction.atomic():
        person = people.person_of(project, owner)
        readers = [person] if person else []
        chat = services.create_chat(project.bank, key=uuid4().hex, private=private, readers=readers)
        return Conversation.objects.create(chat=chat, owner=owner)


def ask(
    project: Project,
    chat: Chat,
    message: str,
    author: str,
    key: str = "",
    replaces: Collection[int] = (),
    prefix: str = "",
) -> AnswerRequest:
    """Record ``message``, and build the prompt for its answer with the project's memory.

    The message is recorded before the model is called, so the chat has it even if the call fails. After a failed call
    it is marked as unanswered, and memory excludes it. Without a chat model it is recorded without an answer, and
    memory uses it as usual.

    The same message with the same ``key`` (a form sent twice, a broken connection) is recorded once; if it has no
    answer yet, it is asked again. ``replaces`` are the ids of the turns that it replaces: the prompt excludes them, and
    the answer supersedes them. ``prefix`` is the beginning of the answer. Raises :class:`InvalidInput`, and records
    nothing, if the message is too long.
    """
    known = services.turns_of(chat).filter(key=key, question=message).first() if key else None
    if known and known.status == Output.Status.OK:
        return AnswerRequest(project, chat, prompt_for(project, chat, message, before=known), known)
    if known:
        return ask_again(project, chat, known)
    readmit_owner(project, chat, author)
    prompt, model = prompt_for(project, chat, message, keep=True, without=replaces), llm.get("chat")
    taken = services.turns_of(chat).filter(key=key).exists()  # by another message: record this one without a key
    output = services.record(
        project.bank,
        chat_key=chat.key,
        author=author,
        question=message,
        status=Output.Status.PENDING if model else Output.Status.OK,
        key="" if taken else key,
        title="" if model and replaces else title_of(message),
        replaces=sorted(replaces),
    )
    return AnswerRequest(project, chat, prompt, output if model else _complete(project.bank, prompt, output), prefix)


def ask_again(project: Project, chat: Chat, output: Output, prefix: str = "") -> AnswerRequest:
    """Ask the message of ``output`` again in the same row. Raises :class:`InvalidInput` if it was answered meanwhile.

    The prompt is built as for a new message, because the turn moves to the end of the chat.
    """
    prompt = prompt_for(project, chat, output.question, keep=True, without=output.replaces)
    output = services.retry_output(project.bank, output.pk)
    answered = output if llm.get("chat") else _complete(project.bank, prompt, output)
    return AnswerRequest(project, chat, prompt, answered, prefix)


def answer(asked: AnswerRequest, on_chunk: OnChunk = ignore_chunk) -> Reply:
    """Call the model, unless the message is already answered. No transaction is open during the call.

    The output gets a final status even if the call fails, unless the process is killed. If ``on_chunk`` raises
    :class:`Stopped`, the text before that chunk becomes the answer.
    """
    bank, model, output = asked.project.bank, llm.get("chat"), asked.output
    if output.status == Output.Status.OK or model is None:
        return Reply(asked.prompt, output, output.answer or None)
    try:
        with _completed_on_failure(bank, output):
            prompt, completion = _call_model(asked, model, on_chunk)
    except LLMError as error:
        # The prompt's tokens are stored only with an answer; a failed call is recorded in the call ledger alone.
        logger.warning("output %s: model %s gave no answer: %s", output.pk, model.model, describe(error))
        operator_mail.chat_model_failed(model.model, str(error))
        output = services.complete(bank, output, status=Output.Status.ERROR, error=str(error))
        return Reply(asked.prompt, output, error=str(error))
    except Stopped as stop:
        output = stopped(asked, replace(stop.completion, text=asked.prefix + stop.completion.text))
        return Reply(asked.prompt, output, answer=output.answer or None)
    output = _complete(bank, prompt, output, replace(completion, text=asked.prefix + completion.text))
    return Reply(prompt, output, answer=output.answer)


def stopped(asked: AnswerRequest, partial_answer: llm.Completion) -> Output:
    """Complete a message whose answer was stopped; the text shown so far becomes the answer.

    Without any text the message stays unanswered, with the status STOPPED.
    """
    if not partial_answer.text:
        return services.complete(asked.project.bank, asked.output, status=Output.Status.STOPPED)
    marked = replace(partial_answer, text=partial_answer.text + STOPPED_MARK)
    return _complete(asked.project.bank, asked.prompt, asked.output, marked, stopped=True)


def answer_timeout() -> timedelta:
    """How long the chat model may take, with all retries; a message pending for longer will not be answered."""
    model = llm.get("chat")
    return timedelta(seconds=model.patience if model else 0)


def prompt_for(
    project: Project,
    chat: Chat,
    message: str,
    before: Output | None = None,
    *,
    keep: bool = False,
    without: Collection[int] = (),
) -> Prompt:
    """Build the exact prompt for ``message``; with ``before``, as if it were asked in place of that turn.

    Pass ``keep`` if the prompt will be sent: this records the memory that it contains. The prompt excludes the turns
    whose ids are in ``without``, and every checkpoint that summarises one of them.
    """
    asker = people.enter_as_owner(project, chat)
    memory = services.prompt_memory(project.bank, chat_key=chat.key, question=message, asker=asker)
    if keep:
        services.record_sent_prompt(project.bank, chat_key=chat.key, memory=memory)
    replaced = services.turns_of(chat).filter(pk__in=without).values_list("sequence", flat=True) if without else ()
    first_replaced = min([*replaced, *([before.sequence] if before else [])], default=None)
    checkpoint = services.newest_checkpoint(chat, before_sequence=first_replaced)
    return assemble(
        system=project.system_prompt,
        memory=memory,
        checkpoint=checkpoint.text if checkpoint else "",
        newest_first=_earlier(chat, before, after=checkpoint.through if checkpoint else 0, without=without),
        message=message,
        context_tokens=settings.LLM_CONTEXT_TOKENS,
    )


def _earlier(chat: Chat, before: Output | None, after: int, without: Collection[int]) -> Iterator[EarlierTurn]:
    """Answered turns after a checkpoint, newest first, read lazily: most of a long chat does not fit the prompt."""
    outputs = services.turns_of(chat).shown().remembered().filter(sequence__gt=after).order_by("-sequence")
    if before is not None:
        outputs = outputs.filter(sequence__lt=before.sequence)
    answered = outputs.exclude(pk__in=without).with_words().only("question", "answer", "messages")
    for output in answered.iterator(chunk_size=50):
        yield EarlierTurn(output.question, output.answer, services.render_tool_messages(output.messages))


def _call_model(asked: AnswerRequest, model: llm.LLM, on_chunk: OnChunk) -> tuple[Prompt, llm.Completion]:
    """Call the model and return the prompt and the answer; compact the chat first if the prompt does not fit.

    If the model rejects the prompt as too long all the same, compact the chat harder and call it once more.
    """
    project, chat, output = asked.project, asked.chat, asked.output
    rebuild = partial(prompt_for, project, chat, output.question, without=output.replaces)
    prompt = compaction.fit(project, chat, asked.prompt, rebuild, answer_timeout())
    try:
        return prompt, model_call.call(project.bank, model, continued(prompt, asked.prefix), on_chunk)
    except LLMTooLong:
        shorter = compaction.compact_and_rebuild(project, chat, rebuild, harder=True)
        if shorter is None:
            raise
        return shorter, model_call.call(project.bank, model, continued(shorter, asked.prefix), on_chunk)


@contextmanager
def _completed_on_failure(bank: Bank, output: Output) -> Iterator[None]:
    """Complete the message if a bug or a server shutdown raises anything but :class:`LLMError` or :class:`Stopped`."""
    try:
        yield
    except (LLMError, Stopped):
        raise
    except Exception as error:
        with suppress(InvalidInput):
            services.complete(bank, output, status=Output.Status.ERROR, error=public_message(error))
        raise
    except BaseException:
        # SystemExit and KeyboardInterrupt: the server stops, and the message must not stay pending forever.
        with suppress(InvalidInput):
            services.complete(bank, output, status=Output.Status.STOPPED)
        raise


def _complete(
    bank: Bank, prompt: Prompt, pending: Output, completion: llm.Completion | None = None, *, stopped: bool = False
) -> Output:
    """Store the answer and its :class:`AnswerContext`; if another attempt has answered first, keep that answer."""
    answer = completion.text if completion else ""
    with transaction.atomic():
        quotes = prompt.memory.quoted(services.written_text(answer), question=pending.question)
        output = services.complete(bank, pending, answer=answer, title=title_of(pending.question), quotes=quotes)
        Draft.objects.filter(output=output).delete()  # another attempt that still generates finds no draft, and stops
        # If a retry was answered first, this row exists already.
        AnswerContext.objects.get_or_create(
            output=output,
            defaults={
                "memory_version": prompt.memory.version,
                "memory_tokens": prompt.memory.block.tokens,
                "recalled_tokens": prompt.memory.recalled.tokens,
                "lines": [line.facts for line in prompt.memory.block.lines],
                "personal": [line.facts for line in prompt.memory.personal.lines],
                "recalled": [[*line.citations, line.place] for line in prompt.memory.recalled.lines],
                "cited": prompt.memory.cited(output.answer, elsewhere=prompt.without_memory),
                "model": completion.model[:200] if completion else "",
                "prompt_tokens": completion.prompt_tokens if completion else prompt.tokens,
                "answer_tokens": completion.completion_tokens if completion else 0,
                "stopped": stopped,
            },
        )
    if completion and output.answer != answer:
        logger.info("output %s: answered by another attempt; the later answer is dropped", output.pk)
    return output

"""One message of a chat: prompt it, record it, have it answered. The pages and the API share this."""

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
from django.utils.safestring import SafeString

from memorybank import llm, services
from memorybank.exceptions import InvalidInput, LLMError, LLMTooLong, blurred
from memorybank.models import Bank, Chat, Checkpoint, Output
from projects.models import Conversation, Draft, GivenWith, Project

from . import compaction, model_call
from .model_call import Hear, Stopped, unheard
from .prompt import Exchange, Prompt, assemble
from .titles import title_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a message. ``answer`` is None when no chat model is configured or it failed (``error``)."""

    prompt: Prompt
    output: Output
    answer: str | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A message that is recorded, and the prompt for its answer. It is answered already if its output is ok."""

    project: Project
    chat: Chat
    prompt: Prompt
    output: Output


def begin(project: Project, owner: User, *, private: bool = False) -> Conversation:
    """A new chat of ``owner``; one like it that she began and never wrote in is taken up again."""
    unused = Conversation.objects.of(owner, project).filter(chat__last_output_at=None, chat__private=private)
    if found := unused.first():
        return found
    with transaction.atomic():
        chat = Chat.objects.create(bank=project.bank, key=uuid4().hex, private=private)
        return Conversation.objects.create(chat=chat, owner=owner)


def ask(
    project: Project, chat: Chat, message: str, author: str, key: str = "", replaces: Collection[int] = ()
) -> Asked:
    """Record ``message``, and with what it is to be answered: the project's memory beside it.

    The message is recorded before the model is asked, so whatever happens then it is in the chat. When
    the model fails, it is recorded as not answered, and memory leaves it out. Without a chat model it is
    recorded alone, so that memory works all the same. The same message with the same ``key`` again (a
    form sent twice, a connection that broke) is the same message, asked again if it has no answer yet.
    ``replaces`` are the turns whose place it takes: they are not told to the model, and are erased with the answer.
    Raises :class:`InvalidInput`, and records nothing, when the message is too long.
    """
    known = chat.outputs.filter(key=key, question=message).first() if key else None
    if known and known.status == Output.Status.OK:
        return Asked(project, chat, prompt_for(project, chat, message, before=known), known)
    if known:
        return ask_again(project, chat, known)
    prompt, model = prompt_for(project, chat, message, keep=True, without=replaces), llm.get("chat")
    taken = chat.outputs.filter(key=key).exists()  # by another message: the key is of no use
    asked = services.record(
        project.bank,
        chat_key=chat.key,
        author=author,
        question=message,
        status=Output.Status.PENDING if model else Output.Status.OK,
        key="" if taken else key,
        title="" if model else title_of(message),
        replaces=sorted(replaces),
    )
    return Asked(project, chat, prompt, asked if model else _completed(project.bank, prompt, asked))


def ask_again(project: Project, chat: Chat, output: Output) -> Asked:
    """The message of ``output`` once more; it is there once. :class:`InvalidInput` if it has been answered meanwhile.

    Its prompt is that of a new message: the answer will stand where it is given, after all that is answered now.
    """
    prompt = prompt_for(project, chat, output.question, keep=True, without=output.replaces)
    asked = services.ask_again(project.bank, output.pk)
    return Asked(project, chat, prompt, asked if llm.get("chat") else _completed(project.bank, prompt, asked))


def answer(asked: Asked, hear: Hear = unheard) -> Reply:
    """Have it answered, unless it is. No transaction spans the model's call; ``hear`` gets the pieces as they come.

    The message is completed whatever happens, unless the process is killed. Where ``hear`` raises :class:`Stopped`,
    what it got is the answer.
    """
    bank, model, output = asked.project.bank, llm.get("chat"), asked.output
    if output.status == Output.Status.OK or model is None:
        return Reply(asked.prompt, output, output.answer or None)
    try:
        with _completing_in_any_case(bank, output):
            prompt, completion = _fitted_and_answered(asked, model, hear)
    except LLMError as error:
        # Nothing is recorded of a prompt's cost unless the model has answered: a failure is in the ledger alone.
        logger.warning("output %s: the model of chats gave no answer: %s", output.pk, type(error).__name__)
        output = services.complete(bank, output, status=Output.Status.ERROR, error=str(error))
        return Reply(asked.prompt, output, error=str(error))
    except Stopped as stop:
        output = stopped(asked, stop.completion)
        return Reply(asked.prompt, output, answer=output.answer or None)
    output = _completed(bank, prompt, output, completion)
    return Reply(prompt, output, answer=output.answer)


def stopped(asked: Asked, had: llm.Completion) -> Output:
    """What becomes of a message whose answer was stopped: what people read of it is the answer.

    "…" says to people, to the model and to memory that it was to go on. With nothing to read it is unanswered; so it
    is if turns would go for it: nobody gives whole answers for a part of one.
    """
    if not had.text or asked.output.replaces:
        return services.complete(asked.project.bank, asked.output, status=Output.Status.STOPPED)
    kept = replace(had, text=f"{had.text} …")
    return _completed(asked.project.bank, asked.prompt, asked.output, kept, stopped=True)


def formatted(answer: str) -> SafeString:
    """An answer's Markdown as safe HTML."""
    from .markdown import as_html  # 0.2 s, which no other page or command needs

    return as_html(answer)


def patience() -> timedelta:
    """For how long an answer may be awaited; a message that is pending for longer gets none."""
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
    """The exact prompt ``message`` is (or, standing at ``before``, would be) answered with; ``keep`` if it is sent.

    ``without`` these turns, and without any checkpoint that stands for one of them.
    """
    memory = services.prompt_memory(project.bank, chat_key=chat.key, question=message, keep=keep)
    places = list(chat.outputs.filter(pk__in=without).values_list("sequence", flat=True)) if without else []
    first = min([*places, *([before.sequence] if before else [])], default=None)
    checkpoint = Checkpoint.objects.newest(chat.pk, first)
    return assemble(
        system=project.system_prompt,
        memory=memory,
        checkpoint=checkpoint.text if checkpoint else "",
        newest_first=_earlier(chat, before, after=checkpoint.through if checkpoint else 0, without=without),
        message=message,
        context_tokens=settings.LLM_CONTEXT_TOKENS,
    )


def _earlier(chat: Chat, before: Output | None, after: int, without: Collection[int]) -> Iterator[Exchange]:
    """Answered turns after a checkpoint, newest first, read lazily: a long chat is not loaded to drop most of it."""
    outputs = Output.objects.filter(chat=chat, status=Output.Status.OK, sequence__gt=after)
    if before is not None:
        outputs = outputs.filter(sequence__lt=before.sequence)
    told = outputs.exclude(pk__in=without).with_words().only("question", "answer", "messages").order_by("-sequence")
    for output in told.iterator(chunk_size=50):
        yield Exchange(output.question, output.answer, services.tools_said(output.messages))


def _fitted_and_answered(asked: Asked, model: llm.LLM, hear: Hear) -> tuple[Prompt, llm.Completion]:
    """The answer, and the prompt that it was given to: of a shortened chat, if the model cannot read all of it.

    If the model says that even so it is too long, the chat is shortened once more, harder, and the model asked again.
    """
    project, chat, output = asked.project, asked.chat, asked.output
    again = partial(prompt_for, project, chat, output.question, without=output.replaces)
    prompt = compaction.fitting(project, chat, asked.prompt, again, patience())
    try:
        return prompt, model_call.call(project.bank, model, prompt, hear)
    except LLMTooLong:
        shorter = compaction.shortened(project, chat, again, harder=True)
        if shorter is None:
            raise
        return shorter, model_call.call(project.bank, model, shorter, hear)


@contextmanager
def _completing_in_any_case(bank: Bank, asked: Output) -> Iterator[None]:
    """What is no :class:`LLMError` still ends the attempt: a fault of ours, or the server being stopped."""
    try:
        yield
    except (LLMError, Stopped):
        raise
    except Exception as error:
        with suppress(InvalidInput):
            services.complete(bank, asked, status=Output.Status.ERROR, error=blurred(error))
        raise
    except BaseException:
        # SystemExit and KeyboardInterrupt: the server is stopped, and the message must not stay pending for ever.
        with suppress(InvalidInput):
            services.complete(bank, asked, status=Output.Status.STOPPED)
        raise


def _completed(
    bank: Bank, prompt: Prompt, asked: Output, completion: llm.Completion | None = None, *, stopped: bool = False
) -> Output:
    """The message as it stands now, with what it was given with; if another attempt was first, with that answer."""
    answer = completion.text if completion else ""
    with transaction.atomic():
        output = services.complete(bank, asked, answer=answer, title=title_of(asked.question))
        Draft.objects.filter(output=output).delete()  # another attempt that still writes finds none, and stops
        # A retry that was answered first has this row already.
        GivenWith.objects.get_or_create(
            output=output,
            defaults={
                "memory_version": prompt.memory.version,
                "memory_tokens": prompt.memory.block.tokens,
                "recalled_tokens": prompt.memory.recalled.tokens,
                "lines": [line.facts for line in prompt.memory.block.lines],
                "recalled": [[*line.citations, line.place] for line in prompt.memory.recalled.lines],
                "prompt_tokens": completion.prompt_tokens if completion else prompt.tokens,
                "answer_tokens": completion.completion_tokens if completion else 0,
                "stopped": stopped,
            },
        )
    if completion and output.answer != answer:
        logger.info("output %s: answered by another attempt; the answer that came later is not kept", output.pk)
    return output

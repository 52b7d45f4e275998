"""One message of a chat: prompt it, record it, have it answered. The pages and the API share this."""

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.safestring import SafeString

from memorybank import llm, services
from memorybank.exceptions import InvalidInput, LLMError, LLMTooLong, blurred
from memorybank.models import Bank, Chat, Checkpoint, LLMCall, Output, ledgered

from . import compacting
from .chat import Exchange, Prompt, assemble
from .models import Conversation, GivenWith, Project
from .titles import title_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a message. ``answer`` is None when no chat model is configured or it failed (``error``)."""

    prompt: Prompt
    output: Output
    answer: str | None = None
    error: str = ""


def begin(project: Project, owner: User, *, private: bool = False) -> Conversation:
    """A new chat of ``owner``; one like it that she began and never wrote in is taken up again."""
    unused = Conversation.objects.of(owner, project).filter(chat__last_output_at=None, chat__private=private)
    if found := unused.first():
        return found
    with transaction.atomic():
        chat = Chat.objects.create(bank=project.bank, key=uuid4().hex, private=private)
        return Conversation.objects.create(chat=chat, owner=owner)


def reply(
    project: Project, chat: Chat, message: str, author: str, key: str = "", replaces: Collection[int] = ()
) -> Reply:
    """Answer ``message`` with the project's memory. No transaction spans the model call.

    The message is recorded before the model is asked, so whatever happens then it is in the chat. When
    the model fails, it is recorded as not answered, and memory leaves it out. Without a chat model it is
    recorded alone, so that memory works all the same. The same message with the same ``key`` again (a
    form sent twice, a connection that broke) is the same message, asked again if it has no answer yet.
    ``replaces`` are the turns whose place it takes: they are not told to the model, and are erased with the answer.
    Raises :class:`InvalidInput`, and records nothing, when the message is too long.
    """
    known = chat.outputs.filter(key=key, question=message).first() if key else None
    if known and known.status == Output.Status.OK:
        return Reply(prompt_for(project, chat, message, before=known), known, known.answer or None)
    if known:
        return retry(project, chat, known)
    prompt, model = prompt_for(project, chat, message, keep=True, without=replaces), llm.get("chat")
    taken = chat.outputs.filter(key=key).exists()  # by another message: the key is of no use
    asked = services.record(
        project.bank,
        chat_key=chat.key,
        author=author,
        question=message,
        status=Output.Status.PENDING if model else Output.Status.OK,
        key=uuid4().hex if taken or not key else key,
        title="" if model else title_of(message),
        replaces=sorted(replaces),
    )
    return _ask(project, chat, model, prompt, asked)


def retry(project: Project, chat: Chat, output: Output) -> Reply:
    """Ask the message of ``output`` again; it is there once. :class:`InvalidInput` if it has been answered meanwhile.

    Its prompt is that of a new message: the answer will stand where it is given, after all that is answered now.
    """
    prompt = prompt_for(project, chat, output.question, keep=True, without=output.replaces)
    return _ask(project, chat, llm.get("chat"), prompt, services.ask_again(project.bank, output.pk))


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
    checkpoint = Checkpoint.objects.newest(chat.pk, min([*without, *([before.pk] if before else [])], default=None))
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
    outputs = Output.objects.filter(chat=chat, status=Output.Status.OK, pk__gt=after).order_by("-pk")
    if before is not None:
        outputs = outputs.filter(pk__lt=before.pk)
    told = outputs.exclude(pk__in=without).with_words().only("question", "answer", "messages")
    for output in told.iterator(chunk_size=50):
        yield Exchange(output.question, output.answer, services.tools_said(output.messages))


def _ask(project: Project, chat: Chat, model: llm.LLM | None, prompt: Prompt, asked: Output) -> Reply:
    """Have a recorded message answered, and complete it whatever happens, unless the process is killed."""
    bank = project.bank
    if model is None:
        return Reply(prompt, _completed(bank, prompt, asked))
    try:
        with _completing_in_any_case(bank, asked):
            prompt, completion = _fitted_and_answered(project, chat, model, prompt, asked)
    except LLMError as error:
        # Nothing is recorded of a prompt's cost unless the model has answered: a failure is in the ledger alone.
        logger.warning("output %s: the model of chats gave no answer: %s", asked.pk, type(error).__name__)
        output = services.complete(bank, asked, status=Output.Status.ERROR, error=str(error))
        return Reply(prompt, output, error=str(error))
    output = _completed(bank, prompt, asked, completion)
    return Reply(prompt, output, answer=output.answer)


def _fitted_and_answered(
    project: Project, chat: Chat, model: llm.LLM, prompt: Prompt, asked: Output
) -> tuple[Prompt, llm.Completion]:
    """The answer, and the prompt that it was given to: of a shortened chat, if the model cannot read all of it.

    If the model says that even so it is too long, the chat is shortened once more, harder, and the model asked again.
    """
    again = partial(prompt_for, project, chat, asked.question, without=asked.replaces)
    prompt = compacting.fitting(project, chat, prompt, again, patience())
    try:
        return prompt, _answered(project.bank, model, prompt)
    except LLMTooLong:
        shorter = compacting.shortened(project, chat, again, harder=True)
        if shorter is None:
            raise
        return shorter, _answered(project.bank, model, shorter)


def _answered(bank: Bank, model: llm.LLM, prompt: Prompt) -> llm.Completion:
    """One call of the model, on the ledger."""
    with ledgered(bank.pk, LLMCall.Purpose.CHAT, model.model, timezone.now(), keep=LLMCall.save) as call:
        completion = model.complete(prompt.messages)
        call.model = completion.model[:200]
        call.charge(completion)
    return completion


@contextmanager
def _completing_in_any_case(bank: Bank, asked: Output) -> Iterator[None]:
    """What is no :class:`LLMError` still ends the attempt: a fault of ours, or the server being stopped."""
    try:
        yield
    except LLMError:
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


def _completed(bank: Bank, prompt: Prompt, asked: Output, completion: llm.Completion | None = None) -> Output:
    """The message as it stands now, with what it was given with; if another attempt was first, with that answer."""
    answer = completion.text if completion else ""
    with transaction.atomic():
        output = services.complete(bank, asked, answer=answer, title=title_of(asked.question))
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
            },
        )
    if completion and output.answer != answer:
        logger.info("output %s: answered by another attempt; the answer that came later is not kept", output.pk)
    return output

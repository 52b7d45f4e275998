"""One message of a chat: prompt it, have it answered, record it. The pages and the API share this."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from memorybank import llm, services
from memorybank.exceptions import LLMError, LLMMisconfigured, LLMUnavailable
from memorybank.models import Bank, Chat, LLMCall, Output

from .chat import Exchange, Prompt, assemble
from .models import Conversation, GivenWith, Project

TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a message. ``answer`` is None when no chat model is configured or it failed (``error``)."""

    prompt: Prompt
    output: Output
    answer: str | None = None
    error: str = ""


def begin(project: Project, owner: User) -> Conversation:
    """A new chat of ``owner``; one she began and never wrote in is taken up again."""
    unused = Conversation.objects.of(owner, project).filter(chat__last_output_at=None, chat__private=False)
    if found := unused.first():
        return found
    with transaction.atomic():
        chat = Chat.objects.create(bank=project.bank, key=uuid4().hex)
        return Conversation.objects.create(chat=chat, owner=owner)


def reply(project: Project, chat: Chat, message: str, author: str) -> Reply:
    """Answer ``message`` with the project's memory and record both. No transaction spans the model call.

    Without a chat model the message is recorded alone, so that memory works all the same. When the
    model fails, the message is recorded as not answered, and memory leaves it out. Raises
    :class:`InvalidInput`, and records nothing, when the message is too long.
    """
    prompt = prompt_for(project, chat, message, keep=True)
    model = llm.get("chat")
    if model is None:
        return Reply(prompt, _record(project.bank, chat, author, message, prompt))
    started = monotonic()
    try:
        completion = model.complete(prompt.messages)
    except LLMError as error:
        _enter(project.bank, model.model, started, error=error)
        return Reply(prompt, _record(project.bank, chat, author, message, prompt, failed=True), error=str(error))
    _enter(project.bank, completion.model, started, completion=completion)
    output = _record(project.bank, chat, author, message, prompt, completion=completion)
    return Reply(prompt, output, answer=completion.text)


def prompt_for(
    project: Project, chat: Chat, message: str, before: Output | None = None, *, keep: bool = False
) -> Prompt:
    """The exact prompt ``message`` is (or, standing at ``before``, would be) answered with; ``keep`` if it is sent."""
    memory = services.prompt_memory(project.bank, chat_key=chat.key, question=message, keep=keep)
    return assemble(
        system=project.system_prompt,
        memory=memory,
        newest_first=_earlier(chat, before),
        message=message,
        context_tokens=settings.LLM_CONTEXT_TOKENS,
    )


def _earlier(chat: Chat, before: Output | None) -> Iterator[Exchange]:
    """Answered turns, newest first, read lazily: a long chat is not loaded to drop most of it."""
    outputs = Output.objects.filter(chat=chat, status=Output.Status.OK).order_by("-pk")
    if before is not None:
        outputs = outputs.filter(pk__lt=before.pk)
    for output in outputs.only("question", "answer").iterator(chunk_size=50):
        yield Exchange(output.question, output.answer)


def _record(
    bank: Bank,
    chat: Chat,
    author: str,
    message: str,
    prompt: Prompt,
    *,
    completion: llm.Completion | None = None,
    failed: bool = False,
) -> Output:
    output = services.record(
        bank,
        chat_key=chat.key,
        author=author,
        question=message,
        answer=completion.text if completion else "",
        status=Output.Status.ERROR if failed else Output.Status.OK,
        title=chat.title or _title(message),
    )
    GivenWith.objects.create(
        output=output,
        memory_version=prompt.memory.version,
        memory_tokens=prompt.memory.block.tokens,
        recalled_tokens=prompt.memory.recalled.tokens,
        prompt_tokens=completion.prompt_tokens if completion else prompt.tokens,
        answer_tokens=completion.completion_tokens if completion else 0,
    )
    return output


def _title(message: str) -> str:
    line = message.strip().splitlines()[0].strip()
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"


def _enter(
    bank: Bank,
    model: str,
    started: float,
    completion: llm.Completion | None = None,
    error: LLMError | None = None,
) -> None:
    """One line in the cost ledger; never a word of the chat."""
    LLMCall.objects.create(
        bank=bank,
        purpose=LLMCall.Purpose.CHAT,
        model=model[:200],
        prompt_tokens=completion.prompt_tokens if completion else 0,
        completion_tokens=completion.completion_tokens if completion else 0,
        duration_ms=round((monotonic() - started) * 1000),
        outcome=_outcome(error),
        error=(str(error) or type(error).__name__)[:500] if error else "",
        at=timezone.now(),
    )


def _outcome(error: LLMError | None) -> LLMCall.Outcome:
    match error:
        case None:
            return LLMCall.Outcome.OK
        case LLMUnavailable():
            return LLMCall.Outcome.UNAVAILABLE
        case LLMMisconfigured():
            return LLMCall.Outcome.MISCONFIGURED
        case _:
            return LLMCall.Outcome.REJECTED

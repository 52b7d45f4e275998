"""Compact a chat, by ``/compact`` or automatically when its prompt does not fit, and report the progress."""

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from threading import Thread
from typing import Any

from django.conf import settings
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import connections
from django.utils import timezone
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _

from memorybank import services
from memorybank.exceptions import NotCompacted, log_message
from memorybank.services import Bank, Chat, Checkpoint, Compaction, PublicId
from projects.models import Conversation, Project
from projects.web.polling import wait_while

from .prompt import Prompt

logger = logging.getLogger(__name__)

COMPACT_COMMAND = "/compact"
#: Between two checks whether another process has finished.
POLL_SECONDS = 0.5


def compact(project: Project, chat: Chat, focus: str = "", *, harder: bool = False) -> Checkpoint:
    """Compact a chat for the chat model's context. If it cannot, raises :class:`NotCompacted` with the reason."""
    window = settings.LLM_CONTEXT_TOKENS
    for_others = is_of_programs(project.bank, chat.key)
    return services.compact_chat(
        project.bank, chat_key=chat.key, window=window, focus=focus, harder=harder, for_others=for_others
    )


def is_of_programs(bank: Bank, chat_key: str) -> bool:
    """Whether a chat belongs to programs and to no member, so that every program of the project reads its notes."""
    return not Conversation.objects.filter(chat__bank=bank, chat__key=chat_key).exists()


# --- automatically, before an answer ----------------------------------------------------------------------


def fit(
    project: Project, chat: Chat, prompt: Prompt, rebuild: Callable[[], Prompt], answer_timeout: timedelta
) -> Prompt:
    """Wait for a running compaction, or compact the chat if its prompt does not fit, and return the new prompt.

    If the compaction fails, the prompt is returned without the turns that do not fit, and compaction is not retried
    for a while.
    """
    is_running = partial(services.is_compacting, chat)
    if wait_while(is_running, seconds=POLL_SECONDS, timeout=answer_timeout.total_seconds()):
        prompt = rebuild()
    if not prompt.cut or not services.may_compact(chat):
        return prompt
    return compact_and_rebuild(project, chat, rebuild) or prompt


def compact_and_rebuild(
    project: Project, chat: Chat, rebuild: Callable[[], Prompt], *, harder: bool = False
) -> Prompt | None:
    """The prompt of the compacted chat; None if it could not be compacted."""
    try:
        compact(project, chat, harder=harder)
    except NotCompacted as why:
        logger.info("chat %s: not compacted automatically: %s", chat.pk, why)
        return None
    return rebuild()


# --- the command ------------------------------------------------------------------------------------------


def command_focus(message: str) -> str | None:
    """The focus that follows ``/compact`` ("" for none); None if the message is not this command."""
    command, *focus = message.split(maxsplit=1) or [""]
    return "".join(focus).strip() if command == COMPACT_COMMAND else None


def begin(project: Project, chat: Chat, focus: str) -> None:
    """Compact the chat in a thread. Raises :class:`NotCompacted` if it is already being compacted."""
    _start_thread(services.begin_compaction(project.bank, chat_key=chat.key, focus=focus))


def progress(project: Project, chat: Chat) -> dict[str, Any]:
    """The progress of a running compaction (``percent`` is None if none runs), or why the last one failed.

    ``late`` is true if the failure is recent enough to show to somebody who opens the page. Calling this resumes a
    compaction whose process was killed.
    """
    row, now = services.compaction_of(chat), timezone.now()
    if row and row.broke_off(now) and (resumed := services.resume_compaction(project.bank, chat_key=chat.key)):
        _start_thread(resumed)
        row = services.compaction_of(chat)
    running = row if row and row.leased_until and not row.broke_off(now) else None
    return {
        "percent": running.percent if running else None,
        "stage": _stage(running) if running else "",
        "problem": _failure(row) if row and not running else "",
        "late": bool(row and row.retry_at and row.retry_at > now),
    }


def _failure(row: Compaction) -> str:
    return _("It was interrupted. The chat is unchanged.") if row.leased_until else row.error


def _stage(running: Compaction) -> str:
    stage = Compaction.Stage(running.stage).label
    if running.of < 2:
        return str(stage)
    return _("%(stage)s, %(done)s of %(of)s") % {"stage": stage, "done": running.done, "of": running.of}


def _start_thread(running: Compaction) -> None:
    # Daemon: a server that shuts down does not wait for the model; the next progress request resumes the compaction.
    Thread(
        target=services.carried(_finish), args=(running, get_language()), name=f"compaction-{running.pk}", daemon=True
    ).start()


def _finish(running: Compaction, language: str | None) -> None:
    """Finish the compaction in the language of the person who asked, because only they see this chat."""
    try:
        with override(language):
            for_others = is_of_programs(running.chat.bank, running.chat.key)
            services.finish_compaction(running, window=settings.LLM_CONTEXT_TOKENS, for_others=for_others)
    except NotCompacted as why:
        logger.info("chat %s: not compacted: %s", running.chat_id, why)
    except Exception as error:
        logger.error("chat %s: %s", running.chat_id, log_message(error))
    finally:
        connections.close_all()


# --- for the page -----------------------------------------------------------------------------------------


def label(checkpoint: Checkpoint) -> str:
    """The heading of a checkpoint on the page."""
    sizes = {"before": intcomma(checkpoint.tokens_before), "after": intcomma(checkpoint.tokens_after)}
    return _("Shortened: %(before)s → %(after)s tokens") % sizes


def as_json(checkpoint: Checkpoint | None) -> dict[str, str] | None:
    if checkpoint is None:
        return None
    number, after = PublicId().to_url(checkpoint.pk), PublicId().to_url(checkpoint.last_output)
    return {"number": number, "after": after, "label": label(checkpoint), "text": checkpoint.text}

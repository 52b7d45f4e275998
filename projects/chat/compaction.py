"""Shortening a chat where it is written: at once, or by itself for a prompt too long."""

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils import timezone
from django.utils.translation import gettext as _

from memorybank import services
from memorybank.exceptions import NotCompacted
from memorybank.models import Chat, Checkpoint, Compaction
from memorybank.services import PublicId
from projects.models import Project

from .prompt import Prompt

logger = logging.getLogger(__name__)

#: Seconds between two looks at whether somebody else is done.
EVERY = 0.5


def compact(project: Project, chat: Chat, focus: str = "", *, harder: bool = False) -> Checkpoint:
    """Shorten a chat for the model of chats; :class:`NotCompacted` says why not, and the chat is as it was."""
    window = settings.LLM_CONTEXT_TOKENS
    return services.compact_chat(project.bank, chat_key=chat.key, window=window, focus=focus, harder=harder)


def fitting(project: Project, chat: Chat, prompt: Prompt, again: Callable[[], Prompt], patience: timedelta) -> Prompt:
    """The prompt, made ``again`` once nobody shortens the chat any more, or once it is shortened for not fitting whole.

    Where that fails the prompt is sent without the turns that do not fit, and it is not tried again for a while.
    """
    if _waited(chat, timezone.now() + patience):
        prompt = again()
    if not prompt.cut or not Compaction.objects.may_begin(chat.pk, timezone.now()):
        return prompt
    return shortened(project, chat, again) or prompt


def shortened(project: Project, chat: Chat, again: Callable[[], Prompt], *, harder: bool = False) -> Prompt | None:
    """The prompt made ``again`` after the chat was shortened; None if it could not be."""
    try:
        compact(project, chat, harder=harder)
    except NotCompacted as why:
        logger.info("chat %s: not shortened by itself: %s", chat.pk, why)
        return None
    return again()


def _waited(chat: Chat, until: datetime) -> bool:
    """Whether somebody else was at it; returns when that is over, or nobody would wait longer."""
    waited = False
    while (now := timezone.now()) < until and Compaction.objects.running(chat.pk, now):
        waited = True
        time.sleep(EVERY)
    return waited


# --- for the page -----------------------------------------------------------------------------------------


def label(made: Checkpoint) -> str:
    """The line that a checkpoint is on a page."""
    sizes = {"before": intcomma(made.tokens_before), "after": intcomma(made.tokens_after)}
    return _("Compacted: %(before)s → %(after)s tokens") % sizes


def as_json(made: Checkpoint | None) -> dict[str, str] | None:
    """A checkpoint for the chat page; None for none."""
    if made is None:
        return None
    number = PublicId().to_url
    return {"number": number(made.pk), "after": number(made.last_output), "label": label(made), "text": made.text}

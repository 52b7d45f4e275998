"""``/compact`` in a chat: begun by the request, done beside it, and resumed by the next look if a server was killed."""

import logging
from threading import Thread
from typing import Any

from django.conf import settings
from django.db import connections
from django.utils import timezone
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _

from memorybank import services
from memorybank.exceptions import NotCompacted, unexpected
from memorybank.models import Chat, Compaction
from projects.models import Project

logger = logging.getLogger(__name__)

COMMAND = "/compact"


def focus_in(message: str) -> str | None:
    """What ``/compact`` was given to look at ("" for nothing); None if the message is no such command."""
    command, *focus = message.split(maxsplit=1) or [""]
    return "".join(focus).strip() if command == COMMAND else None


def begin(project: Project, chat: Chat, focus: str) -> None:
    """Have the chat compacted, in a thread of this process; :class:`NotCompacted` if it is being compacted already."""
    _beside(services.begin_compaction(project.bank, chat_key=chat.key, focus=focus))


def how_far(project: Project, chat: Chat) -> dict[str, Any]:
    """Whether somebody compacts the chat now, and how far that is; or why the last time came to nothing.

    That is ``late`` if it is news to whoever opens the page. What a process was at that has died is gone on with.
    """
    row, now = Compaction.objects.filter(chat=chat).first(), timezone.now()
    if row and row.broke_off(now) and (resumed := services.resume_compaction(project.bank, chat_key=chat.key)):
        _beside(resumed)
        row.refresh_from_db()
    running = row if row and row.leased_until and not row.broke_off(now) else None
    return {
        "percent": running.percent if running else None,
        "stage": _said(running) if running else "",
        "problem": _why_not(row) if row and not running else "",
        "late": bool(row and row.retry_at and row.retry_at > now),
    }


def _why_not(row: Compaction) -> str:
    return _("It broke off. The chat is as it was.") if row.leased_until else row.error


def _said(running: Compaction) -> str:
    """What is being done, in words."""
    stage = Compaction.Stage(running.stage).label
    if running.of < 2:
        return str(stage)
    return _("%(stage)s, %(done)s of %(of)s") % {"stage": stage, "done": running.done, "of": running.of}


def _beside(held: Compaction) -> None:
    # A daemon: a server that is stopped does not wait for a model, because the next look resumes what it was at.
    Thread(target=_finish, args=(held, get_language()), name=f"compaction-{held.pk}", daemon=True).start()


def _finish(held: Compaction, language: str | None) -> None:
    """Do it. What comes of it is in the rows, in the language of who asked: nobody else looks at her chat."""
    try:
        with override(language):
            services.finish_compaction(held, window=settings.LLM_CONTEXT_TOKENS)
    except NotCompacted as why:
        logger.info("chat %s: not compacted: %s", held.chat_id, why)
    except Exception as error:
        logger.error("chat %s: %s", held.chat_id, unexpected(error))
    finally:
        connections.close_all()

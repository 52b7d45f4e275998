"""Tell the operator by e-mail that the chat model fails, at most once an hour from each process."""

import logging
from smtplib import SMTPException
from threading import Lock, Thread
from time import monotonic

from django.conf import settings
from django.core.mail import mail_admins

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 3600
_lock = Lock()
_mailed_at = 0.0


def has_recipients() -> bool:
    """Whether the setting ``ADMINS`` has an address for these mails."""
    return bool(settings.ADMINS)


def chat_model_failed(model: str, error: str) -> None:
    """Mail the provider's error message in a new thread. ``error`` must no longer contain text of the prompt."""
    global _mailed_at
    with _lock:
        if not has_recipients() or (_mailed_at and monotonic() - _mailed_at < PAUSE_SECONDS):
            return
        _mailed_at = monotonic()
    Thread(target=_send, args=(f"The chat model {model} fails", f"{error}\n"), name="operator").start()


def _send(subject: str, body: str) -> None:
    try:
        mail_admins(subject, body)
    except (OSError, SMTPException) as problem:
        logger.error("the operator could not be told: %s", type(problem).__name__)

"""The Celery application. Everything about it is in the settings, named CELERY_…

Workers and beat load it (``celery -A config``). No page or command sends a task, so nothing else does: whoever sends
one from elsewhere imports this module first.
"""

import logging
import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("memorybank")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def _log_as_the_site_does(*, loglevel: int | str | None = None, **_: Any) -> None:
    """Celery adds no handlers of its own, which would print what the site's print once more, in another form."""
    logging.getLogger("celery").setLevel(loglevel or logging.WARNING)


@worker_init.connect
def _log_no_queries(**_: Any) -> None:
    """With DEBUG on, Django keeps every query, and on SQLite asks the database how it would have been spelt."""
    from django.conf import settings

    settings.DEBUG = False

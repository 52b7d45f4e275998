"""The Celery application, configured by the settings named CELERY_…

Workers and beat load it (``celery -A config``). Pages and commands send no tasks, so they do not import it; code that
sends one must import this module first.
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
app.autodiscover_tasks(["projects.webhooks"])


def send_task(name: str) -> None:
    """Send a task's message now; one that no worker took before the next sweep is dropped."""
    app.send_task(name, expires=app.conf.beat_schedule["sweep"]["schedule"], retry=False)


@setup_logging.connect
def _log_as_the_site_does(*, loglevel: int | str | None = None, **_: Any) -> None:
    """Keep Celery from adding log handlers, which would print each line twice."""
    logging.getLogger("celery").setLevel(loglevel or logging.WARNING)


@worker_init.connect
def _log_no_queries(**_: Any) -> None:
    """Switch DEBUG off: with it, Django stores every query, and on SQLite runs another to format it."""
    from django.conf import settings

    settings.DEBUG = False

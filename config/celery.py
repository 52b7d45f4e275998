"""The Celery application, configured by the settings named CELERY_…

Workers and beat load it (``celery -A config``). Most pages and commands send no tasks and do not import it; code that
sends a task must import this module first.
"""

import logging
import os
import sys
from contextlib import ExitStack
from typing import Any

from celery import Celery
from celery.signals import before_task_publish, setup_logging, task_postrun, task_prerun, worker_init

from memorybank.llm import tracing

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("memorybank")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["projects.webhooks", "projects.importing", "projects.management"])


def send_task(name: str, *args: object) -> None:
    """Send a task now. If no worker takes it within one sweep interval, it is dropped."""
    app.send_task(name, args, expires=app.conf.beat_schedule["sweep"]["schedule"], retry=False)


@setup_logging.connect
def _log_as_the_site_does(*, loglevel: int | str | None = None, **_: Any) -> None:
    """Prevent Celery from adding log handlers, which would print each line twice."""
    logging.getLogger("celery").setLevel(loglevel or logging.WARNING)


@worker_init.connect
def _log_no_queries(**_: Any) -> None:
    """Switch DEBUG off: with it, Django stores every query, and on SQLite runs another to format it."""
    from django.conf import settings

    settings.DEBUG = False


@worker_init.connect
def _refuse_without_tables(**_: Any) -> None:
    """Exit in one line if migrations are not applied. What the check opened is closed before processes are forked."""
    from django.db import connection

    from projects.management.migrated import why_not_migrated

    why = why_not_migrated()
    connection.close()
    if close_pool := getattr(connection, "close_pool", None):
        close_pool()
    if why:
        sys.exit(why)


@before_task_publish.connect
def _carry(headers: dict[str, Any] | None = None, **_: Any) -> None:
    """Add the current trace to a task's headers, so that the task belongs to its sender's trace."""
    if headers is not None:
        tracing.carry(headers)


@task_prerun.connect
def _begin(task: Any, **_: Any) -> None:
    """Start the span of a task. Celery calls this and :func:`_end` in the task's thread."""
    brought = {**(task.request.headers or {}), **vars(task.request)}  # from the message, or from a direct call
    carrier = {name: brought[name] for name in tracing.CONTEXT_HEADERS if brought.get(name)}
    stack = ExitStack()
    stack.enter_context(tracing.span(task.name, tracing.SpanKind.CONSUMER, carrier=carrier))
    task.request.span = stack


@task_postrun.connect
def _end(task: Any, state: str = "", **_: Any) -> None:
    stack = getattr(task.request, "span", None)
    if isinstance(stack, ExitStack):
        stack.close()

"""The Celery task that imports uploaded exports.

The database records which runs are due, so a lost message only delays them until beat's next message.
"""

from celery import shared_task

from memorybank import services

from . import runs

#: A task stops after this time, so that the worker can process other messages.
MAX_TASK_SECONDS = 10


@shared_task(name=runs.IMPORT_TASK)
@services.all_banks_entered()
def import_waiting() -> None:
    """Import due runs, and send the task again if any are left. Two tasks at once are harmless."""
    if runs.work(seconds=MAX_TASK_SECONDS):
        services.send_task(runs.IMPORT_TASK)

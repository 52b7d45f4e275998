"""Do in the foreground what beat and worker do."""

from datetime import datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from memorybank import services
from memorybank.models import Chat, LLMEndpoint
from memorybank.services import Report

from ..base import FAILED, MemoryCommand, counted, find_project, moment


class Command(MemoryCommand):
    help = (
        "Summarise idle chats and roll up closed periods once, in the foreground, as beat and worker would. "
        "Prints what was done and what it cost. Exits with 1 if something failed, or waits for a model that is down."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", metavar="T/P", help="only this project (tenant-slug/project-slug)")
        parser.add_argument("--until-idle", action="store_true", help="go on until nothing more can be done now")
        parser.add_argument(
            "--now",
            metavar="ISO",
            type=moment,
            help="pretend that it is this time, such as 2026-05-08T13:56:00Z; governs idleness, ages, back-off, leases",
        )
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(
        self, *, project: str | None, until_idle: bool, now: datetime | None, json: bool, **options: Any
    ) -> None:
        bank = find_project(project).bank if project else None
        with tqdm(unit=" entries", disable=None, leave=False) as bar:

            def progress(report: Report) -> None:
                bar.update(report.summarised + report.rolled_up - bar.n)

            report = services.run(bank=bank, until_idle=until_idle, now=now, progress=progress)
        self.print_json(report.as_dict()) if json else self.print_counts(report.as_dict())
        chats = Chat.objects.failing().filter(bank=bank) if bank else Chat.objects.failing()
        _complain(report, report.due + chats.count(), services.outage(now=now))


def _complain(report: Report, waiting: int, outage: LLMEndpoint | None) -> None:
    """Fail in one line if something failed, or waits for a model that is down."""
    if report.failed:
        why = f": {outage.last_error}" if outage else " (the log says why)."
        raise CommandError(f"{report.failed:,} failed and will be tried again{why}", returncode=FAILED)
    if outage and outage.retry_at and waiting:
        until = outage.retry_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        why = f"the model backs off until {until} after: {outage.last_error}"
        raise CommandError(f"{counted(waiting, 'chat')} waiting, because {why}", returncode=FAILED)

"""Do in the foreground what beat and worker do."""

from datetime import datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from memorybank import services
from memorybank.services import Report

from ..base import FAILED, MemoryCommand, find_project, moment


class Command(MemoryCommand):
    help = "Summarise idle chats and roll up closed periods once, in the foreground, as beat and worker would."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", metavar="T/P", help="only this project")
        parser.add_argument("--until-idle", action="store_true", help="go on until nothing more can be done now")
        parser.add_argument("--now", type=moment, help="pretend it is this time: for idleness, ages, back-off, leases")
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
        if report.failed:
            raise CommandError(f"{report.failed} failed; they will be tried again.", returncode=FAILED)

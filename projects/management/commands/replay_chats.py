"""Replay a log of chats as time passing."""

from datetime import datetime, timedelta
from typing import IO, Any

from django.core.management.base import CommandError, CommandParser
from django.utils.timezone import now
from tqdm import tqdm

from memorybank import services
from memorybank.models import Bank
from projects.importing import BadLineError, ImportLine, Reader
from projects.replaying import replay

from ..base import ACTOR, FAILED, MemoryCommand, budget, duration


class Command(MemoryCommand):
    help = (
        "Record the outputs of a JSON Lines file (see import_chats) in the order of their times, as if time passed: "
        "at each step of a simulated clock, idle chats are summarised and closed periods rolled up. Switches on the "
        "memory of the projects in the file; by this you accept the privacy disclosure for them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", metavar="FILE", type=text_file, help="JSON Lines in UTF-8; - reads standard input"
        )
        parser.add_argument("--step", type=duration, default=timedelta(hours=6), help="such as 30m, 6h (default) or 1d")
        parser.add_argument("--budget", type=budget, help="set the token budget of every project in the file")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, *, file: IO[str], step: timedelta, json: bool, **options: Any) -> None:
        lines = self._lines(file)
        settings = {"max_tokens": options["budget"]} if options["budget"] else {}

        def prepare(bank: Bank) -> None:
            services.configure(bank, actor=ACTOR, **settings)
            services.enable(bank, actor=ACTOR, disclosure_accepted=True)

        with tqdm(total=len(lines), unit=" turns", disable=None, leave=False) as bar:

            def progress(clock: datetime, fed: int) -> None:
                bar.set_postfix_str(f"{clock:%d %b %Y}", refresh=False)
                bar.update(fed - bar.n)

            report = replay(lines, step=step, prepare=prepare, progress=progress)
        self.print_json(report.as_dict()) if json else self.print_counts(report.as_dict())
        if report.due or report.parked:
            raise CommandError(f"{report.due} chats still due, {report.parked} parked.", returncode=FAILED)

    def _lines(self, file: IO[str]) -> list[ImportLine]:
        """All lines; a bad one stops the replay before anything is written, because its order is unknown."""
        lines = []
        for line in Reader(now()).read(file):
            if isinstance(line, BadLineError):
                raise CommandError(f"{line} Nothing was replayed.", returncode=FAILED)
            lines.append(line)
        return lines

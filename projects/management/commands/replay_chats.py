"""Replay a log of chats on a simulated clock."""

from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.timezone import now
from tqdm import tqdm

from memorybank import services
from memorybank.services import MAX_TOKENS, MIN_TOKENS, Bank
from projects.importing.jsonl import BadLineError, ImportLine, Reader
from projects.importing.replay import replay

from ..base import (
    COMMAND_ACTOR,
    FAILURE_EXIT_CODE,
    TRANSCRIPT_HELP,
    MemoryCommand,
    open_lines,
    parse_duration,
    pluralised,
    readable_path,
    whole_number,
)


class Command(MemoryCommand):
    help = (
        "Record the outputs of a JSON Lines file (see import_chats --help) in the order of their times. At each step "
        "of a simulated clock, idle chats are summarised and closed periods rolled up. Switches on the memory of every "
        "project in the file; you accept the privacy disclosure: answers in a project use notes from everybody's "
        "chats. A bad line stops the replay before anything is written, because its time is unknown."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", metavar="FILE", type=readable_path, help="JSON Lines in UTF-8; - reads standard input"
        )
        parser.add_argument(
            "--step",
            metavar="TIME",
            type=parse_duration,
            default=timedelta(hours=6),
            help="duration of one step of the clock: 30m, 6h (the default), 1d",
        )
        parser.add_argument(
            "--budget",
            metavar="TOKENS",
            type=whole_number(MIN_TOKENS, MAX_TOKENS, "tokens"),
            help=f"set the token budget of every project in the file, {MIN_TOKENS} to {MAX_TOKENS:,}",
        )
        parser.add_argument("--transcript", action="store_true", help=TRANSCRIPT_HELP)
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, *, file: str, step: timedelta, json: bool, **options: Any) -> None:
        reader = Reader(now(), options["transcript"])
        lines = self._lines(reader, file)
        if reader.hint:
            self.stderr.write(reader.hint)
        settings = {"max_tokens": options["budget"]} if options["budget"] else {}

        def prepare(bank: Bank) -> None:
            services.configure(bank, actor=COMMAND_ACTOR, **settings)
            services.enable(bank, actor=COMMAND_ACTOR, disclosure_accepted=True, history=not bank.enabled)

        with tqdm(total=len(lines), unit=" turns", disable=None, leave=False) as bar:

            def progress(clock: datetime, fed: int) -> None:
                bar.set_postfix_str(f"{clock:%d %b %Y}", refresh=False)
                bar.update(fed - bar.n)

            report = replay(lines, step=step, prepare=prepare, progress=progress)
        self.print_json(report.as_dict()) if json else self.print_counts(report.as_dict())
        waiting = report.due + services.failing()
        if waiting or report.parked:
            what = f"{pluralised(waiting, 'chat')} not summarised yet, {report.parked:,} parked"
            raise CommandError(
                f"{what} (see the log). Nothing is lost: continue with run_memory.", returncode=FAILURE_EXIT_CODE
            )

    def _lines(self, reader: Reader, file: str) -> list[ImportLine]:
        """All lines; a bad one stops the replay before anything is written, because its order is unknown."""
        lines = []
        with open_lines(file) as text:
            for line in reader.read(text):
                if isinstance(line, BadLineError):
                    raise CommandError(f"{line} Nothing was replayed.", returncode=FAILURE_EXIT_CODE)
                lines.append(line)
        return lines

"""Replay a log of chats on a simulated clock."""

from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.timezone import now

from memorybank import services
from memorybank.services import MAX_TOKENS, MIN_TOKENS, Bank
from projects.importing.jsonl import BadLineError, ImportLine, LineReader

from ..base import (
    COMMAND_ACTOR,
    FAILURE_EXIT_CODE,
    MemoryCommand,
    add_file_arguments,
    add_number_argument,
    open_lines,
    parse_duration,
    pluralised,
)
from ..progress import replay_with_progress_bar


class Command(MemoryCommand):
    help = (
        "Record the outputs of a JSON Lines file (see import_chats --help) in the order of their times. At each step "
        "of a simulated clock, idle chats are summarised and closed periods rolled up. Switches on the memory of every "
        "project in the file; you accept the privacy disclosure: answers in a project use notes from everybody's "
        "chats. A bad line stops the replay before anything is written, because its time is unknown."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_file_arguments(parser)
        parser.add_argument(
            "--step",
            metavar="TIME",
            type=parse_duration,
            default=timedelta(hours=6),
            help="duration of one step of the clock: 30m, 6h (the default), 1d",
        )
        budget_help = f"set the token budget of every project in the file, {MIN_TOKENS} to {MAX_TOKENS:,}"
        add_number_argument(parser, "--budget", MIN_TOKENS, MAX_TOKENS, unit="tokens", help=budget_help)
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, *, file: str, step: timedelta, json: bool, **options: Any) -> None:
        reader = LineReader(now(), options["transcript"])
        lines = self._lines(reader, file)
        if reader.hint:
            self.stderr.write(reader.hint)
        settings = {"max_tokens": options["budget"]} if options["budget"] else {}

        def prepare(bank: Bank, _: datetime) -> None:
            services.configure(bank, actor=COMMAND_ACTOR, **settings)
            services.enable(bank, actor=COMMAND_ACTOR, disclosure_accepted=True, history=not bank.enabled)

        report = replay_with_progress_bar(lines, step=step, prepare=prepare)
        self.print_values(report.as_dict(), json=json)
        waiting = report.due + services.count_failing_chats()
        if waiting or report.parked:
            unfinished = f"{pluralised(waiting, 'chat')} not summarised yet, {report.parked:,} parked (see the log)."
            raise CommandError(f"{unfinished} Nothing is lost: continue with run_memory.", returncode=FAILURE_EXIT_CODE)

    def _lines(self, reader: LineReader, file: str) -> list[ImportLine]:
        """Read all lines. A bad line stops the replay before anything is written, because its time is unknown."""
        lines = []
        with open_lines(file) as text:
            for line in reader.read(text):
                if isinstance(line, BadLineError):
                    raise CommandError(f"{line} Nothing was replayed.", returncode=FAILURE_EXIT_CODE)
                lines.append(line)
        return lines

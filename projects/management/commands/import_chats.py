"""Import outputs from a JSON Lines file."""

import os
from io import TextIOWrapper
from typing import Any, NoReturn

from django.core.management.base import CommandError, CommandParser
from django.utils.timezone import now
from tqdm import tqdm

from memorybank import services
from projects.importing.jsonl import BadLineError, Reader
from projects.importing.service import BATCH_LINES, ProjectCache, batches, import_batch

from ..base import COMMAND_ACTOR, FAILURE_EXIT_CODE, MemoryCommand, add_file_arguments, open_lines, pluralised


class Command(MemoryCommand):
    help = (
        "Record the outputs of a JSON Lines file, one output a line, with the fields tenant, project, chat, user, "
        "question, answer and created_at (ISO 8601 with a zone), and optionally id, messages, status (ok, error, "
        "blocked, cancelled, stopped or pending) and title. Missing tenants, projects and chats are created. "
        "Importing the same file twice changes nothing; an answer to an id that had none completes it. A bad line is "
        "reported with its number and skipped; then the exit code is 1. "
        f"Lines are recorded {BATCH_LINES:,} at a time; after an interruption, import the file again to continue."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_file_arguments(parser)
        parser.add_argument(
            "--enable",
            action="store_true",
            help="switch on the memory of every project in the file. You accept the privacy disclosure: answers in a "
            "project use notes from everybody's chats. Where memory was off, everything recorded so far is included",
        )
        parser.add_argument(
            "--strict", action="store_true", help="stop at the first bad line; earlier lines stay recorded"
        )
        parser.add_argument("--json", action="store_true", help="print the counts as JSON")

    def handle(self, *, file: str, enable: bool, strict: bool, transcript: bool, json: bool, **options: Any) -> None:
        projects = ProjectCache()
        counts = {"lines": 0, "recorded": 0, "known": 0, "bad": 0}
        reader = Reader(now(), transcript)
        with open_lines(file) as lines, _bar(lines) as bar:
            for batch in batches(reader.read(lines), strict=strict):
                for outcome in import_batch(projects, batch, now=now()):
                    counts["lines"] += 1
                    counts[self._counted(outcome, strict)] += 1
                _advance(bar, lines, counts["lines"])
        if enable:
            for project in projects.all():
                services.enable(
                    project.bank, actor=COMMAND_ACTOR, disclosure_accepted=True, history=not project.bank.enabled
                )
        counts["projects"] = len(projects.all())
        if reader.hint:
            self.stderr.write(reader.hint)
        self.print_values(counts, json=json)
        if counts["bad"]:
            skipped = f"Skipped {counts['bad']:,} bad of {pluralised(counts['lines'], 'line')}."
            raise CommandError(skipped, returncode=FAILURE_EXIT_CODE)

    def _counted(self, outcome: bool | BadLineError, strict: bool) -> str:
        if not isinstance(outcome, BadLineError):
            return "recorded" if outcome else "known"
        if strict:
            raise CommandError(f"{outcome} Nothing after it was read.", returncode=FAILURE_EXIT_CODE)
        self.stderr.write(str(outcome))
        return "bad"


def _bar(lines: TextIOWrapper) -> "tqdm[NoReturn]":
    """A progress bar: bytes of the file recorded, or lines if its size is unknown."""
    unsized = not lines.seekable()
    total, unit = (None, " lines") if unsized else (os.fstat(lines.fileno()).st_size, "B")
    return tqdm(total=total, unit=unit, unit_scale=not unsized, miniters=1, disable=None, leave=False)


def _advance(bar: "tqdm[NoReturn]", lines: TextIOWrapper, count: int) -> None:
    """Advance to the file position, once everything read has been recorded."""
    reached = count if bar.total is None else os.lseek(lines.fileno(), 0, os.SEEK_CUR)
    bar.update(reached - bar.n)

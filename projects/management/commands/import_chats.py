"""Import outputs from a JSON Lines file."""

import os
from io import TextIOWrapper
from typing import Any, NoReturn

from django.core.management.base import CommandError, CommandParser
from django.utils.timezone import now
from tqdm import tqdm

from memorybank import services
from projects.importing.jsonl import BadLineError, Reader
from projects.importing.service import BATCH, Projects, batches, take

from ..base import ACTOR, FAILED, TRANSCRIPT, MemoryCommand, counted, opened, readable


class Command(MemoryCommand):
    help = (
        "Record the outputs of a JSON Lines file, one output a line, with the fields tenant, project, chat, user, "
        "question, answer and created_at (ISO 8601 with a zone), and if wanted id, messages, status (ok, error, "
        "blocked, cancelled, stopped or pending) and title. Tenants, projects and chats that are missing are created. "
        "Importing the same file twice changes nothing; an answer to an id that had none completes it. A bad line is "
        "reported with its number and skipped; then the exit code is 1. "
        f"Lines are recorded {BATCH:,} at a time; after an interruption, importing the file again goes on from there."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=readable, help="JSON Lines in UTF-8; - reads standard input")
        parser.add_argument(
            "--enable",
            action="store_true",
            help="switch on the memory of every project in the file; by this you accept the privacy disclosure: "
            "everybody in a project is answered with notes made from everybody else's chats. Where it was off, "
            "all that was recorded until now is taken in",
        )
        parser.add_argument(
            "--strict", action="store_true", help="stop at the first bad line; what stands before it stays"
        )
        parser.add_argument("--transcript", action="store_true", help=TRANSCRIPT)
        parser.add_argument("--json", action="store_true", help="print the counts as JSON")

    def handle(self, *, file: str, enable: bool, strict: bool, transcript: bool, json: bool, **options: Any) -> None:
        projects = Projects()
        counts = {"lines": 0, "recorded": 0, "known": 0, "bad": 0}
        reader = Reader(now(), transcript)
        with opened(file) as lines, _bar(lines) as bar:
            for batch in batches(reader.read(lines), strict=strict):
                for outcome in take(projects, batch, now=now()):
                    counts["lines"] += 1
                    counts[self._counted(outcome, strict)] += 1
                _advance(bar, lines, counts["lines"])
        if enable:
            for project in projects.all():
                services.enable(project.bank, actor=ACTOR, disclosure_accepted=True, history=not project.bank.enabled)
        counts["projects"] = len(projects.all())
        if reader.hint:
            self.stderr.write(reader.hint)
        self.print_json(counts) if json else self.print_counts(counts)
        if counts["bad"]:
            raise CommandError(
                f"Skipped {counts['bad']:,} bad of {counted(counts['lines'], 'line')}.", returncode=FAILED
            )

    def _counted(self, outcome: bool | BadLineError, strict: bool) -> str:
        """Which count a line belongs to."""
        if not isinstance(outcome, BadLineError):
            return "recorded" if outcome else "known"
        if strict:
            raise CommandError(f"{outcome} Nothing after it was read.", returncode=FAILED)
        self.stderr.write(str(outcome))
        return "bad"


def _bar(lines: TextIOWrapper) -> "tqdm[NoReturn]":
    """On a terminal: how many bytes of the file are recorded; where it has no size, how many lines."""
    unsized = not lines.seekable()
    total, unit = (None, " lines") if unsized else (os.fstat(lines.fileno()).st_size, "B")
    return tqdm(total=total, unit=unit, unit_scale=not unsized, miniters=1, disable=None, leave=False)


def _advance(bar: "tqdm[NoReturn]", lines: TextIOWrapper, count: int) -> None:
    """To where the file has been read, when all that was read is recorded."""
    reached = count if bar.total is None else os.lseek(lines.fileno(), 0, os.SEEK_CUR)
    bar.update(reached - bar.n)

"""Import outputs from a JSON Lines file."""

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.timezone import now
from tqdm import tqdm

from memorybank import services
from memorybank.exceptions import InvalidInput
from projects.importing import BadLineError, Projects, Reader, bad_line, record

from ..base import ACTOR, FAILED, MemoryCommand, counted, opened, readable


class Command(MemoryCommand):
    help = (
        "Record the outputs of a JSON Lines file, one output a line, with the fields tenant, project, chat, user, "
        "question, answer and created_at (ISO 8601 with a zone), and if wanted id, messages, status (ok, error, "
        "blocked, cancelled, stopped or pending) and title. Tenants, projects and chats that are missing are created. "
        "Importing the same file twice changes nothing; an answer to an id that had none completes it. A bad line is "
        "reported with its number and skipped; then the exit code is 1."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=readable, help="JSON Lines in UTF-8; - reads standard input")
        parser.add_argument(
            "--enable",
            action="store_true",
            help="switch on the memory of every project in the file; by this you accept the privacy disclosure: "
            "everybody in a project is answered with notes made from everybody else's chats",
        )
        parser.add_argument(
            "--strict", action="store_true", help="stop at the first bad line; what stands before it stays"
        )
        parser.add_argument("--json", action="store_true", help="print the counts as JSON")

    def handle(self, *, file: str, enable: bool, strict: bool, json: bool, **options: Any) -> None:
        projects = Projects()
        counts = {"lines": 0, "recorded": 0, "known": 0, "bad": 0}
        for line in Reader(now()).read(_watched(file)):
            counts["lines"] += 1
            counts[self._take(line, projects, strict)] += 1
        if enable:
            for project in projects.all():
                services.enable(project.bank, actor=ACTOR, disclosure_accepted=True)
        counts["projects"] = len(projects.all())
        self.print_json(counts) if json else self.print_counts(counts)
        if counts["bad"]:
            raise CommandError(
                f"Skipped {counts['bad']:,} bad of {counted(counts['lines'], 'line')}.", returncode=FAILED
            )

    def _take(self, line: Any, projects: Projects, strict: bool) -> str:
        """Record a line; which count it belongs to."""
        if not isinstance(line, BadLineError):
            try:
                return "recorded" if record(projects, line, now=now()) else "known"
            except InvalidInput as error:
                line = bad_line(line.number, error)
        if strict:
            raise CommandError(f"{line} Nothing after it was read.", returncode=FAILED)
        self.stderr.write(str(line))
        return "bad"


def _watched(file: str) -> Iterator[str]:
    """The lines, with a progress bar on a terminal."""
    with opened(file) as lines:
        yield from tqdm(lines, unit=" lines", disable=None, leave=False)

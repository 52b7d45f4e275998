"""Check the invariants of memory on live data."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from memorybank import services
from projects.models import Project

from ..base import FAILED, MemoryCommand, counted, find_project


class Command(MemoryCommand):
    help = (
        "Check on live data that every turn is in exactly one summary or waits for one (I1), that the tree of entries "
        "and citations is sound (I2), and that the block fits its budget (I3). Reads only. Exits with 1 and the list "
        "if something is broken."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "project", metavar="T/P", nargs="?", help="only this project (tenant-slug/project-slug); without it, all"
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *, project: str | None, json: bool, **options: Any) -> None:
        chosen = [find_project(project)] if project else list(Project.objects.select_related("tenant", "bank"))
        violations = [
            {"project": each.path, **asdict(violation)} for each in chosen for violation in services.check(each.bank)
        ]
        if json:
            self.print_json({"ok": not violations, "violations": violations})
        else:
            for row in violations:
                self.stdout.write(f"{row['invariant']} {row['project']}, {row['where']}: {row['what']}")
        if violations:
            raise CommandError(f"{counted(len(violations), 'violation')}.", returncode=FAILED)
        if not json:
            self.stdout.write(f"{counted(len(chosen), 'project')} checked: coverage, tree and budget hold.")

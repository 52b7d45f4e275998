"""Export a project's memory as JSON Lines."""

import json
from typing import Any

from django.core.management.base import CommandParser

from memorybank import services

from ..base import ACTOR, MemoryCommand, add_project_argument, find_project


class Command(MemoryCommand):
    help = "Print everything a project's bank holds as JSON Lines: its settings, chats, outputs, entries and facts."

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)

    def handle(self, *, project: str, **options: Any) -> None:
        for row in services.export(find_project(project).bank, actor=ACTOR):
            self.stdout.write(json.dumps(row, ensure_ascii=False, default=str))

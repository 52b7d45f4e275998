"""Export a project's memory as JSON Lines."""

import json
from typing import Any

from django.core.management.base import CommandParser
from django.core.serializers.json import DjangoJSONEncoder

from memorybank import services

from ..base import COMMAND_ACTOR, MemoryCommand, add_project_argument, add_viewer_argument, find_asker, find_project


class Command(MemoryCommand):
    help = (
        "Print everything a project's bank holds as JSON Lines, each with its type: the bank's settings, chats, "
        "outputs, entries, facts. Private chats are left out, except those that the viewer may read. The export is "
        "logged in the audit log."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        add_viewer_argument(parser)

    def handle(self, *, project: str, **options: Any) -> None:
        target = find_project(project)
        viewer = find_asker(target, options["viewer"]).person
        for row in services.export(target.bank, actor=COMMAND_ACTOR, viewer=viewer):
            if left_out := row.get("private_chats_left_out"):
                self.stderr.write(f"{left_out} private {'chat is' if left_out == 1 else 'chats are'} left out.")
            self.stdout.write(json.dumps(row, ensure_ascii=False, cls=DjangoJSONEncoder))

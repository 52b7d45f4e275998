"""Leave a person out of a project's memory, or let her in again."""

from typing import Any

from django.core.management.base import CommandParser

from memorybank import services

from ..base import ACTOR, MemoryCommand, add_project_argument, find_project


class Command(MemoryCommand):
    help = (
        "Leave a person out of a project's memory: what was made of her words is erased, what she says is never used, "
        "not later either. Her turns stay in her chats; forget_memory erases those."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        parser.add_argument("author", metavar="USER", help="her user name, as her turns have it")
        parser.add_argument("--back", action="store_true", help="let her in again, from now on")

    def handle(self, *, project: str, author: str, back: bool, **options: Any) -> None:
        services.opt_out(find_project(project).bank, author=author, out=not back, actor=ACTOR)
        self.stdout.write(
            f"{author} is {'in' if back else 'out of'} the memory of {project}{' again' if back else ''}."
        )

"""Exclude a person from a project's memory, or include them again."""

from typing import Any

from django.core.management.base import CommandParser

from memorybank import services

from ..base import COMMAND_ACTOR, MemoryCommand, add_project_argument, find_project


class Command(MemoryCommand):
    help = (
        "Exclude a person from a project's memory: memory made from their messages is erased, and what they say is "
        "never used. Their turns stay in their chats; forget_memory erases those."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        parser.add_argument("author", metavar="USER", help="the user name, as recorded with their turns")
        parser.add_argument("--back", action="store_true", help="include them again, from now on")

    def handle(self, *, project: str, author: str, back: bool, **options: Any) -> None:
        services.opt_out(find_project(project).bank, author=author, out=not back, actor=COMMAND_ACTOR)
        self.stdout.write(
            f"{author} is {'in' if back else 'out of'} the memory of {project}{' again' if back else ''}."
        )

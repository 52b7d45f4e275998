"""Change a bank's settings from the shell."""

from argparse import BooleanOptionalAction
from typing import Any

from django.core.management.base import CommandParser

from memorybank import services

from ..base import ACTOR, MemoryCommand, add_project_argument, find_project

OPTIONS = {"budget": "max_tokens", "idle_minutes": "idle_minutes", "timezone": "timezone", "focus": "focus"}


class Command(MemoryCommand):
    help = "Show a project's memory settings, after changing those that are given."

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        parser.add_argument(
            "--enable",
            action=BooleanOptionalAction,
            help="switch memory on (by this you accept the privacy disclosure: everybody in the project is answered "
            "with notes made from everybody else's chats) or off",
        )
        parser.add_argument("--disable", dest="enable", action="store_false", help="the same as --no-enable")
        parser.add_argument("--budget", type=int, metavar="TOKENS", help="200 to 32,000")
        parser.add_argument(
            "--idle-minutes", type=int, metavar="N", help="minutes of silence before a chat is summarised"
        )
        parser.add_argument("--timezone", metavar="TZ", help="where days begin, such as Europe/Berlin")
        parser.add_argument("--focus", metavar="TEXT", help="what matters most, for the summariser")
        parser.add_argument("--json", action="store_true", help="print the settings as JSON")
        parser.set_defaults(enable=None)

    def handle(self, *, project: str, enable: bool | None, json: bool, **options: Any) -> None:
        bank = find_project(project).bank
        changes = {field: options[name] for name, field in OPTIONS.items() if options[name] is not None}
        if changes:
            services.configure(bank, actor=ACTOR, **changes)
        if enable:
            services.enable(bank, actor=ACTOR, disclosure_accepted=True)
        elif enable is False:
            services.disable(bank, actor=ACTOR)
        shown = {"enabled": bank.enabled, **{name: getattr(bank, field) for name, field in OPTIONS.items()}}
        self.print_json(shown) if json else self.print_counts(shown)

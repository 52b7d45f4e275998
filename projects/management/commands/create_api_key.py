"""Make an API key of a project from the shell; it is shown once."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from projects.tenancy import api_keys

from ...models import Scope
from ..base import ACTOR, MemoryCommand, add_project_argument, between, find_project


class Command(MemoryCommand):
    help = "Make an API key of a project and print it: only now, because a hash is all that is kept."

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        parser.add_argument("--name", required=True, help="whose it is, as it stands on audit trails")
        parser.add_argument(
            "--scopes",
            required=True,
            metavar="LIST",
            help=f"what it opens, of {','.join(Scope.values)}; none of them covers another",
        )
        parser.add_argument(
            "--expires",
            metavar="DAYS",
            type=between(1, api_keys.MAX_DAYS, "days"),
            help="days it is valid (default: ever)",
        )
        parser.add_argument("--json", action="store_true", help="print the key and what it opens as JSON")

    def handle(self, *, project: str, name: str, scopes: str, expires: int | None, json: bool, **options: Any) -> None:
        named = [each.strip() for each in scopes.split(",") if each.strip()]
        found = find_project(project)
        key, shown = api_keys.issue(found, name, named, actor=ACTOR, days=expires, now=timezone.now())
        if json:
            self.print_json({"key": shown, "name": key.name, "scopes": key.scopes, "expires_at": key.expires_at})
        else:
            self.stdout.write(shown)

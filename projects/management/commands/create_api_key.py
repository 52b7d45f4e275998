"""Create an API key for a project."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from projects.tenancy import api_keys

from ...models import NameSource, Scope
from ...models.key import DEFAULT_NAME_SOURCES
from ..base import COMMAND_ACTOR, MemoryCommand, add_project_argument, find_project, whole_number


class Command(MemoryCommand):
    help = "Create an API key for a project and print it. It cannot be shown again: only its hash is stored."

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        parser.add_argument("--name", required=True, help="its name in the audit log")
        parser.add_argument(
            "--scopes",
            required=True,
            metavar="LIST",
            help=f"any of {','.join(Scope.values)}; no scope includes another",
        )
        parser.add_argument(
            "--expires",
            metavar="DAYS",
            type=whole_number(1, api_keys.MAX_KEY_DAYS, "days"),
            help="days until it expires (default: never)",
        )
        parser.add_argument(
            "--names-from",
            metavar="LIST",
            default=",".join(DEFAULT_NAME_SOURCES),
            help=f"where its requests say who is speaking: any of {','.join(NameSource.values)}, or none"
            f" (default: {','.join(DEFAULT_NAME_SOURCES)})",
        )
        parser.add_argument("--json", action="store_true", help="print the key and its scopes as JSON")

    def handle(
        self,
        *,
        project: str,
        name: str,
        scopes: str,
        expires: int | None,
        names_from: str,
        json: bool,
        **options: Any,
    ) -> None:
        key, secret = api_keys.issue(
            find_project(project),
            name,
            _listed(scopes),
            actor=COMMAND_ACTOR,
            days=expires,
            name_sources=[source for source in _listed(names_from) if source != "none"],
            now=timezone.now(),
        )
        if json:
            self.print_json({"key": secret, "name": key.name, "scopes": key.scopes, "expires_at": key.expires_at})
        else:
            self.stdout.write(secret)


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]

"""List a project's API keys, or revoke one."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from projects.tenancy import api_keys

from ...models import APIKey, Project
from ..base import COMMAND_ACTOR, USAGE_EXIT_CODE, MemoryCommand, add_project_argument, find_project


class Command(MemoryCommand):
    help = "List the API keys of a project, never the keys themselves, or revoke one by its prefix."

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        parser.add_argument("--revoke", metavar="PREFIX", help="revoke the key with this prefix")
        parser.add_argument("--json", action="store_true", help="print them as JSON")

    def handle(self, *, project: str, revoke: str | None, json: bool, **options: Any) -> None:
        owner = find_project(project)
        if revoke is not None:
            api_keys.revoke(_find_key(owner, revoke), actor=COMMAND_ACTOR, now=timezone.now())
        keys = [_as_json(key) for key in owner.api_keys.order_by("pk")]
        if json:
            self.print_json({"keys": keys})
            return
        for key in keys:
            self.print_counts({**key, "scopes": ",".join(key["scopes"])})
            self.stdout.write("")


def _find_key(project: Project, prefix: str) -> APIKey:
    key = project.api_keys.filter(prefix=prefix).first()
    if key is None:
        raise CommandError(f"{project.path} has no key “{prefix[:40]}…”.", returncode=USAGE_EXIT_CODE)
    return key


def _as_json(key: APIKey) -> dict[str, Any]:
    fields = ("name", "prefix", "scopes", "created_at", "expires_at", "revoked_at", "last_used_at")
    return {name: getattr(key, name) for name in fields}

"""The API keys of a project from the shell: which there are, and one revoked."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from projects.tenancy import api_keys

from ...models import APIKey, Project
from ..base import ACTOR, USAGE, MemoryCommand, add_project_argument, find_project


class Command(MemoryCommand):
    help = "List the API keys of a project, never the keys themselves, or revoke one by its prefix."

    def add_arguments(self, parser: CommandParser) -> None:
        add_project_argument(parser)
        parser.add_argument("--revoke", metavar="PREFIX", help="let this one open nothing from now on")
        parser.add_argument("--json", action="store_true", help="print them as JSON")

    def handle(self, *, project: str, revoke: str | None, json: bool, **options: Any) -> None:
        found = find_project(project)
        if revoke is not None:
            api_keys.revoke(_named(found, revoke), actor=ACTOR, now=timezone.now())
        shown = [_as_json(each) for each in found.api_keys.order_by("pk")]
        if json:
            self.print_json({"keys": shown})
            return
        for each in shown:
            self.print_counts({**each, "scopes": ",".join(each["scopes"])})
            self.stdout.write("")


def _named(project: Project, prefix: str) -> APIKey:
    key = project.api_keys.filter(prefix=prefix).first()
    if key is None:
        raise CommandError(f"{project.path} has no key “{prefix[:40]}…”.", returncode=USAGE)
    return key


def _as_json(key: APIKey) -> dict[str, Any]:
    told = ("name", "prefix", "scopes", "created_at", "expires_at", "revoked_at", "last_used_at")
    return {name: getattr(key, name) for name in told}

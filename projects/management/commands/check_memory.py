"""Check the invariants of memory on live data."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from memorybank import services
from projects.tenancy import audit

from ...models import Project, Tenant
from ..base import FAILURE_EXIT_CODE, MemoryCommand, find_project, pluralised


class Command(MemoryCommand):
    help = (
        "Check on live data that every turn is in exactly one summary or waits for one (I1), that the tree of entries "
        "and citations is sound (I2), that the block fits its budget (I3), that this machine knows the time zones of "
        "the projects, and that the audit logs are whole. Reads only. Exits with 1 and the list if something is broken."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "project", metavar="T/P", nargs="?", help="only this project (tenant-slug/project-slug); without it, all"
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *, project: str | None, json: bool, **options: Any) -> None:
        chosen = [find_project(project)] if project else list(Project.objects.select_related("tenant", "bank"))
        tenants = [chosen[0].tenant] if project else list(Tenant.objects.all())
        violations = [*_project_violations(chosen), *_audit_violations(tenants)]
        if json:
            self.print_json({"ok": not violations, "violations": violations, "trails": audit.ends(chosen, tenants)})
        else:
            for row in violations:
                self.stdout.write(f"{row['invariant']} {row['project']}, {row['where']}: {row['what']}")
        if violations:
            raise CommandError(f"{pluralised(len(violations), 'violation')}.", returncode=FAILURE_EXIT_CODE)
        if not json:
            checked = pluralised(len(chosen), "project")
            self.stdout.write(f"{checked} checked: coverage, tree, budget and audit log hold.")


def _project_violations(projects: Iterable[Project]) -> Iterator[dict[str, str]]:
    for project in projects:
        for violation in services.find_violations(project.bank):
            yield {"project": project.path, **asdict(violation)}


def _audit_violations(tenants: Iterable[Tenant]) -> Iterator[dict[str, str]]:
    for tenant in tenants:
        for where, what in audit.verify(tenant):
            yield {"project": f"{tenant.slug}/", "invariant": "trail", "where": where, "what": what}

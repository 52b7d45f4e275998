"""What is put on a tenant's audit trail, and whether all of it is still there."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from memorybank import services
from memorybank.services import Head
from projects.models import Membership, Project, Tenant, TenantEvent, TenantTrail

Action = TenantEvent.Action


def log(tenant: Tenant, actor: str, action: Action, now: datetime, **detail: Any) -> None:
    """Append to the trail. ``detail`` holds user names, roles and settings: no address, no chat text."""
    TenantTrail.append(TenantEvent(tenant=tenant, actor=actor, action=action, detail=detail, at=now))


def removed(members: Iterable[Membership], actor: str, now: datetime) -> None:
    """These are about to be taken out."""
    for member in members:
        log(member.tenant, actor, Action.REMOVE, now, person=member.user.get_username(), role=member.role)


def deleted(projects: Iterable[Project], actor: str, now: datetime) -> None:
    """These are about to be deleted, each with its own trail, whose end is kept here."""
    projects = list(projects)
    trails = services.audit_logs([project.bank_id for project in projects])
    for project in projects:
        head = trails.get(project.bank_id)
        end = {"events": head.length, "seal": head.seal} if head else {}
        log(project.tenant, actor, Action.DELETE, now, project=project.slug, **end)


def flaws(tenant: Tenant) -> Iterator[tuple[str, str]]:
    """What is missing on the trail or was changed: where, and what."""
    return TenantEvent.objects.filter(tenant=tenant).flaws(TenantTrail.objects.filter(tenant=tenant).first())


def ends(projects: Iterable[Project], tenants: Iterable[Tenant]) -> dict[str, dict[str, Any]]:
    """Where each trail ends: kept elsewhere, it shows whether a whole trail was written anew."""
    of_banks = services.audit_logs([each.bank_id for each in projects])
    of_tenants = TenantTrail.objects.in_bulk([each.pk for each in tenants])
    found: dict[str, Head | None] = {each.path: of_banks.get(each.bank_id) for each in projects}
    found |= {f"{each.slug}/": of_tenants.get(each.pk) for each in tenants}
    return {name: {"events": head.length, "seal": head.seal} for name, head in found.items() if head}

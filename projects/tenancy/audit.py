"""Append to a tenant's audit log, and verify it."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from memorybank import services
from projects.models import Membership, Project, Tenant, TenantAuditLog, TenantEvent

TenantAction = TenantEvent.Action


def log(tenant: Tenant, actor: str, action: TenantAction, now: datetime, **detail: Any) -> None:
    """Append an event. ``detail`` may contain user names, roles and settings, but no e-mail address or chat text."""
    TenantAuditLog.append(TenantEvent(tenant=tenant, actor=actor, action=action, detail=detail, at=now))


def removed(members: Iterable[Membership], actor: str, now: datetime) -> None:
    """Log that members are about to be removed."""
    for member in members:
        log(member.tenant, actor, TenantAction.REMOVE, now, person=member.user.get_username(), role=member.role)


def deleted(projects: Iterable[Project], actor: str, now: datetime) -> None:
    """Log that projects are about to be deleted, with the end of each project's audit log, which is deleted with it."""
    projects = list(projects)
    logs = services.audit_logs([project.bank_id for project in projects])
    for project in projects:
        end = logs[project.bank_id].end if project.bank_id in logs else {}
        log(project.tenant, actor, TenantAction.DELETE, now, project=project.slug, **end)


def verify(tenant: Tenant) -> Iterator[tuple[str, str]]:
    """Find missing and changed events; yield the place and the problem of each."""
    return TenantEvent.objects.filter(tenant=tenant).verify(TenantAuditLog.objects.filter(tenant=tenant).first())


def ends(projects: Iterable[Project], tenants: Iterable[Tenant]) -> dict[str, dict[str, Any]]:
    """The end of each audit log, by path. A copy kept elsewhere reveals whether an entire log was rewritten."""
    of_banks = services.audit_logs([project.bank_id for project in projects])
    of_tenants = TenantAuditLog.objects.in_bulk([tenant.pk for tenant in tenants])
    ends = {project.path: of_banks[project.bank_id].end for project in projects if project.bank_id in of_banks}
    return ends | {f"{tenant.slug}/": of_tenants[tenant.pk].end for tenant in tenants if tenant.pk in of_tenants}

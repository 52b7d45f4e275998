"""The operator's actions on tenants, projects and members, with the audit log."""

from datetime import datetime

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from memorybank.exceptions import InvalidInput
from projects.models import Membership, Project, Role, Tenant

from . import audit
from .audit import TenantAction
from .members import open_admin


def create_tenant(slug: str, name: str, *, actor: str, now: datetime, owner: User | None = None) -> Tenant:
    """Create a tenant, with its first owner if one is given. Raises :class:`InvalidInput`, naming the field."""
    tenant = Tenant(slug=slug, name=name or slug)
    _require_valid(tenant)
    with transaction.atomic():
        tenant.save()
        detail = {"owner": owner.get_username()} if owner else {}
        audit.log(tenant, actor, TenantAction.CREATE, now, slug=slug, **detail)
        if owner:
            Membership.objects.create(tenant=tenant, user=owner, role=Role.OWNER)
            open_admin(owner, Role.OWNER)
    return tenant


def create_project(tenant: Tenant, slug: str, name: str) -> Project:
    """Create a project with memory switched off. Raises :class:`InvalidInput` if its slug is taken or invalid."""
    _require_valid(Project(tenant=tenant, slug=slug, name=name or slug), exclude=["bank"])
    return Project.objects.open(tenant, slug, name or slug)


def put_member(tenant: Tenant, username: str, role: Role, *, actor: str, now: datetime, email: str = "") -> Membership:
    """Add a member, or change their role. A missing account is created without a password, so nobody can use it yet.

    Raises :class:`InvalidInput`.
    """
    with transaction.atomic():
        user = User.objects.filter(username=username).first() or _new_account(username, email)
        member, new = Membership.objects.get_or_create(tenant=tenant, user=user, defaults={"role": role})
        before = member.role
        if not new and before != role:
            member.role = role
            member.save(update_fields=["role"])
        if new or before != role:
            detail = {"role": role} if new else {"before": before, "after": role}
            audit.log(tenant, actor, TenantAction.ADD if new else TenantAction.ROLE, now, person=username, **detail)
        open_admin(user, role)
    return member


def remove_member(member: Membership, *, actor: str, now: datetime) -> None:
    """Remove a member, even the last owner. Memory keeps their data until it is erased."""
    with transaction.atomic():
        member.tenant.invitations.filter(invited_by=member.user_id).delete()
        audit.removed([member], actor, now)
        member.delete()


def delete_project(project: Project, *, actor: str, now: datetime) -> None:
    """Delete a project with everything that it remembers."""
    with transaction.atomic():
        audit.deleted([project], actor, now)
        project.delete()


def _new_account(username: str, email: str) -> User:
    user = User(username=username, email=email)
    user.set_unusable_password()
    _require_valid(user)
    user.save()
    return user


def _require_valid(row: Tenant | Project | User, exclude: list[str] | None = None) -> None:
    try:
        row.full_clean(exclude=exclude)
    except ValidationError as error:
        field, problems = next(iter(error.message_dict.items()))
        raise InvalidInput(f"{'slug' if field == '__all__' else field}: {problems[0]}") from None

"""Permissions of users and API keys. Objects that a user may not see give 404, as if they did not exist."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet, Value
from django.db.models.functions import Concat
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _

from memorybank import services
from memorybank.services import Bank
from projects.models import Conversation, Membership, Project, Role, Scope, Tenant

#: Names of the URLs that are open to everybody.
PUBLIC_URLS = frozenset(
    {"home", "favicon", "login", "logout", "invitation", "healthz", "readyz", "metrics", "language", "words"}
    | {"forgotten", "new-password", "admin-login", "admin-password"}
    | {"account", "confirm-email", "end-sessions", "delete-account"}  # the user's own account, signed in
    | {"api-description", "api-nowhere"}  # the description of the API, and its error for unknown addresses
    | {"gateway-root", "gateway-nowhere"}  # the gateway's error for unknown addresses
)
#: The minimum role for each other page or posted form, by URL name. Superusers manage people and memory in every
#: tenant, but cannot open other people's projects or chats. Django's admin uses :func:`tenants_for` and
#: :func:`banks_for`: staff see the tenants in which they are owner or admin, superusers see all.
URL_PERMISSIONS = {
    **dict.fromkeys(("people", "invite", "withdraw", "change-role", "remove-member", "open-project"), Role.ADMIN),
    "tenant-activity": Role.ADMIN,
    "project": Role.VIEWER,
    **dict.fromkeys(("new-project", "project-settings", "project-keys", "project-revoke-key"), Role.ADMIN),
    **dict.fromkeys(("project-costs", "project-notices", "project-import", "project-import-run"), Role.ADMIN),
    **dict.fromkeys(("project-export", "project-webhooks", "project-webhook"), Role.ADMIN),
    # The member's own chats; nobody may open another member's chat.
    **dict.fromkeys(("chat", "new-chat", "compaction", "private", "rename-chat", "delete-chat"), Role.MEMBER),
    **dict.fromkeys(("answer-stream", "stop-answer", "retry", "remember", "edit-turn", "regenerate"), Role.MEMBER),
    **dict.fromkeys(("remember-now", "forget-turn", "used", "continue", "show-version"), Role.MEMBER),
    **dict.fromkeys(("chat-state", "answer-source", "rate-answer", "export-chat", "share-chat"), Role.MEMBER),
    "read-chat": Role.VIEWER,  # a chat that its owner has shared to read
    **dict.fromkeys(("memory", "memory-facts", "memory-timeline", "memory-past", "memory-activity"), Role.VIEWER),
    # The member's own preferences, and memory of private chats for this member.
    **dict.fromkeys(("memory-mine", "memory-own", "memory-mine-decide"), Role.VIEWER),
    "memory-receipt": Role.VIEWER,  # owners and admins open all receipts, others those of what they erased
    # Quarantined lines may be written to influence their reader; a line's turns are people's own words.
    **dict.fromkeys(("memory-review", "memory-why", "memory-decide", "memory-edit", "memory-add"), Role.ADMIN),
    **dict.fromkeys(("memory-forget", "memory-retry"), Role.ADMIN),
}
#: The scope that an API key needs, by URL name and method. A key opens only its own project; a login session opens
#: none of these URLs.
URL_SCOPES = {
    "api-outputs": {"GET": Scope.READ, "POST": Scope.WRITE},
    "api-output": {"GET": Scope.READ, "DELETE": Scope.ADMIN},
    "api-ratings": {"GET": Scope.READ, "PUT": Scope.WRITE},
    "api-batch": {"POST": Scope.WRITE},
    "api-chats": {"GET": Scope.READ},
    "api-chat": {"GET": Scope.READ, "PATCH": Scope.WRITE, "DELETE": Scope.ADMIN},
    "api-chat-outputs": {"GET": Scope.READ},
    "api-compaction": {"GET": Scope.READ, "POST": Scope.WRITE},
    "api-entries": {"GET": Scope.READ},
    "api-entry": {"GET": Scope.READ},
    "api-facts": {"GET": Scope.READ, "POST": Scope.ADMIN},
    "api-fact": {"GET": Scope.READ, "PATCH": Scope.ADMIN, "DELETE": Scope.ADMIN},
    "api-fact-history": {"GET": Scope.ADMIN},
    "api-authors": {"GET": Scope.READ},
    "api-export": {"GET": Scope.ADMIN},
    "api-block": {"GET": Scope.READ},
    "api-memory": {"POST": Scope.READ},  # a question, in a body because URLs are logged
    "api-recall": {"POST": Scope.READ},
    "api-summarise": {"POST": Scope.WRITE},
    "api-job": {"GET": Scope.READ},
    "api-job-events": {"GET": Scope.READ},
    "api-forget": {"POST": Scope.ADMIN},
    "api-receipts": {"GET": Scope.ADMIN},
    "api-receipt": {"GET": Scope.ADMIN},
    "api-key": {"GET": Scope.READ},
    "api-settings": {"GET": Scope.READ, "PATCH": Scope.ADMIN},
    "api-usage": {"GET": Scope.READ},
    "api-webhooks": {"GET": Scope.ADMIN, "POST": Scope.ADMIN},
    "api-webhook": {"GET": Scope.ADMIN, "PATCH": Scope.ADMIN, "DELETE": Scope.ADMIN},
    "api-deliveries": {"GET": Scope.ADMIN},
    "mcp": {"POST": Scope.READ},
    "gateway": dict.fromkeys(("GET", "POST", "DELETE"), Scope.WRITE),  # every endpoint of every protocol
    "gateway-models": {"GET": Scope.WRITE},
    "gateway-model": {"GET": Scope.WRITE},
}

#: The methods of the URLs that need the operator's key, by URL name.
OPERATOR_METHODS = {
    "operator-tenants": ("GET", "POST"),
    "operator-tenant": ("GET", "DELETE"),
    "operator-projects": ("GET", "POST"),
    "operator-project": ("GET", "DELETE"),
    "operator-members": ("GET",),
    "operator-member": ("PUT", "DELETE"),
    "operator-keys": ("GET", "POST"),
    "operator-key": ("DELETE",),
}


def page_for(user: User | AnonymousUser, name: str, tenant: str, project: str) -> tuple[Project, Role]:
    """The project of a page, and the user's role there; refuses like :func:`enter_project`.

    A superuser may open the pages of memory and of project settings in every tenant, with the role of an owner.
    """
    if isinstance(user, User) and user.is_superuser and name.startswith(("memory", "project-")):
        return _enter_only(Project.objects.at(f"{tenant}/{project}")), Role.OWNER
    project_row = _visible(user, f"{tenant}/{project}")
    return project_row, require(user, project_row.tenant, URL_PERMISSIONS[name])


def may_open(user: User, project: Project) -> bool:
    """Whether a user who may open the project's memory page may open the project itself.

    Superusers may open the memory page of every project.
    """
    return not user.is_superuser or Project.objects.filter(pk=project.pk).visible_to(user).exists()


def enter_project(user: User | AnonymousUser, path: str, needed: Role = Role.VIEWER) -> Project:
    """Enter the bank of the project at ``tenant/project`` for a member of its tenant; return the project.

    A stranger gets :class:`Http404`, whether the project exists or not; a member whose role does not
    cover ``needed`` gets :class:`PermissionDenied`. Staff status gives no access here.
    """
    project = _visible(user, path)
    require(user, project.tenant, needed)
    return project


def _visible(user: User | AnonymousUser, path: str) -> Project:
    # 404 before 403: the difference would tell a stranger that the project exists.
    return _enter_only(Project.objects.at(path).visible_to(user) if isinstance(user, User) else Project.objects.none())


def _enter_only(projects: QuerySet[Project]) -> Project:
    """Enter the bank and tenant of the only project, and its time zone for this request; return the project.

    Raises :class:`Http404` if there is none.
    """
    with services.all_banks_entered():
        project = get_object_or_404(projects.select_related("tenant", "bank"))
    services.enter(project.bank_id, owners=[project.tenant_id])
    timezone.activate(project.bank.tz)
    return project


def require(user: User | AnonymousUser, tenant: Tenant, needed: Role) -> Role:
    """The member's role in ``tenant``; refuses like :func:`enter_project`."""
    membership = Membership.objects.filter(user=user.pk, tenant=tenant).first()
    if membership is None:
        raise Http404
    role = Role(membership.role)
    if not role.covers(needed):
        raise PermissionDenied(
            _("This needs the role “%(role)s” in %(tenant)s.") % {"role": needed.label, "tenant": tenant}
        )
    return role


def enter_tenant(user: User, slug: str) -> Tenant:
    """Enter the banks of the tenant whose people ``user`` may manage, as owner, admin or superuser; return the tenant.

    A stranger gets :class:`Http404`, another member :class:`PermissionDenied`.
    """
    tenant = get_object_or_404(Tenant, slug=slug)
    if not user.is_superuser:
        require(user, tenant, URL_PERMISSIONS["people"])
    services.enter_banks_in(services.all_banks().filter(project__tenant=tenant), owners=[tenant.pk])
    return tenant


def roles_below(user: User, tenant: Tenant) -> list[Role]:
    """The roles that ``user`` may give and take in ``tenant``: their own and those it covers."""
    return [role for role in Role if may(user, tenant, role)]


def conversation_for(
    user: User | AnonymousUser, path: str, key: str, needed: Role = Role.MEMBER
) -> tuple[Project, Conversation]:
    """The chat ``key`` in ``tenant/project``, for its owner only.

    Refuses like :func:`enter_project`; the chat of another member does not exist (404).
    """
    project = enter_project(user, path, needed)
    assert isinstance(user, User)
    return project, get_object_or_404(Conversation.objects.of(user, project), chat__key=key)


def readable_conversation(user: User | AnonymousUser, path: str, key: str) -> tuple[Project, Conversation]:
    """The chat ``key`` for its owner, and for every member of the project while its owner shares it and may open it.

    Refuses like :func:`enter_project`; a chat that is not shared does not exist (404).
    """
    project = enter_project(user, path, URL_PERMISSIONS["read-chat"])
    chats = Conversation.objects.filter(chat__bank=project.bank_id, owner__isnull=False)
    conversation = get_object_or_404(chats.select_related("chat", "owner"), chat__key=key)
    owner = conversation.owner
    assert owner is not None
    is_shared = conversation.shared_at and Project.objects.filter(pk=project.pk).visible_to(owner).exists()
    if owner != user and not is_shared:
        raise Http404
    return project, conversation


def may(user: User, tenant: Tenant, needed: Role) -> bool:
    """Whether the role of ``user`` in ``tenant`` covers ``needed``; always true for superusers."""
    membership = Membership.objects.filter(user=user, tenant=tenant).first()
    return user.is_superuser or (membership is not None and Role(membership.role).covers(needed))


def enter_projects(user: User) -> QuerySet[Project]:
    """Enter the banks of the projects that ``user`` may open; return these projects."""
    projects = Project.objects.visible_to(user)
    services.enter_banks_in(services.all_banks().filter(project__in=projects))
    return projects.select_related("tenant", "bank")


def tenants_to_write_in(user: User) -> set[int]:
    """The ids of the tenants in whose projects ``user`` may chat."""
    memberships = Membership.objects.filter(user=user).values_list("tenant", "role")
    return {tenant for tenant, role in memberships if Role(role).covers(Role.MEMBER)}


def tenants_for(user: Any) -> QuerySet[Tenant]:
    """The tenants that a staff member administers as owner or admin; all for superusers."""
    if user.is_superuser:
        return Tenant.objects.all()
    return Tenant.objects.filter(memberships__user=user, memberships__role__in=[Role.OWNER, Role.ADMIN])


def banks_for(user: Any) -> QuerySet[Bank]:
    """The banks whose memory a staff member may see in the admin, each with its ``label``."""
    banks = services.all_banks().annotate(label=Concat("project__tenant__slug", Value("/"), "project__slug"))
    return banks if user.is_superuser else banks.filter(project__tenant__in=tenants_for(user))


def enter_banks_for(user: Any) -> None:
    """Enter the tenants that a staff member administers, and the banks whose memory they may see in the admin."""
    if user.is_superuser:
        services.enter_all_banks()
    else:
        services.enter_banks_in(banks_for(user), owners=tenants_for(user).values_list("pk", flat=True))


def last_owners(user: Any, leaving: Iterable[Membership]) -> list[Tenant]:
    """The tenants that would lose their last owner, locked until the transaction ends. None for superusers."""
    if user.is_superuser:
        return []
    ids = [membership.pk for membership in leaving]
    owned = Tenant.objects.filter(memberships__in=ids, memberships__role=Role.OWNER).values("pk")
    # Locked, because two owners who leave at once would each find the other still there.
    tenants = Tenant.objects.select_for_update().filter(pk__in=owned)
    return [tenant for tenant in tenants if not tenant.memberships.filter(role=Role.OWNER).exclude(pk__in=ids).exists()]

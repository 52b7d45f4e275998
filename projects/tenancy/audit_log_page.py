"""A tenant's audit log in words, with links to what an event is about."""

from collections import defaultdict
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, pgettext_lazy
from django.views.decorators.http import require_GET

from projects.models import Role, TenantEvent
from projects.web.pagination import numbered_page
from projects.web.requests import MemberRequest

from . import permissions
from .audit import TenantAction

EVENTS_ON_A_PAGE = 50
#: The actions in words, with the event's detail.
ACTION_TEXTS: dict[str, Promise] = {
    TenantAction.CREATE: pgettext_lazy("somebody", "created this tenant"),
    TenantAction.CHANGE: pgettext_lazy("somebody", "changed this tenant: %(changes)s"),
    TenantAction.INVITE: pgettext_lazy("somebody", "invited somebody as %(role)s"),
    TenantAction.WITHDRAW: pgettext_lazy("somebody", "withdrew an invitation"),
    TenantAction.JOIN: pgettext_lazy("somebody", "joined as %(role)s"),
    TenantAction.ADD: pgettext_lazy("somebody", "added %(person)s as %(role)s"),
    TenantAction.ROLE: pgettext_lazy("somebody", "changed %(person)s from %(before)s to %(after)s"),
    TenantAction.REMOVE: pgettext_lazy("somebody", "removed %(person)s, who was %(role)s"),
    TenantAction.OPEN: pgettext_lazy("somebody", "opened %(project)s to %(readers)s"),
    TenantAction.DELETE: pgettext_lazy("somebody", "deleted the project %(project)s"),
    TenantAction.ISSUE: pgettext_lazy("somebody", "issued the key “%(key)s” of %(project)s for %(scopes)s"),
    TenantAction.REVOKE: pgettext_lazy("somebody", "revoked the key “%(key)s” of %(project)s"),
    TenantAction.HOOK: pgettext_lazy("somebody", "added or changed a webhook of %(project)s to %(host)s"),
    TenantAction.UNHOOK: pgettext_lazy("somebody", "deleted a webhook of %(project)s to %(host)s"),
    TenantAction.IMPORT: pgettext_lazy("somebody", "imported chats into %(project)s (%(chats)s)"),
    TenantAction.SHARE: pgettext_lazy("somebody", "shared a chat of %(project)s to read"),
    TenantAction.UNSHARE: pgettext_lazy("somebody", "stopped sharing a chat of %(project)s"),
}
#: The page that an event is about, within its project.
EVENT_PAGES = dict.fromkeys((TenantAction.ISSUE, TenantAction.REVOKE), "project-keys") | {
    TenantAction.IMPORT: "project-import"
}
EVENT_PAGES |= dict.fromkeys((TenantAction.HOOK, TenantAction.UNHOOK), "project-notices")


def event_text(event: TenantEvent) -> str:
    """The actor's action in words, such as “changed bob from member to admin”."""
    detail: dict[str, Any] = defaultdict(lambda: "–", {name: _text(value) for name, value in event.detail.items()})
    detail |= {name: _role(detail[name]) for name in ("role", "before", "after") if name in detail}
    named = event.detail.get("named") or []
    if event.action == TenantAction.OPEN:
        everybody = gettext("everybody")
        detail["readers"] = (
            ", ".join([gettext("owners and admins"), *named]) if event.detail["members_only"] else everybody
        )
    if event.action == TenantAction.CHANGE:
        changes = ((name, *map(_text, pair)) for name, pair in event.detail.items())
        detail["changes"] = ", ".join(f"{name.replace('_', ' ')} {old} → {new}" for name, old, new in changes)
    return str(ACTION_TEXTS[event.action]) % detail if event.action in ACTION_TEXTS else event.get_action_display()


def event_url(event: TenantEvent) -> str:
    """The page about the event; "" if there is none, as for a project that was deleted."""
    project = event.detail.get("project")
    if (
        not project
        or event.action == TenantAction.DELETE
        or project not in {each.slug for each in event.tenant.projects.all()}
    ):
        return ""
    return reverse(EVENT_PAGES.get(TenantAction(event.action), "project"), args=[event.tenant.slug, project])


@require_GET
@login_required
def audit_log_page(request: MemberRequest, tenant: str) -> HttpResponse:
    """The changes in the tenant with their actors, newest first."""
    tenant_row = permissions.enter_tenant(request.user, tenant)
    page = numbered_page(request, tenant_row.events.prefetch_related("tenant__projects"), EVENTS_ON_A_PAGE)
    rows = [{"event": event, "words": event_text(event), "address": event_url(event)} for event in page]
    return render(request, "projects/tenant_activity.html", {"tenant": tenant_row, "page": page, "rows": rows})


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "–"
    return "–" if value in (None, "") else str(value)


def _role(name: str) -> str:
    return str(Role(name).label) if name in Role.values else name

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

EVENTS_ON_A_PAGE = 50
Action = TenantEvent.Action
#: What somebody did, with the event's detail.
ACTION_TEXTS: dict[str, Promise] = {
    Action.CREATE: pgettext_lazy("somebody", "created this tenant"),
    Action.CHANGE: pgettext_lazy("somebody", "changed this tenant: %(changes)s"),
    Action.INVITE: pgettext_lazy("somebody", "invited somebody as %(role)s"),
    Action.WITHDRAW: pgettext_lazy("somebody", "withdrew an invitation"),
    Action.JOIN: pgettext_lazy("somebody", "joined as %(role)s"),
    Action.ADD: pgettext_lazy("somebody", "added %(person)s as %(role)s"),
    Action.ROLE: pgettext_lazy("somebody", "changed %(person)s from %(before)s to %(after)s"),
    Action.REMOVE: pgettext_lazy("somebody", "removed %(person)s, who was %(role)s"),
    Action.OPEN: pgettext_lazy("somebody", "opened %(project)s to %(readers)s"),
    Action.DELETE: pgettext_lazy("somebody", "deleted the project %(project)s"),
    Action.ISSUE: pgettext_lazy("somebody", "issued the key “%(key)s” of %(project)s for %(scopes)s"),
    Action.REVOKE: pgettext_lazy("somebody", "revoked the key “%(key)s” of %(project)s"),
    Action.HOOK: pgettext_lazy("somebody", "added or changed a webhook of %(project)s to %(host)s"),
    Action.UNHOOK: pgettext_lazy("somebody", "deleted a webhook of %(project)s to %(host)s"),
    Action.IMPORT: pgettext_lazy("somebody", "imported chats into %(project)s (%(chats)s)"),
    Action.SHARE: pgettext_lazy("somebody", "shared a chat of %(project)s to read"),
    Action.UNSHARE: pgettext_lazy("somebody", "stopped sharing a chat of %(project)s"),
}
#: The page that an event is about, within its project.
EVENT_PAGES = dict.fromkeys((Action.ISSUE, Action.REVOKE), "project-keys") | {Action.IMPORT: "project-import"}
EVENT_PAGES |= dict.fromkeys((Action.HOOK, Action.UNHOOK), "project-notices")


def event_text(event: TenantEvent) -> str:
    """What the actor did, such as “changed bob from member to admin”."""
    detail: dict[str, Any] = defaultdict(lambda: "–", {name: _text(value) for name, value in event.detail.items()})
    detail |= {name: _role(detail[name]) for name in ("role", "before", "after") if name in detail}
    named = event.detail.get("named") or []
    if event.action == Action.OPEN:
        everybody = gettext("everybody")
        detail["readers"] = (
            ", ".join([gettext("owners and admins"), *named]) if event.detail["members_only"] else everybody
        )
    if event.action == Action.CHANGE:
        changes = ((name, *map(_text, pair)) for name, pair in event.detail.items())
        detail["changes"] = ", ".join(f"{name.replace('_', ' ')} {old} → {new}" for name, old, new in changes)
    return str(ACTION_TEXTS[event.action]) % detail if event.action in ACTION_TEXTS else event.get_action_display()


def event_url(event: TenantEvent) -> str:
    """The page about the event; "" if there is none, as for a project that was deleted."""
    project = event.detail.get("project")
    if (
        not project
        or event.action == Action.DELETE
        or project not in {each.slug for each in event.tenant.projects.all()}
    ):
        return ""
    return reverse(EVENT_PAGES.get(Action(event.action), "project"), args=[event.tenant.slug, project])


@require_GET
@login_required
def audit_log_page(request: MemberRequest, tenant: str) -> HttpResponse:
    """Who changed what in the tenant, newest first."""
    tenant_row = permissions.tenant_for(request.user, tenant)
    page = numbered_page(request, tenant_row.events.prefetch_related("tenant__projects"), EVENTS_ON_A_PAGE)
    rows = [{"event": event, "words": event_text(event), "address": event_url(event)} for event in page]
    return render(request, "projects/tenant_activity.html", {"tenant": tenant_row, "page": page, "rows": rows})


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or "–"
    return "–" if value in (None, "") else str(value)


def _role(name: str) -> str:
    return str(Role(name).label) if name in Role.values else name

"""The pages on which owners and admins create and configure projects."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any
from zoneinfo import available_timezones

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Q
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from memorybank import llm, services
from memorybank.exceptions import InvalidInput
from memorybank.services import Bank, MemoryLine
from projects.models import Project
from projects.tenancy import api_keys, permissions, provisioning
from projects.web.requests import MemberRequest

from .forms import NewKeyForm, NewProjectForm, SettingsForm

#: The two groups of bank settings on the settings page; RARE_SETTINGS are collapsed.
FREQUENT_SETTINGS = ("max_tokens", "monthly_cap", "new_chats_private", "idle_minutes", "timezone", "focus")
RARE_SETTINGS = ("redact_personal", "keep_turns_days", "keep_memory_days", "recall_tokens", "personal_tokens")
#: A project whose zone nobody has set has this one.
UNSET_ZONE: str = Bank._meta.get_field("timezone").get_default()

ProjectView = Callable[..., HttpResponseBase]


def project_view(name: str, *, post: bool = False) -> Callable[[ProjectView], ProjectView]:
    """Decorate a view of the URL ``name``: check the permission, and pass the project and other URL arguments."""

    def decorate(view: ProjectView) -> ProjectView:
        @(require_POST if post else require_http_methods(["GET", "HEAD", "POST"]))
        @login_required
        @wraps(view)
        def opened(request: MemberRequest, tenant: str, project: str, **place: Any) -> HttpResponseBase:
            return view(request, permissions.page_for(request.user, name, tenant, project)[0], **place)

        return opened

    return decorate


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new_project(request: MemberRequest, tenant: str) -> HttpResponse:
    """Create a project with memory off, in the creator's time zone, then redirect to its settings."""
    tenant_row = permissions.enter_tenant(request.user, tenant)
    form = NewProjectForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        zone = _own_zone(request) or str(timezone.get_default_timezone())
        try:
            project = provisioning.create_project(tenant_row, form.cleaned_data["slug"], form.cleaned_data["name"])
        except InvalidInput as error:
            form.add_error("slug", str(error).partition(": ")[2] or str(error))
        else:
            services.configure(project.bank, actor=request.user.get_username(), timezone=zone)
            messages.success(request, _("%(project)s is created. Its memory is off.") % {"project": project})
            return redirect("project-settings", tenant, project.slug)
    status = 400 if form.is_bound else 200
    return render(request, "projects/settings/new.html", {"tenant": tenant_row, "form": form}, status=status)


def _own_zone(request: MemberRequest) -> str:
    """The reader's time zone; "" if it is unknown, or none that a project may have, such as "right/UTC"."""
    zone = str(request.time_zone or "")
    return zone if zone in available_timezones() else ""


@project_view("project-settings")
def settings_page(request: MemberRequest, project: Project) -> HttpResponse:
    """Edit a project: name, system prompt, whether memory is on (with its disclosure), and memory settings."""
    form = SettingsForm(
        request.POST if request.method == "POST" else None,
        instance=Project.objects.select_related("bank").get(pk=project.pk),
    )
    if project.bank.timezone == UNSET_ZONE and _own_zone(request) not in ("", UNSET_ZONE):
        form.suggest_zone(_own_zone(request))
    left_out: list[MemoryLine] = []
    if request.method == "POST" and form.is_valid():
        budget = form.changed_settings.get("max_tokens", project.bank.max_tokens)
        if request.POST.get("sure") != str(budget):
            left_out = _left_out(project.bank, budget)
    if request.method == "POST" and form.is_valid() and not left_out:
        form.save()
        form.apply(project.bank, request.user.get_username())
        messages.success(request, _("Saved.") if form.has_changed() else _("No changes."))
        return redirect("project-settings", project.tenant.slug, project.slug)
    summariser, bank = llm.get("summary"), project.bank
    context: dict[str, Any] = {
        "form": form,
        "often": [form[name] for name in FREQUENT_SETTINGS],
        "rarely": [form[name] for name in RARE_SETTINGS],
        "history": None if bank.enabled else services.count_earlier_turns(bank),
        **services.count_recorded(bank)._asdict(),
        "idle_minutes": bank.idle_minutes,
        "summariser": summariser.model if summariser else "",
        "left_out": left_out,
        "smaller_budget": form.changed_settings.get("max_tokens") if left_out else None,
    }
    return show(request, project, "settings", context, 400 if form.errors else 200)


def _left_out(bank: Bank, budget: int) -> list[MemoryLine]:
    """The lines that no chat would be given any more with this smaller budget."""
    if budget >= bank.max_tokens:
        return []
    kept = {line.text for line in services.render(bank, budget=budget).lines}
    return [line for line in services.prompt_memory(bank).block.lines if line.text not in kept]


@project_view("project-keys")
def keys_page(request: MemberRequest, project: Project) -> HttpResponse:
    """List API keys and create one. Only the response to the POST contains the new key."""
    form, secret = NewKeyForm(request.POST if request.method == "POST" else None), ""
    if request.method == "POST" and form.is_valid():
        new = {name: form.cleaned_data[name] for name in ("name", "scopes", "days", "name_sources")}
        _key, secret = api_keys.issue(project, **new, actor=request.user.get_username(), now=timezone.now())
        form = NewKeyForm()
    keys = project.api_keys.order_by("revoked_at", "-pk")
    origin = request.build_absolute_uri("/").rstrip("/")
    context = {"form": form, "keys": keys, "secret": secret, "origin": origin, "now": timezone.now()}
    context["example"] = f'curl {origin}/api/v1/key -H "Authorization: Bearer {secret}"'
    return show(request, project, "keys", context, 400 if form.errors else 200)


@project_view("project-revoke-key", post=True)
def revoke_key(request: MemberRequest, project: Project) -> HttpResponse:
    key = get_object_or_404(project.api_keys, prefix=request.POST.get("prefix", ""))
    api_keys.revoke(key, actor=request.user.get_username(), now=timezone.now())
    messages.success(request, _("“%(name)s” is revoked. Its requests are refused from now on.") % {"name": key.name})
    return redirect("project-keys", project.tenant.slug, project.slug)


@require_GET
@project_view("project-costs")
def costs_page(request: MemberRequest, project: Project) -> HttpResponse:
    """The costs of the project's memory and chats, by day and purpose."""
    return show(request, project, "costs", {"spent": services.cost_this_month(project.bank)})


@project_view("project-export", post=True)
def export(request: MemberRequest, project: Project) -> StreamingHttpResponse:
    """Download memory as JSON Lines, with the turns of programs' chats and of one's own, but of no private chat."""
    chats = services.chats_of(project.bank).filter(Q(conversation=None) | Q(conversation__owner=request.user))
    rows = services.export(project.bank, actor=request.user.get_username(), chats=chats)
    lines = (json.dumps(row, ensure_ascii=False, cls=DjangoJSONEncoder).encode() + b"\n" for row in rows)
    headers = {"Content-Disposition": f'attachment; filename="{project.tenant.slug}-{project.slug}.jsonl"'}
    return StreamingHttpResponse(lines, content_type="application/x-ndjson", headers=headers)


def show(
    request: MemberRequest, project: Project, part: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """Render the page ``part`` of a project's settings."""
    frame = {"project": project, "bank": project.bank, "part": part}
    frame["may_open"] = permissions.may_open(request.user, project)
    return render(request, f"projects/settings/{part}.html", {**frame, **context}, status=status)

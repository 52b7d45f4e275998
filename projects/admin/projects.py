"""Admin of projects: one form for a project and its memory bank, and links to the contents of memory."""

from typing import Any

from django.contrib import admin
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memorybank import llm, services
from memorybank.services import Bank
from projects.settings_pages.forms import BANK_SETTINGS, ProjectForm
from projects.tenancy import audit

from ..models import Project
from .scoping import TenantFilter, TenantScoped, deletion_summary


@admin.register(Project)
class ProjectAdmin(TenantScoped):
    form = ProjectForm
    list_display = ["name", "path", "tenant", "memory_on", "memory_size"]
    list_select_related = ["tenant", "bank"]
    list_filter = ["bank__enabled", TenantFilter]
    search_fields = ["name", "slug", "tenant__slug", "tenant__name"]

    @admin.display(description=_("memory"), boolean=True, ordering="bank__enabled")
    def memory_on(self, project: Project) -> bool:
        return project.bank.enabled

    @admin.display(description=_("memory tokens of budget"))
    def memory_size(self, project: Any) -> str:
        used = {"used": intcomma(project.block_tokens or 0), "budget": intcomma(project.bank.max_tokens)}
        return gettext("%(used)s of %(budget)s") % used if project.bank.enabled else "–"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Project]:
        projects: QuerySet[Project] = super().get_queryset(request)
        return projects.annotate(block_tokens=services.block_tokens("bank"))

    def get_fieldsets(self, request: HttpRequest, obj: Project | None = None) -> Any:
        accepted = obj is not None and obj.bank.disclosure_accepted_at
        switch = ["enabled", "disclosure", "accepted"] if accepted else ["disclosure", "disclosure_read", "enabled"]
        if obj is not None and not obj.bank.enabled:
            switch += ["before", "history"]
        fieldsets: list[Any] = [
            (None, {"fields": ["tenant", "slug", "name", "system_prompt"]}),
            (gettext("Shared memory"), {"fields": switch}),
            (gettext("Memory settings"), {"fields": BANK_SETTINGS}),
        ]
        if obj:
            fieldsets.append((gettext("What memory holds"), {"fields": ["block_links", "recorded", "list_links"]}))
        return fieldsets

    def get_readonly_fields(self, request: HttpRequest, obj: Project | None = None) -> Any:
        computed = ["disclosure", "accepted", "before", "block_links", "recorded", "list_links"]
        # Changing the tenant would move one tenant's memory to another tenant.
        return ["tenant", *computed] if obj else computed

    @admin.display(description=_("What this means"))
    def disclosure(self, project: Project) -> SafeString:
        summariser = llm.get("summary")
        bank = project.bank if project.pk else Bank()
        context = {"idle_minutes": bank.idle_minutes, "summariser": summariser.model if summariser else ""}
        return render_to_string("projects/disclosure.html", {**_recorded(project), **context})

    @admin.display(description=_("Recorded before"))
    def before(self, project: Project) -> SafeString:
        return render_to_string("projects/history.html", {"history": services.count_earlier_turns(project.bank)})

    @admin.display(description=_("Read and accepted"))
    def accepted(self, project: Project) -> str:
        bank = project.bank
        accepted_at = date_format(bank.disclosure_accepted_at, "DATETIME_FORMAT") if bank.disclosure_accepted_at else ""
        return gettext("by %(name)s, %(time)s UTC") % {"name": bank.disclosure_accepted_by, "time": accepted_at}

    @admin.display(description=_("What the model gets"))
    def block_links(self, project: Project) -> SafeString:
        address = reverse("admin:memorybank_bank_change", args=[project.bank_id])
        saved = Project.objects.get(pk=project.pk)  # an invalid form may have put an invalid slug in ``project``
        page = reverse("memory", args=[project.tenant.slug, saved.slug])
        return _links([(address, gettext("The exact text, with its token count")), (page, gettext("The memory page"))])

    @admin.display(description=_("Recorded so far"))
    def recorded(self, project: Project) -> str:
        counts = {name: intcomma(count) for name, count in _recorded(project).items()}
        return gettext("Chats: %(chats)s, with messages: %(turns)s; private chats: %(private)s") % counts

    @admin.display(description=_("Look at"))
    def list_links(self, project: Project) -> SafeString:
        query = f"?bank={services.public_id(project.bank_id)}"
        return _links(
            [
                (reverse(f"admin:memorybank_{model}_changelist") + query, str(name))
                for name, model in LINKED_LISTS.items()
            ]
        )

    def save_model(self, request: HttpRequest, obj: Project, form: ProjectForm, change: bool) -> None:
        if not change:
            obj.bank = services.create_bank()
        super().save_model(request, obj, form, change)
        form.apply(obj.bank, request.user.get_username())

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Project]) -> None:
        """Record the end of each bank's audit log in the log of its tenant, which is kept."""
        with transaction.atomic():
            audit.deleted(queryset.select_related("tenant"), request.user.get_username(), timezone.now())
            queryset.delete()

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Count the contents of memory banks, too: Django follows only relations that point to a project."""
        projects = Project.objects.filter(pk__in=[project.pk for project in objs])
        return deletion_summary(gettext("project “%s”, with everything it remembers"), objs, projects)


LINKED_LISTS = {
    _("facts"): "fact",
    _("entries"): "entry",
    _("chats"): "chat",
    _("LLM calls"): "llmcall",
    _("events"): "event",
    _("requests to erase"): "erasurerequest",
    _("erasures"): "erasure",
}


def _recorded(project: Project) -> dict[str, int]:
    return (services.count_recorded(project.bank) if project.pk else services.RecordedCounts())._asdict()


def _links(links: list[tuple[str, str]]) -> SafeString:
    return render_to_string("projects/links.html", {"links": links})

"""The tabs of a project in the admin: settings, memory, chats, cost and audit log."""

from typing import Any

from django import template
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.services import Bank, PublicId, public_id
from projects.models import Project
from projects.tenancy import permissions

register = template.Library()

#: Tabs of lists, and the tab that each kind of page belongs to.
SETTINGS, MEMORY, COST = _("Settings"), _("Memory"), _("Cost")
LIST_LABELS = {"chat": _("Chats"), "llmcall": COST, "event": _("Audit")}
TAB_OF_MODEL = {**LIST_LABELS, "project": SETTINGS, **dict.fromkeys(("bank", "fact", "entry", "job"), MEMORY)}


@register.inclusion_tag("projects/tabs.html", takes_context=True)
def project_tabs(context: dict[str, Any]) -> dict[str, Any]:
    """The tabs on pages of a project or its bank, and on lists filtered by one bank; nothing elsewhere."""
    opts, bank = context.get("opts"), _bank(context)
    if opts is None or bank is None or opts.model_name not in TAB_OF_MODEL:
        return {}
    here = TAB_OF_MODEL[opts.model_name]
    query = f"?bank={public_id(bank.pk)}"
    tabs = {
        SETTINGS: reverse("admin:projects_project_change", args=[bank.project.pk]),
        MEMORY: reverse("admin:memorybank_bank_change", args=[bank.pk]),
        **{name: reverse(f"admin:memorybank_{model}_changelist") + query for model, name in LIST_LABELS.items()},
    }
    cost = {"spent": services.cost_this_month(bank)} if here == COST else {}
    return {"tabs": tabs.items(), "here": here, "project": bank.project, "bank": bank, **cost}


def _bank(context: dict[str, Any]) -> Bank | None:
    """The bank of the page, if the user may see it."""
    opened, request = context.get("original"), context["request"]
    if isinstance(opened, Project):
        pk = opened.bank_id
    elif isinstance(opened, Bank):
        pk = opened.pk
    else:
        try:
            pk = PublicId().to_python(request.GET.get("bank", "") if "cl" in context else "")
        except ValueError:
            return None
    return permissions.banks_for(request.user).select_related("project__tenant").filter(pk=pk).first()

"""The tabs of a project in the admin: its settings, and what its memory holds, waits for, costs and was told."""

from typing import Any

from django import template
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.services import Bank, PublicId, public_id
from projects.models import Project
from projects.tenancy import permissions

register = template.Library()

#: Lists with a tab of their own, or the tab that they belong to.
SETTINGS, MEMORY, COST = _("Settings"), _("Memory"), _("Cost")
LISTS = {"chat": _("Chats"), "llmcall": COST, "event": _("Audit")}
UNDER = {**LISTS, "project": SETTINGS, **dict.fromkeys(("bank", "fact", "entry", "job"), MEMORY)}


@register.inclusion_tag("projects/tabs.html", takes_context=True)
def project_tabs(context: dict[str, Any]) -> dict[str, Any]:
    """On the page of a project or its bank, and on a list of one bank's; nothing elsewhere."""
    opts, bank = context.get("opts"), _bank(context)
    if opts is None or bank is None or opts.model_name not in UNDER:
        return {}
    here = UNDER[opts.model_name]
    chosen = f"?bank={public_id(bank.pk)}"
    tabs = {
        SETTINGS: reverse("admin:projects_project_change", args=[bank.project.pk]),
        MEMORY: reverse("admin:memorybank_bank_change", args=[bank.pk]),
        **{name: reverse(f"admin:memorybank_{model}_changelist") + chosen for model, name in LISTS.items()},
    }
    cost = {"spent": services.spent(bank)} if here == COST else {}
    return {"tabs": tabs.items(), "here": here, "project": bank.project, "bank": bank, **cost}


def _bank(context: dict[str, Any]) -> Bank | None:
    """The bank that the page is about, if its reader may see it."""
    shown, request = context.get("original"), context["request"]
    if isinstance(shown, Project):
        number = shown.bank_id
    elif isinstance(shown, Bank):
        number = shown.pk
    else:
        try:
            number = PublicId().to_python(request.GET.get("bank", "") if "cl" in context else "")
        except ValueError:
            return None
    return permissions.banks_for(request.user).select_related("project__tenant").filter(pk=number).first()

"""What owners and admins decide on the memory page: each a POST that says in one line what became of it."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Bank, Fact, PublicId
from projects.tenancy import permissions
from projects.web.requests import MemberRequest

#: Facts that one form may name: a page of them, and what each stands for.
MOST = 500

#: What may be decided of facts: the service, by name because none is loaded before it is called; and how it is told.
DECISIONS: dict[str, tuple[str, Any]] = {
    "pin": ("pin", _("pinned: always in the block")),
    "unpin": ("unpin", _("no longer pinned")),
    "hide": ("hide", _("hidden: in no prompt from now on")),
    "restore": ("restore", _("restored: in prompts from the next sweep on")),
    "release": ("release", _("released: in prompts from the next sweep on")),
    "keep": ("keep_back", _("kept back for good")),
}


@require_POST
@login_required
def decide(request: MemberRequest, tenant: str, project: str) -> HttpResponse:
    """Pin, unpin, hide, restore or release facts."""
    found, _role = permissions.page_for(request.user, "memory-decide", tenant, project)
    act, done = DECISIONS.get(request.POST.get("do", ""), ("", ""))
    facts = named(request, found.bank)
    if not act or not facts:
        messages.warning(request, gettext("Nothing was chosen.") if act else gettext("Choose what to do."))
    else:
        count = getattr(services, act)(found.bank, fact_ids=facts, actor=request.user.get_username())
        messages.success(
            request, f"{_lines(count)} {done}." if count else gettext("Nothing to change: it was so before.")
        )
    return back(request, tenant, project)


@require_POST
@login_required
def edit(request: MemberRequest, tenant: str, project: str) -> HttpResponse:
    """Put a line right."""
    found, _role = permissions.page_for(request.user, "memory-edit", tenant, project)
    facts = named(request, found.bank)
    if not facts:
        raise Http404
    try:
        text, actor = request.POST.get("text", ""), request.user.get_username()
        count = services.edit(found.bank, fact_ids=facts, text=text, actor=actor)
        messages.success(
            request, gettext("Put right, in your name.") if count else gettext("Nothing to change: it said so before.")
        )
    except InvalidInput as error:
        messages.error(request, gettext("Not saved. %(why)s") % {"why": error})
    return back(request, tenant, project)


@require_POST
@login_required
def add(request: MemberRequest, tenant: str, project: str) -> HttpResponse:
    """Write a line by hand."""
    found, _role = permissions.page_for(request.user, "memory-add", tenant, project)
    kind = request.POST.get("kind", Fact.Kind.FACT)
    try:
        services.add(
            found.bank,
            text=request.POST.get("text", ""),
            kind=kind if kind in Fact.Kind.values else Fact.Kind.FACT,
            pinned=request.POST.get("pinned") == "on",
            actor=request.user.get_username(),
        )
        messages.success(request, gettext("Written down, in your name."))
    except InvalidInput as error:
        messages.error(request, gettext("Not saved. %(why)s") % {"why": error})
    return back(request, tenant, project)


def named(request: HttpRequest, bank: Bank) -> list[int]:
    """The facts that the form names, as far as the page shows them to anybody."""
    numbers = []
    for name in request.POST.getlist("fact")[:MOST]:
        try:
            numbers.append(PublicId().to_python(name))
        except ValueError:
            raise Http404 from None
    return list(services.browse(bank).filter(pk__in=numbers).values_list("pk", flat=True))


def _lines(count: int) -> str:
    return ngettext("%(number)s line", "%(number)s lines", count) % {"number": intcomma(count)}


def page_before(request: HttpRequest, tenant: str, project: str) -> str:
    """The page that the form stood on."""
    page = request.POST.get("next", "")
    ours = url_has_allowed_host_and_scheme(page, allowed_hosts=None) and page.startswith("/")
    return page if ours else reverse("memory", args=[tenant, project])


def back(request: HttpRequest, tenant: str, project: str) -> HttpResponse:
    """To that page."""
    return redirect(page_before(request, tenant, project))

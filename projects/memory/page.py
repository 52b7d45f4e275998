"""The frame of the memory pages: who may open one, which facts they may read, and the context of every page."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from memorybank import services
from memorybank.services import NOBODY, Bank, Fact, FactQuerySet
from projects.models import Project, Role
from projects.tenancy import permissions
from projects.web.requests import MemberRequest

#: Lines that are named before their turns are erased; there may be more.
MAX_LINES_BESIDE = 100


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """An opened memory page. ``facts`` are those that people may see; ``may_act`` is for owners and admins."""

    request: MemberRequest
    project: Project
    facts: FactQuerySet
    may_act: bool

    @property
    def bank(self) -> Bank:
        return self.project.bank

    @property
    def actor(self) -> str:
        return self.request.user.get_username()

    def readable(self) -> FactQuerySet:
        """The facts that the reader may read: hidden and quarantined ones are for owners and admins."""
        return self.facts if self.may_act else self.facts.filter(hidden=False, quarantine="")

    def own(self, facts: Iterable[Fact]) -> set[int]:
        """The ids of those of these facts that rest on the reader's own words alone."""
        own = services.in_own_words(facts, services.Asker(author=self.actor))
        return set(own.values_list("pk", flat=True))

    def beside(self, facts: Collection[int], *, viewer: str = NOBODY) -> list[Fact]:
        """The other lines that go if the turns of these are erased, as far as the reader may read them."""
        if not facts:
            return []
        beside = services.resting_beside(self.bank, facts, viewer=viewer)
        told = beside if self.may_act else beside.filter(hidden=False, quarantine="")
        return list(told.order_by("pk")[:MAX_LINES_BESIDE])

    def render(self, part: str, context: dict[str, Any]) -> HttpResponse:
        frame = {
            "project": self.project,
            "part": part,
            "may_act": self.may_act,
            "may_chat": permissions.may_open(self.request.user, self.project),
            "waiting": self.facts.to_review().count() if self.may_act else 0,
        }
        return render(self.request, f"projects/memory/{part}.html", {**frame, **context})

    def previous_address(self) -> str:
        """The page with the posted form."""
        address = self.request.POST.get("next", "")
        if address.startswith("/") and url_has_allowed_host_and_scheme(address, allowed_hosts=None):
            return address
        return reverse("memory", args=[self.project.tenant.slug, self.project.slug])

    def redirect_back(self) -> HttpResponse:
        return redirect(self.previous_address())


PageView = Callable[Concatenate[MemoryPage, ...], HttpResponse]


def memory_page(name: str, *, post: bool = False) -> Callable[[PageView], Callable[..., HttpResponse]]:
    """A view for members who may open the address ``name``; it gets a :class:`MemoryPage` instead of a request."""

    def decorate(view: PageView) -> Callable[..., HttpResponse]:
        @(require_POST if post else require_GET)
        @login_required
        @wraps(view)
        def opened(request: MemberRequest, tenant: str, project: str, **row: int) -> HttpResponse:
            project_row, role = permissions.page_for(request.user, name, tenant, project)
            page = MemoryPage(request, project_row, services.browse(project_row.bank), role.covers(Role.ADMIN))
            return view(page, **row)

        return opened

    return decorate

"""Common to all memory pages: the access check, the facts that the reader may see, and the template context."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from memorybank import services
from memorybank.services import NOBODY, Bank, Fact, FactQuerySet
from projects.models import Project, Role
from projects.tenancy import people, permissions
from projects.web.requests import MemberRequest

from .line_sources import own_lines
from .rows import Row

#: Maximum number of other lines that are listed before their turns are erased.
MAX_LINES_BESIDE = 100
#: Maximum number of people named who decide on an objection.
MAX_OWNERS_NAMED = 3


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """A request for a memory page. ``facts`` are all that people may see; ``may_act`` is true for owners and admins."""

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
        """The facts that the reader may see: owners and admins see hidden and quarantined ones, too."""
        return self.facts if self.may_act else self.facts.may_be_shown()

    def mark_own(self, rows: Collection[Row]) -> None:
        """Set what the reader may correct of each line; owners and admins may correct all of them."""
        if not self.may_act:
            own = own_lines(self.facts, [row.fact for row in rows if row.fact], self.actor)
            objections = services.open_objections(self.bank).filter(author=self.actor)
            objected = {fact for facts in objections.values_list("facts", flat=True) for fact in facts}
            for row in rows:
                row.own = own.get(row.fact.pk, []) if row.fact else []
                if row.fact and row.fact.pk in objected:
                    row.badges = [*row.badges, ("off", gettext("you reported this as wrong"))]

    def owners(self) -> list[str]:
        """The names of owners and admins, who decide on objections."""
        return sorted(people.trusted_authors(self.bank.pk))[:MAX_OWNERS_NAMED]

    def own(self, facts: Iterable[Fact]) -> set[int]:
        """The ids of these facts, limited to facts based on the reader's own words alone."""
        own = services.in_own_words(facts, services.Asker(author=self.actor))
        return set(own.values_list("pk", flat=True))

    def beside(self, facts: Collection[int], *, viewer: str = NOBODY) -> list[Fact]:
        """The other facts that would be erased with the turns of these facts, limited to what the reader may see."""
        if not facts:
            return []
        beside = services.resting_beside(self.bank, facts, viewer=viewer)
        visible = beside if self.may_act else beside.may_be_shown()
        return list(visible.order_by("pk")[:MAX_LINES_BESIDE])

    def render(self, part: str, context: dict[str, Any]) -> HttpResponse:
        frame = {
            "project": self.project,
            "part": part,
            "may_act": self.may_act,
            "may_chat": permissions.may_open(self.request.user, self.project),
            "waiting": services.count_to_review(self.bank) if self.may_act else 0,
        }
        return render(self.request, f"projects/memory/{part}.html", {**frame, **context})

    def previous_address(self, name: str = "memory") -> str:
        """The address of the page that led here; the page ``name`` if ``next`` is missing or not local."""
        address = self.request.POST.get("next", "") or self.request.GET.get("next", "")
        if address.startswith("/") and url_has_allowed_host_and_scheme(address, allowed_hosts=None):
            return address
        return reverse(name, args=[self.project.tenant.slug, self.project.slug])

    def redirect_back(self, line: int | None = None) -> HttpResponse:
        """Redirect to the previous page, at the line of this fact if it is given and on that page."""
        address = self.previous_address()
        return redirect(f"{address}#line-{services.public_id(line)}" if line else address)


PageView = Callable[Concatenate[MemoryPage, ...], HttpResponse]


def memory_page(name: str, *, post: bool = False) -> Callable[[PageView], Callable[..., HttpResponse]]:
    """Decorate a view for members who may open the URL ``name``; it gets a :class:`MemoryPage` instead of a request."""

    def decorate(view: PageView) -> Callable[..., HttpResponse]:
        @(require_POST if post else require_GET)
        @login_required
        @wraps(view)
        def opened(request: MemberRequest, tenant: str, project: str, **row: int) -> HttpResponse:
            project_row, role = permissions.page_for(request.user, name, tenant, project)
            page = MemoryPage(request, project_row, services.browse(project_row.bank), role.covers(Role.ADMIN))
            try:
                return view(page, **row)
            except Fact.DoesNotExist as error:  # erased since the page was shown
                raise Http404 from error

        return opened

    return decorate

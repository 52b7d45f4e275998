"""The memory page of a project: what chats are told and why, every fact, what is held back, who changed what."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from memorybank import services
from memorybank.services import Bank, Event, Fact, FactQuerySet, PublicId
from projects.models import Project, Role
from projects.tenancy import permissions
from projects.web.pagination import numbered_page
from projects.web.requests import MemberRequest

from . import block_history, timeline
from . import rows as memory_rows
from .filters import FactFilter

FACTS_ON_A_PAGE, HELD_ON_A_PAGE, EVENTS_ON_A_PAGE = 50, 20, 50
LONGEST_QUESTION = 1000
#: People who are suggested where one is to be named.
MOST_NAMED = 500


@dataclass(frozen=True, slots=True)
class Opened:
    """A part of the page that somebody has opened: whose memory it is, what of it may be seen, who may decide."""

    request: MemberRequest
    project: Project
    facts: FactQuerySet
    may_act: bool

    @classmethod
    def by(cls, request: MemberRequest, name: str, tenant: str, project: str) -> Self:
        """For who may open the page of this name."""
        found, role = permissions.page_for(request.user, name, tenant, project)
        return cls(request, found, services.browse(found.bank), role.covers(Role.ADMIN))

    @property
    def bank(self) -> Bank:
        """The project's memory."""
        return self.project.bank

    def readable(self) -> FactQuerySet:
        """The facts that the reader may read: what is hidden or held back, only who may decide about it."""
        return self.facts if self.may_act else self.facts.filter(hidden=False, quarantine="")

    def shown(self, part: str, more: dict[str, Any]) -> HttpResponse:
        """The part, with what stands on all of them."""
        waiting = self.facts.to_review().count() if self.may_act else 0
        context = {"project": self.project, "part": part, "may_act": self.may_act, "waiting": waiting, **more}
        context["may_chat"] = permissions.may_open(self.request.user, self.project)
        return render(self.request, f"projects/memory/{part}.html", context)


@require_GET
@login_required
def now_page(request: MemberRequest, tenant: str, project: str) -> HttpResponse:
    """What every chat is told, line by line, and what a question would be given beside it."""
    opened = Opened.by(request, "memory", tenant, project)
    trial = request.GET.get("ask", "").replace("\x00", "")[:LONGEST_QUESTION]
    memory = services.prompt_memory(opened.bank, question=trial)
    meter = memory_rows.meter(memory.block, opened.bank.max_tokens)
    rows = memory_rows.block_rows(opened.bank, memory.block.lines, request.user)
    kinds = Fact._meta.get_field("kind").flatchoices
    more = {"memory": memory, "trial": trial, "meter": meter, "rows": rows, "kinds": kinds}
    return opened.shown("now", more)


@require_GET
@login_required
def facts_page(request: MemberRequest, tenant: str, project: str) -> HttpResponse:
    """Every fact once, to be searched, filtered and decided about."""
    opened = Opened.by(request, "memory-facts", tenant, project)
    told = _told(opened.bank)
    form = FactFilter(request.GET, facts=opened.readable().with_places(), told=told, may_act=opened.may_act)
    chosen = form.chosen(opened.bank)
    page = numbered_page(request, chosen, FACTS_ON_A_PAGE)
    said = services.restated_facts(opened.bank, told)
    rows = memory_rows.fact_rows(page.object_list, told, said)
    return opened.shown("facts", {"form": form, "page": page, "rows": rows, "query": form.query()})


@require_GET
@login_required
def timeline_page(request: MemberRequest, tenant: str, project: str) -> HttpResponse:
    """How memory is rolled up: what lies under what, and what of it is shown."""
    opened = Opened.by(request, "memory-timeline", tenant, project)
    told = _told(opened.bank)
    page = numbered_page(request, timeline.newest_leaves(opened.bank), timeline.MAX_LEAVES)
    picture = timeline.build_timeline(opened.bank, page, opened.readable(), told, hidden_too=opened.may_act)
    more = {"picture": picture, "page": page, **_under(opened, request.GET.get("open", ""), told)}
    return opened.shown("timeline", more)


def _told(bank: Bank) -> set[int]:
    """The facts in the block."""
    return {fact for line in services.prompt_memory(bank).block.lines for fact in line.facts}


def _under(opened: Opened, number: str, told: Collection[int]) -> dict[str, Any]:
    """What lies under the entry that was clicked on: its own lines, and those it stands for as they are."""
    with suppress(ValueError):
        entry = services.entries_of(opened.bank).filter(pk=PublicId().to_python(number)).first()
        if entry:
            facts = opened.readable().filter(Q(entry=entry) | Q(pk__in=entry.kept.values("pk"))).with_places()
            rows = memory_rows.fact_rows(facts.order_by("said_on", "pk")[:FACTS_ON_A_PAGE], told, ())
            return {"entry": entry, "label": memory_rows.label_of(entry), "rows": rows}
    return {}


@require_GET
@login_required
def why_page(request: MemberRequest, tenant: str, project: str, fact: int) -> HttpResponse:
    """The turns that a line rests on, in people's own words; that somebody has read them goes on the trail."""
    opened = Opened.by(request, "memory-why", tenant, project)
    if not opened.facts.filter(pk=fact).exists():
        raise Http404
    explanation = services.explain(opened.bank, fact_id=fact, actor=request.user.get_username())
    shared = [output for output in explanation.outputs if not output.chat.private]
    [row] = memory_rows.fact_rows([explanation.fact], (), ())
    return opened.shown("why", {"explanation": explanation, "outputs": shared, "row": row})


@require_GET
@login_required
def review_page(request: MemberRequest, tenant: str, project: str) -> HttpResponse:
    """What is held back, with what made it so."""
    opened = Opened.by(request, "memory-review", tenant, project)
    held = opened.facts.to_review().with_places().order_by("-pk")
    page = numbered_page(request, held, HELD_ON_A_PAGE)
    return opened.shown("review", {"page": page, "rows": memory_rows.held_rows(page.object_list)})


@require_GET
@login_required
def activity_page(request: MemberRequest, tenant: str, project: str) -> HttpResponse:
    """Who changed what."""
    opened = Opened.by(request, "memory-activity", tenant, project)
    page = numbered_page(request, services.events_of(opened.bank), EVENTS_ON_A_PAGE)
    members = opened.project.tenant.memberships.order_by("user__username")[:MOST_NAMED]
    people = members.values_list("user__username", flat=True) if opened.may_act else ()
    changes = block_history.counted(opened.bank, [event.at for event in page], all_of_it=opened.may_act)
    rows = [{**memory_rows.told(event), "change": _change_of(event, changes)} for event in page]
    named = {fact for row in rows for fact in row["facts"]}
    there = set(opened.facts.filter(pk__in=named).values_list("pk", flat=True)) if opened.may_act else set()
    for row in rows:
        row["facts"] = [fact for fact in row["facts"] if fact in there]
    return opened.shown("activity", {"page": page, "people": people, "rows": rows})


def _change_of(event: Event, changes: Mapping[datetime, block_history.Change]) -> block_history.Change | None:
    """What it changed in the block; of an erasure nothing is told."""
    return None if event.action in services.ERASING_ACTIONS else changes.get(event.at)

"""The memory pages of a project: the block, every fact, the timeline, a line's sources, review, and activity."""

from collections.abc import Collection
from contextlib import suppress
from typing import Any

from django.db.models import Q
from django.http import Http404, HttpResponse

from memorybank import services
from memorybank.services import Bank, Fact, PublicId
from projects.web.pagination import numbered_page

from . import block_history, timeline
from . import rows as memory_rows
from .filters import FactFilter
from .line_sources import own_pages
from .page import MemoryPage, memory_page
from .usage_views import linked_notes

FACTS_ON_A_PAGE, QUARANTINED_ON_A_PAGE, EVENTS_ON_A_PAGE = 50, 20, 50
MAX_QUESTION_CHARACTERS = 1000
#: Maximum number of members suggested in the field for a person's name.
MAX_SUGGESTED_MEMBERS = 500
MAX_PARKED_SHOWN = MAX_REQUESTS_SHOWN = 50


@memory_page("memory")
def now_page(page: MemoryPage) -> HttpResponse:
    """The block that every chat gets, line by line, and the notes recalled for a trial question."""
    trial = page.request.GET.get("ask", "").replace("\x00", "")[:MAX_QUESTION_CHARACTERS]
    memory = services.prompt_memory(page.bank, question=trial)
    rows = memory_rows.block_rows(page.bank, memory.block.lines, page.request.user)
    page.mark_own(rows)
    context = {
        "memory": memory,
        "waiting_summaries": services.count_stale_entries(page.bank),
        "trial": trial,
        "notes": linked_notes(page.project, memory.recalled.lines, page.request.user) if trial else [],
        "meter": memory_rows.meter(memory.block, page.bank.max_tokens),
        "rows": rows,
        "owners": page.owners() if not page.may_act else (),
        "kinds": Fact._meta.get_field("kind").flatchoices,
    }
    return page.render("now", context)


@memory_page("memory-facts")
def facts_page(page: MemoryPage) -> HttpResponse:
    """Every fact once, to search, filter and decide about."""
    in_block = _block_facts(page.bank)
    form = FactFilter(page.request.GET, facts=page.readable().with_places(), in_block=in_block, may_act=page.may_act)
    facts = numbered_page(page.request, form.matching(page.bank), FACTS_ON_A_PAGE)
    restated = services.restated_fact_ids(page.bank, in_block)
    rows = [memory_rows.fact_row(fact, in_block, restated) for fact in facts]
    page.mark_own(rows)
    memory_rows.link_turns(rows, page.request.user)
    return page.render("facts", {"form": form, "page": facts, "rows": rows, "query": form.query()})


@memory_page("memory-timeline")
def timeline_page(page: MemoryPage) -> HttpResponse:
    """How entries are rolled up, and which of them are in the block."""
    in_block = _block_facts(page.bank)
    leaves = numbered_page(page.request, timeline.newest_leaves(page.bank), timeline.MAX_LEAVES)
    picture = timeline.build_timeline(page.bank, leaves, page.readable(), in_block, include_hidden=page.may_act)
    return page.render("timeline", {"picture": picture, "page": leaves, **_opened_entry(page, in_block)})


def _block_facts(bank: Bank) -> set[int]:
    return {fact for line in services.prompt_memory(bank).block.lines for fact in line.facts}


def _opened_entry(page: MemoryPage, in_block: Collection[int]) -> dict[str, Any]:
    """The entry that was clicked on, with its own lines and those that it keeps unchanged."""
    with suppress(ValueError):
        pk = PublicId().to_python(page.request.GET.get("open", ""))
        if entry := services.entries_of(page.bank).filter(pk=pk).first():
            facts = page.readable().filter(Q(entry=entry) | Q(pk__in=entry.kept.values("pk"))).with_places()
            shown = facts.order_by("said_on", "pk")[:FACTS_ON_A_PAGE]
            rows = [memory_rows.fact_row(fact, in_block) for fact in shown]
            return {"entry": entry, "label": memory_rows.label_of(entry), "rows": rows}
    return {}


@memory_page("memory-why")
def why_page(page: MemoryPage, fact: int) -> HttpResponse:
    """The turns that a line rests on, in people's own words. Reading them is written to the audit log."""
    if not page.facts.filter(pk=fact).exists():
        raise Http404
    explanation = services.explain(page.bank, fact_id=fact, actor=page.actor)
    row, outputs = memory_rows.fact_row(explanation.fact), explanation.outputs
    pages = own_pages(page.bank, [output.pk for output in outputs], page.request.user)
    turns = [(output, pages.get(output.pk)) for output in outputs]
    return page.render("why", {"explanation": explanation, "turns": turns, "row": row})


@memory_page("memory-review")
def review_page(page: MemoryPage) -> HttpResponse:
    """What waits for an owner: objections, erasure requests, and quarantined lines with the words that caused it."""
    quarantined = page.facts.to_review().with_places().order_by("-pk")
    facts = numbered_page(page.request, quarantined, QUARANTINED_ON_A_PAGE)
    context = {
        "page": facts,
        "rows": [memory_rows.quarantined_row(fact) for fact in facts],
        "objections": _objections(page),
        "erasures": services.erasure_requests_of(page.bank).open()[:MAX_REQUESTS_SHOWN],
    }
    return page.render("review", context)


def _objections(page: MemoryPage) -> list[dict[str, Any]]:
    """The open objections, each with its line, if that still exists."""
    requests = list(services.open_objections(page.bank)[:MAX_REQUESTS_SHOWN])
    named = {pk for request in requests for pk in request.facts}
    facts = {fact.pk: fact for fact in page.facts.filter(pk__in=named).with_places()}
    objections = []
    for request in requests:
        lines = [facts[pk] for pk in request.facts if pk in facts]
        row = memory_rows.fact_row(lines[0]) if lines else None
        if row:
            row.fact_ids = [services.public_id(fact.pk) for fact in lines]
        objections.append({"request": request, "row": row})
    return objections


@memory_page("memory-activity")
def activity_page(page: MemoryPage) -> HttpResponse:
    events = numbered_page(page.request, services.events_of(page.bank), EVENTS_ON_A_PAGE)
    members = page.project.tenant.memberships.order_by("user__username")[:MAX_SUGGESTED_MEMBERS]
    suggested = members.values_list("user__username", flat=True) if page.may_act else ()
    changes = block_history.changes_at(page.bank, [event.at for event in events], include_hidden=page.may_act)
    rows = [memory_rows.event_row(event) for event in events]
    ids = {fact for row in rows for fact in row["facts"]}
    visible = set(page.facts.filter(pk__in=ids).values_list("pk", flat=True)) if page.may_act else set()
    for row in rows:
        row["facts"] = [fact for fact in row["facts"] if fact in visible]
        if row["event"].action not in services.ERASING_ACTIONS:  # nobody may learn what was erased
            row["change"] = changes.get(row["event"].at)
    parked = services.chats_of(page.bank).parked().order_by("-parked_at")[:MAX_PARKED_SHOWN] if page.may_act else ()
    return page.render("activity", {"page": events, "people": suggested, "rows": rows, "parked": parked})

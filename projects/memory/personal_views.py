"""What is remembered for the reader alone: their preferences in all projects of the tenant, and facts of private chats.

They correct and forget what rests on their own words.
"""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Asker, Fact, PublicId
from projects.models import Project
from projects.tenancy import people
from projects.web.pagination import numbered_page

from . import rows as memory_rows
from .page import MemoryPage, memory_page

FACTS_ON_A_PAGE = 50


@memory_page("memory-mine")
def mine_page(page: MemoryPage) -> HttpResponse:
    """Newest first, each with its project."""
    asker = people.asker(page.project, page.request.user)
    facts = services.personal_facts(page.bank, asker).select_related("entry__chat", "entry__parent", "superseded_by")
    shown = numbered_page(page.request, facts.order_by("-said_on", "-pk"), FACTS_ON_A_PAGE)
    projects = Project.objects.in_bulk({fact.bank_id for fact in shown}, field_name="bank_id")
    own = set(services.in_own_words(shown, asker).values_list("pk", flat=True))
    rows: list[dict[str, Any]] = [
        {"row": memory_rows.fact_row(fact), "project": projects[fact.bank_id], "own": fact.pk in own} for fact in shown
    ]
    return page.render("mine", {"page": shown, "rows": rows})


@memory_page("memory-mine-decide", post=True)
def decide(page: MemoryPage) -> HttpResponse:
    """Correct or forget a line of one's own words; forgetting erases the turns that it rests on."""
    asker = people.asker(page.project, page.request.user)
    fact = _own_fact(page, asker)
    bank = Project.objects.select_related("bank").get(bank=fact.bank_id).bank
    try:
        if page.request.POST.get("do") == "forget":
            services.forget(bank, facts=[fact.pk], actor=page.actor)
            messages.success(page.request, gettext("Forgotten, with the turns it came from."))
        else:
            services.edit(bank, fact_ids=[fact.pk], text=page.request.POST.get("text", ""), actor=page.actor)
            messages.success(page.request, gettext("Corrected. Shown as your correction."))
    except InvalidInput as error:
        messages.error(page.request, gettext("Not saved. %(why)s") % {"why": error})
    return redirect("memory-mine", page.project.tenant.slug, page.project.slug)


def _own_fact(page: MemoryPage, asker: Asker) -> Fact:
    """The posted line, if it is for this person and rests on their words alone."""
    try:
        number = PublicId().to_python(page.request.POST.get("fact", ""))
    except ValueError:
        raise Http404 from None
    facts = services.personal_facts(page.bank, asker).filter(pk=number)
    fact = services.in_own_words(facts, asker).first()
    if fact is None:
        raise Http404
    return fact

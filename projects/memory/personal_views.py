"""Memory for the reader alone: their preferences in all projects of the tenant, and facts from private chats.

Readers can correct, hide and forget facts that are based on their own words alone, here and in the shared memory. To
other shared facts they can object.
"""

from collections.abc import Collection
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core import signing
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Asker, Bank, Fact, PublicId
from projects.models import Project
from projects.tenancy import people
from projects.web import undo
from projects.web.pagination import numbered_page

from . import rows as memory_rows
from .actions import correct, posted_facts
from .erasure_views import erased_notice, receipt_parts
from .line_sources import own_pages
from .page import MemoryPage, memory_page

FACTS_ON_A_PAGE = 50
#: Maximum number of own objections that are listed, the newest.
MAX_OBJECTIONS_SHOWN = 20
#: Maximum number of receipts of the reader's erasures that are listed, the newest.
MAX_RECEIPTS_SHOWN = 20
#: What became of an objection, by the action that decided it; "" if that is not known.
OUTCOMES = {
    "edit": _("Corrected by %(name)s"),
    "hide": _("Hidden by %(name)s"),
    "original": _("Original words restored by %(name)s"),
    "undone": _("It stands as it was before"),
    "uphold": _("Left as it is by %(name)s"),
    "": _("Decided by %(name)s"),
}
#: Seconds during which a member can undo hiding a fact.
UNDO_SECONDS = 3600


@memory_page("memory-mine")
def mine_page(page: MemoryPage) -> HttpResponse:
    """List the facts for the reader alone, newest first, each with its project."""
    asker = people.enter_as(page.project, page.request.user)
    facts = services.personal_facts(page.bank, asker).select_related("entry__chat", "entry__parent", "superseded_by")
    facts = facts.annotate(reader_count=services.reader_count("entry__chat"))
    shown = numbered_page(page.request, facts.order_by("-said_on", "-pk"), FACTS_ON_A_PAGE)
    projects = Project.objects.in_bulk({fact.bank_id for fact in shown}, field_name="bank_id")
    own = page.own(shown)
    rows: list[dict[str, Any]] = [
        {
            "row": memory_rows.fact_row(fact, is_own_rule=_is_own_rule(page, fact, own)),
            "project": projects[fact.bank_id],
            "own": fact.pk in own,
        }
        for fact in shown
    ]
    memory_rows.link_turns([each["row"] for each in rows], page.request.user)
    receipts = services.receipts_of_person(page.bank, page.actor)[:MAX_RECEIPTS_SHOWN]
    return page.render("mine", {"page": shown, "rows": rows, "objections": _objections(page), "receipts": receipts})


def _is_own_rule(page: MemoryPage, fact: Fact, own: Collection[int]) -> bool:
    """Whether a quarantined fact is a rule that binds the reader; ``own`` are the ids of facts in their own words."""
    is_theirs = fact.pk in own and fact.edited_by in ("", page.actor) and fact.superseded_by_id is None
    return bool(fact.quarantine) and fact.normative and is_theirs


def _objections(page: MemoryPage) -> list[dict[str, Any]]:
    """What the reader called wrong, what became of it, and the line as it is now, if they may still read it."""
    objections = services.objections_by(page.bank, page.actor, MAX_OBJECTIONS_SHOWN)
    named = {pk for request, _action in objections for pk in request.facts}
    facts = page.readable().filter(pk__in=named, hidden=False).with_places().in_bulk()
    return [
        {
            "request": request,
            "row": next((memory_rows.fact_row(facts[pk]) for pk in request.facts if pk in facts), None),
            "outcome": OUTCOMES[action] % {"name": request.closed_by} if request.closed_by else "",
        }
        for request, action in objections
    ]


@memory_page("memory-own")
def own_page(page: MemoryPage, fact: int) -> HttpResponse:
    """A fact that the reader calls wrong. One in their own words: what they can do, and what forgetting would erase."""
    asker = people.enter_as(page.project, page.request.user)
    row = _own_fact(page, asker, fact)
    if row is None:
        return _object_page(page, fact)
    bank = _bank_of(row)
    receipt = services.erase(bank, facts=[row.pk], actor=page.actor, dry_run=True)
    beside = page.beside([row.pk], viewer=asker.person) if bank == page.bank else []
    origins = services.origins(bank, [row], viewer=asker.person)[row.pk]
    pages = own_pages(bank, [origin.output for origin in origins], page.request.user)
    context = {"row": memory_rows.fact_row(row), "beside": beside, "pages": list(pages.values())}
    context["previous"] = page.previous_address("memory-facts")
    return page.render("own", {**context, **receipt_parts(receipt.counts)})


def _object_page(page: MemoryPage, fact: int) -> HttpResponse:
    """Ask why a fact of others is wrong; list the facts that it rests on and that the reader may correct."""
    row = memory_rows.fact_row(get_object_or_404(page.readable().filter(hidden=False).with_places(), pk=fact))
    page.mark_own([row])
    context = {"row": row, "owners": page.owners(), "previous": page.previous_address("memory-facts")}
    return page.render("object", context)


@memory_page("memory-mine-decide", post=True)
def decide(page: MemoryPage) -> HttpResponse:
    """Correct, hide, restore or forget a fact in the reader's own words, or object to another one.

    Forgetting erases the turns that the fact is based on; an objection changes nothing by itself.
    """
    form, asker = page.request.POST, people.enter_as(page.project, page.request.user)
    do = form.get("do")
    if do == "restore":
        return _restore(page, form.get("token", ""))
    if do == "object":
        return _object(page, form.get("reason", ""))
    fact = _own_fact(page, asker, _number(form.get("fact", "")))
    if fact is None:
        raise Http404
    bank = _bank_of(fact)
    try:
        if do == "forget":
            receipt = services.erase(bank, facts=[fact.pk], actor=page.actor)
            project = page.project if bank == page.bank else Project.objects.select_related("tenant").get(bank=bank)
            messages.success(page.request, erased_notice(project, receipt))
        elif do == "hide":
            services.hide(bank, fact_ids=[fact.pk], actor=page.actor)
            token = signing.dumps([bank.pk, fact.pk], salt=_salt(page))
            fields = [("do", "restore"), ("token", token)]
            undo.notice(
                page.request, gettext("Hidden: told in no chat from now on."), address=_address(page), fields=fields
            )
        else:
            correct(page, bank, [fact], address=_address(page), screened=not page.may_act)
            return redirect(_after_correcting(page, fact))
    except InvalidInput as error:
        messages.error(page.request, gettext("Not saved. %(why)s") % {"why": error})
    return redirect(page.previous_address("memory-mine"))


def _object(page: MemoryPage, reason: str) -> HttpResponse:
    facts = [pk for pk in posted_facts(page) if page.readable().filter(pk=pk, hidden=False).exists()]
    try:
        services.object_to(page.bank, fact_ids=facts, reason=reason, actor=page.actor)
        names = ", ".join(page.owners())
        sent = gettext("Sent to the owners and admins: %(names)s. The line stays until they decide.") % {"names": names}
        told = gettext("“For you” says what they decide.")
        messages.success(page.request, f"{sent} {told}")
    except InvalidInput as error:
        messages.error(page.request, gettext("Not sent. %(why)s") % {"why": error})
    return page.redirect_back(facts[0])


def _after_correcting(page: MemoryPage, fact: Fact) -> str:
    """The address of the line with its new wording: in the list of one's own lines, or on the page of the line."""
    path = [page.project.tenant.slug, page.project.slug]
    if not page.request.POST.get("next"):
        return f"{reverse('memory-mine', args=path)}#line-{services.public_id(fact.pk)}"
    previous = urlencode({"next": page.previous_address("memory-facts")})
    return f"{reverse('memory-own', args=[*path, fact.pk])}?{previous}"


def _restore(page: MemoryPage, token: str) -> HttpResponse:
    """Restore a fact that this person has just hidden; the signed token prevents restoring what an owner hid."""
    try:
        bank, fact = signing.loads(token, salt=_salt(page), max_age=UNDO_SECONDS)
        project = Project.objects.select_related("bank").get(bank=bank)
        services.restore(project.bank, fact_ids=[fact], actor=page.actor)
    except (signing.BadSignature, Project.DoesNotExist, Fact.DoesNotExist):
        raise Http404 from None
    messages.success(page.request, gettext("Shown again."))
    return redirect("memory-mine", page.project.tenant.slug, page.project.slug)


def _salt(page: MemoryPage) -> str:
    return f"projects.hidden.{page.request.user.pk}"


def _address(page: MemoryPage) -> str:
    return reverse("memory-mine-decide", args=[page.project.tenant.slug, page.project.slug])


def _bank_of(fact: Fact) -> Bank:
    return Project.objects.select_related("bank").get(bank=fact.bank_id).bank


def _number(public: str) -> int:
    try:
        return PublicId().to_python(public)
    except ValueError:
        raise Http404 from None


def _own_fact(page: MemoryPage, asker: Asker, number: int) -> Fact | None:
    """The fact, if this person may read it and it is based on their words alone; otherwise None."""
    personal = services.personal_facts(page.bank, asker).filter(pk=number)
    facts = [*personal, *page.facts.filter(pk=number, hidden=False)]
    return services.in_own_words(facts, asker).with_places().first() if asker.author else None

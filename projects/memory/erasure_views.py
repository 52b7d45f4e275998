"""Forgetting on the memory page: what would go, the deed, its receipt. Owners and admins; works without JavaScript."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Bank, PublicId
from projects.web.requests import MemberRequest

from .actions import back, named, page_before
from .views import Opened

#: People that a chat is named after.
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Meant:
    """What the form names: for the service, for the page, and as the fields of the form that says so again."""

    given: dict[str, Any]
    title: str
    quoted: list[str]
    fields: list[tuple[str, str]]


@require_POST
@login_required
def forget(request: MemberRequest, tenant: str, project: str) -> HttpResponse:
    """What would go; said again with ``sure``, it goes."""
    opened = Opened.by(request, "memory-forget", tenant, project)
    meant, sure = _meant(request, opened.bank), request.POST.get("sure") == "yes"
    if meant is None:
        messages.warning(request, _("Nothing was chosen."))
        return back(request, tenant, project)
    try:
        actor = request.user.get_username()
        receipt = services.forget(opened.bank, actor=actor, dry_run=not sure, **meant.given)
    except InvalidInput as error:
        messages.error(request, _("Nothing is erased. %(why)s") % {"why": error})
        return back(request, tenant, project)
    if sure:
        assert receipt.id is not None
        return redirect("memory-receipt", tenant, project, receipt.id)
    more = {"meant": meant, "before": page_before(request, tenant, project)}
    return opened.shown("forget", {**more, **receipt_parts(receipt.counts)})


@require_GET
@login_required
def receipt_page(request: MemberRequest, tenant: str, project: str, receipt: int) -> HttpResponse:
    """How much went, when, by whom; never what."""
    opened = Opened.by(request, "memory-receipt", tenant, project)
    row = get_object_or_404(services.erasures_of(opened.bank), pk=receipt)
    waiting = services.stale_entries(opened.bank)
    return opened.shown("receipt", {"receipt": row, "stale": waiting, **receipt_parts(row.counts)})


def _meant(request: MemberRequest, bank: Bank) -> Meant | None:
    """What is to be forgotten, as far as the page shows it; None: nothing."""
    what = request.POST.get("what", "")
    if what == "line":
        return _lines(named(request, bank), bank)
    if what == "chat":
        return _chat(request.POST.get("chat", ""), bank)
    person = request.POST.get("person", "").strip()
    if what != "person" or not person:
        return None
    fields = [("what", "person"), ("person", person)]
    return Meant({"author": person}, _("All that %(person)s said") % {"person": person}, [], fields)


def _lines(facts: list[int], bank: Bank) -> Meant | None:
    if not facts:
        return None
    quoted = list(services.facts_of(bank).filter(pk__in=facts).order_by("pk").values_list("text", flat=True))
    fields = [("what", "line"), *(("fact", PublicId().to_url(fact)) for fact in facts)]
    title = ngettext("A line, with the turns that it rests on", "%(number)d facts, with their turns", len(facts))
    return Meant({"facts": facts}, title % {"number": len(facts)}, quoted, fields)


def _chat(number: str, bank: Bank) -> Meant:
    with suppress(ValueError):
        chat = services.chats_of(bank).filter(pk=PublicId().to_python(number), private=False).first()
        if chat:
            authors = services.turns_of(chat).order_by("author").values_list("author", flat=True)
            people = authors.distinct()[:MOST_NAMED]
            title = (
                _("A whole chat of %(people)s") % {"people": ", ".join(people)}
                if people
                else _("A whole chat of nobody")
            )
            return Meant({"chat": chat.key}, title, [], [("what", "chat"), ("chat", number)])
    raise Http404


def receipt_parts(counts: Mapping[str, int]) -> dict[str, list[tuple[int, str]]]:
    """The counts of a receipt in words: what goes and what is made anew."""
    parts = {"gone": services.erased_counts(), "anew": services.REBUILT_COUNTS}
    return {
        part: [(counts[name], words[name] % counts[name]) for name in words if name in counts]
        for part, words in parts.items()
    }

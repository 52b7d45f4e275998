"""Erasure on the memory page: a preview of what would be erased, the erasure, its receipt. For owners and admins."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Bank, ErasureReceipt, PublicId
from projects.models import Project

from .actions import posted_facts
from .page import MemoryPage, memory_page

#: What a receipt is of, by the kind of the erasure.
KINDS = {
    "chat": gettext_lazy("Chat"),
    "author": gettext_lazy("Person"),
    "output": gettext_lazy("Message"),
    "line": gettext_lazy("Line"),
    "everything": gettext_lazy("Everything"),
}
#: Maximum number of authors named when a chat is to be erased.
MAX_AUTHORS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class ErasureTarget:
    """The target that a form asks to erase: ``arguments`` of the service, and the hidden ``fields`` that confirm it."""

    arguments: dict[str, Any]
    title: str
    quoted: list[str]
    fields: list[tuple[str, str]]


@memory_page("memory-forget", post=True)
def forget(page: MemoryPage) -> HttpResponse:
    """Erase what the form names if ``sure=yes`` is posted; otherwise show what would be erased."""
    target, sure = _target(page), page.request.POST.get("sure") == "yes"
    if target is None:
        messages.warning(page.request, _("Nothing selected."))
        return page.redirect_back()
    try:
        receipt = services.erase(page.bank, actor=page.actor, dry_run=not sure, **target.arguments)
    except InvalidInput as error:
        messages.error(page.request, _("Nothing is erased. %(why)s") % {"why": error})
        return page.redirect_back()
    if sure:
        assert receipt.id is not None
        return redirect("memory-receipt", page.project.tenant.slug, page.project.slug, receipt.id)
    beside = page.beside(target.arguments.get("facts", []))
    context = {"target": target, "previous": page.previous_address(), "beside": beside}
    return page.render("forget", {**context, **receipt_parts(receipt.counts)})


@memory_page("memory-receipt")
def receipt_page(page: MemoryPage, receipt: int) -> HttpResponse:
    """The receipt of an erasure, for owners, admins and whoever asked for it: how much was erased, not what it said."""
    own = services.receipts_of_person(page.bank, page.actor)
    row = get_object_or_404(services.erasures_of(page.bank) if page.may_act else own, pk=receipt)
    context = {"receipt": row, "kind": KINDS[row.kind], "waiting_summaries": services.count_stale_entries(page.bank)}
    return page.render("receipt", {**context, **receipt_parts(row.counts)})


def _target(page: MemoryPage) -> ErasureTarget | None:
    form = page.request.POST
    person = form.get("person", "").strip()
    match form.get("what"):
        case "line":
            return _lines(posted_facts(page), page.bank)
        case "chat":
            return _chat(form.get("chat", ""), page.bank)
        case "person" if person:
            title = _("All that %(person)s said") % {"person": person}
            return ErasureTarget({"author": person}, title, [], [("what", "person"), ("person", person)])
    return None


def _lines(facts: list[int], bank: Bank) -> ErasureTarget | None:
    if not facts:
        return None
    quoted = list(services.facts_of(bank).filter(pk__in=facts).order_by("pk").values_list("text", flat=True))
    fields = [("what", "line"), *(("fact", services.public_id(fact)) for fact in facts)]
    title = ngettext(
        "A line, with the messages it came from", "%(number)d lines, with the messages they came from", len(facts)
    )
    return ErasureTarget({"facts": facts}, title % {"number": len(facts)}, quoted, fields)


def _chat(number: str, bank: Bank) -> ErasureTarget:
    try:
        pk = PublicId().to_python(number)
    except ValueError:
        raise Http404 from None
    chat = get_object_or_404(services.chats_of(bank), pk=pk, private=False)
    authors = services.turns_of(chat).order_by("author").values_list("author", flat=True).distinct()
    people = ", ".join(authors[:MAX_AUTHORS_SHOWN])
    title = _("An entire chat of %(people)s") % {"people": people} if people else _("An entire chat without an author")
    return ErasureTarget({"chat": chat.key}, title, [], [("what", "chat"), ("chat", number)])


def receipt_parts(counts: Mapping[str, int]) -> dict[str, list[tuple[int, str]]]:
    """The counts of a receipt in words: what is erased and what is rebuilt."""
    parts = {"erased": services.erased_counts(), "rebuilt": services.REBUILT_COUNTS}
    return {
        part: [(counts[name], words[name] % counts[name]) for name in words if name in counts]
        for part, words in parts.items()
    }


def erased_notice(project: Project, receipt: ErasureReceipt) -> str:
    """What was erased, in one sentence, with a link to the receipt."""
    erased = ", ".join(f"{intcomma(count)} {noun}" for count, noun in receipt_parts(receipt.counts)["erased"])
    text = _("Deleted from the chat and from memory: %(gone)s.") % {"gone": erased}
    address = reverse("memory-receipt", args=[project.tenant.slug, project.slug, receipt.id])
    return format_html('{} <a href="{}">{}</a>', text, address, _("Receipt"))

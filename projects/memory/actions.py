"""Decisions of owners and admins on the memory page: pin, hide, release, edit and add facts."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.text import Truncator
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Bank, ErasureRequest, Fact, Job, PublicId
from projects.web import undo

from .page import MemoryPage, memory_page

#: Maximum number of facts in one form: enough for a page of lines, each with all the facts that it states.
MAX_FACTS_IN_FORM = 500
#: Characters of a line that a message about it shows.
MAX_CHARACTERS_NAMED = 80

#: The service function of each decision, and its message. By name, because services are imported on first use.
DECISIONS: dict[str, tuple[str, Any]] = {
    "pin": ("pin", _("pinned: every chat gets it")),
    "unpin": ("unpin", _("no longer pinned")),
    "hide": ("hide", _("hidden: told in no chat from now on")),
    "restore": ("restore", _("restored: told in chats again from the next minute on")),
    "release": ("release", _("approved: told in every chat from the next minute on")),
    "withdraw": ("withdraw_release", _("waiting for approval again: told in no chat but its author’s")),
    "keep": ("confirm_quarantine", _("left to its author for good")),
}


#: The service function that answers a member's request in each way, and its message.
ANSWERS: dict[str, tuple[str, Any]] = {
    "uphold": ("uphold", _("The line stays as it is.")),
    "grant": ("grant_erasure_request", _("Erased, with everything that was made of it.")),
    "reject": ("reject_erasure_request", _("Restored: memory has it again from the next minute on.")),
}


@memory_page("memory-decide", post=True)
def decide(page: MemoryPage) -> HttpResponse:
    """Decide on facts, or on a member's ``request``."""
    if "request" in page.request.POST:
        return _answer(page)
    service, outcome = DECISIONS.get(page.request.POST.get("do", ""), ("", ""))
    facts = posted_facts(page)
    if not service or not facts:
        messages.warning(page.request, gettext("Nothing selected.") if service else gettext("Choose what to do."))
        return page.redirect_back()
    shown = list(page.facts.filter(pk__in=facts, hidden=False).values_list("pk", flat=True))
    if count := getattr(services, service)(page.bank, fact_ids=facts, actor=page.actor):
        done = f"{_subject(page, facts, count)} {outcome}."
        if service == "hide":
            offer_undo(page, done, "restore", shown)
        elif service == "release":
            offer_undo(page, done, "withdraw", facts)
        else:
            messages.success(page.request, done)
    else:
        messages.success(page.request, gettext("No changes: this was done already."))
    return page.redirect_back(facts[0] if service == "restore" else None)


def _answer(page: MemoryPage) -> HttpResponse:
    form = page.request.POST
    try:
        service, outcome = ANSWERS[form.get("do", "")]
        number = PublicId().to_python(form["request"])
        done = getattr(services, service)(page.bank, request_id=number, actor=page.actor)
    except (KeyError, ValueError, ErasureRequest.DoesNotExist):
        raise Http404 from None
    messages.success(page.request, outcome if done else gettext("No changes: this was done already."))
    return page.redirect_back()


@memory_page("memory-edit", post=True)
def edit(page: MemoryPage) -> HttpResponse:
    facts = posted_facts(page)
    if not facts:
        raise Http404
    try:
        address = reverse("memory-edit", args=[page.project.tenant.slug, page.project.slug])
        correct(page, page.bank, list(page.facts.filter(pk__in=facts)), address=address)
    except InvalidInput as error:
        messages.error(page.request, gettext("Not saved. %(why)s") % {"why": error})
    return page.redirect_back(facts[0])


def correct(page: MemoryPage, bank: Bank, facts: Sequence[Fact], *, address: str, screened: bool = False) -> None:
    """Give facts the posted text, or with ``do=original`` their original words; say so, with a button that undoes it.

    ``address`` takes the form of that button; its field ``expected`` says what the facts must say then. Members
    (``screened``) restore only what they edited themselves. Raises :class:`InvalidInput`.
    """
    form, ids = page.request.POST, [fact.pk for fact in facts]
    expected = form.get("expected")
    if form.get("do") == "original":
        count = services.restore_original(bank, fact_ids=ids, actor=page.actor, own=screened, expected=expected)
        messages.success(page.request, gettext("The original words are back.") if count else gettext("No changes."))
        return
    text = form.get("text", "")
    about: dict[str, Any] = {"fact_ids": ids, "actor": page.actor, "screened": screened, "expected": expected}
    if not services.edit_facts(bank, text=text, **about):
        messages.success(page.request, gettext("No changes."))
        return
    done, fields = gettext("Corrected. Shown as your correction."), _fields_of_undo(facts, page.actor)
    approved = [fact.pk for fact in facts if not fact.quarantine]
    edited = list(services.facts_of(bank).filter(pk__in=ids))
    is_held_back = any(fact.quarantine for fact in edited if fact.pk in approved)
    if fields and edited and not is_held_back:  # an undo does not release what waits for an owner
        fields.append(("expected", edited[0].text))
        fields += [("fact", services.public_id(pk)) for pk in ids] + [("next", form.get("next", ""))]
        undo.notice(page.request, done, address=address, fields=fields)
    else:
        messages.success(page.request, done)


def _fields_of_undo(facts: Sequence[Fact], editor: str) -> list[tuple[str, str]]:
    """The fields of a form that undoes an edit of facts, which are as they were before; empty if nothing undoes it.

    Nothing brings back that a newer fact had superseded one of them.
    """
    if any(fact.superseded_by_id for fact in facts):
        return []
    if not any(fact.original for fact in facts):
        return [("do", "original")]
    texts = {fact.text for fact in facts}
    is_own = all(fact.original and fact.edited_by == editor for fact in facts)
    return [("do", "edit"), ("text", texts.pop())] if is_own and len(texts) == 1 else []


@memory_page("memory-add", post=True)
def add(page: MemoryPage) -> HttpResponse:
    form = page.request.POST
    kind = form.get("kind", "")
    try:
        services.add_fact(
            page.bank,
            text=form.get("text", ""),
            kind=kind if kind in Fact.Kind.values else Fact.Kind.FACT,
            pinned=form.get("pinned") == "on",
            actor=page.actor,
        )
        messages.success(page.request, gettext("Added. Shown as written by you."))
    except InvalidInput as error:
        messages.error(page.request, gettext("Not saved. %(why)s") % {"why": error})
    return page.redirect_back()


@memory_page("memory-retry", post=True)
def retry(page: MemoryPage) -> HttpResponse:
    """Try a parked chat again, or without the field ``chat`` all of them."""
    parked = services.chats_of(page.bank).parked()
    try:
        if posted := page.request.POST.get("chat", ""):
            parked = parked.filter(pk=PublicId().to_python(posted))
        chats = list(parked.values_list("pk", flat=True))
        if chats:
            services.request_job(page.bank, Job.Kind.RETRY, chats=chats, actor=page.actor)
            messages.success(page.request, gettext("Trying again. If it fails, the chat is listed here once more."))
        else:
            messages.success(page.request, gettext("No changes: it is being tried again already."))
    except ValueError:
        raise Http404 from None
    except InvalidInput as error:
        messages.error(page.request, str(error))
    return page.redirect_back()


def _subject(page: MemoryPage, facts: list[int], count: int) -> str:
    """What a message is about: the words of one line, or how many lines."""
    if len(facts) == 1 and (line := page.facts.filter(pk=facts[0]).first()):
        return gettext("“%(text)s”") % {"text": Truncator(line.text).chars(MAX_CHARACTERS_NAMED)}
    return ngettext("%(number)s line", "%(number)s lines", count) % {"number": intcomma(count)}


def offer_undo(page: MemoryPage, text: str, do: str, facts: list[int]) -> None:
    """Say what was done, with a button that undoes it by another decision about these facts."""
    fields = [("do", do), ("next", page.previous_address()), *(("fact", services.public_id(pk)) for pk in facts)]
    address = reverse("memory-decide", args=[page.project.tenant.slug, page.project.slug])
    undo.notice(page.request, text, address=address, fields=fields)


def posted_facts(page: MemoryPage) -> list[int]:
    """The ids of the posted facts in their order, without those that memory pages never show.

    Raises Http404 for a malformed id.
    """
    try:
        ids = [PublicId().to_python(name) for name in page.request.POST.getlist("fact")[:MAX_FACTS_IN_FORM]]
    except ValueError:
        raise Http404 from None
    shown = set(page.facts.filter(pk__in=ids).values_list("pk", flat=True))
    return [pk for pk in dict.fromkeys(ids) if pk in shown]

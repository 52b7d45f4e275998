"""The memory that an answer was given with, line by line, each with its source as far as the reader may see it."""

from collections.abc import Collection
from dataclasses import dataclass, field

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from memorybank import services
from memorybank.services import Bank, Fact
from projects.models import Conversation, GivenWith, Project, Role
from projects.tenancy import permissions
from projects.web.requests import MemberRequest

from .rows import page_of


@dataclass(slots=True)
class Used:
    """A line that is still in memory; ``why`` is the page of its source, ``own`` are the reader's own turns there."""

    line: Fact | services.VisibleSentence
    why: str = ""
    own: list[str] = field(default_factory=list)


@require_GET
@login_required
def used_page(request: MemberRequest, tenant: str, project: str, key: str, turn: int) -> HttpResponse:
    """Block and notes of one answer. Asked for only when somebody looks."""
    found, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key, Role.MEMBER)
    output = get_object_or_404(services.turns_of(conversation.chat).select_related("given_with"), pk=turn)
    given = getattr(output, "given_with", None) or GivenWith(memory_version=0, memory_tokens=0, prompt_tokens=0)
    told, recalled = _told(found, given, request.user), _recalled(found, given, request.user)
    gone = len(given.lines) + len(given.recalled) - len(told) - len(recalled)
    shown = {"project": found, "chat": conversation.chat, "turn": output, "given": given}
    shown |= {"told": told, "recalled": recalled, "gone": gone}
    return render(request, "projects/memory_used.html", shown)


def _told(project: Project, given: GivenWith, reader: User) -> list[Used]:
    """The lines of the block of which a fact is left that may be shown."""
    bank, explained = project.bank, permissions.may(reader, project.tenant, Role.ADMIN)
    named = {fact for line in given.lines for fact in line}
    shown = services.browse(bank).filter(pk__in=named, hidden=False, quarantine="").select_related("entry")
    facts = {fact.pk: fact for fact in shown}
    rest_on = services.origins(bank, list(facts.values()))
    pages = _own_pages(bank, {origin.output for origins in rest_on.values() for origin in origins}, reader)
    lines = []
    for line in given.lines:
        left = [facts[pk] for pk in line if pk in facts]
        if left:
            why = _why(project, left[0].pk) if explained else ""
            turns = dict.fromkeys(origin.output for fact in left for origin in rest_on[fact.pk])
            lines.append(Used(left[0], why, [pages[pk] for pk in turns if pk in pages]))
    return lines


def _recalled(project: Project, given: GivenWith, reader: User) -> list[Used]:
    """The notes whose sentences memory would still tell."""
    places = [(output, place) for output, place in given.recalled]
    told = services.sentences(project.bank, places)
    pages = _own_pages(project.bank, {output for output, _ in told}, reader)
    return [Used(told[each], own=[pages[each[0]]] if each[0] in pages else []) for each in places if each in told]


def _own_pages(bank: Bank, outputs: Collection[int], reader: User) -> dict[int, str]:
    """Of these turns, where the reader may open those that are in chats of her own."""
    chats = Conversation.objects.filter(owner=reader, chat__bank=bank).values("chat")
    rows = services.outputs_of(bank).filter(pk__in=outputs, chat__in=chats).values_list("pk", "sequence", "chat__key")
    return {output: page_of(bank, key, output, sequence) for output, sequence, key in rows}


def _why(project: Project, fact: int) -> str:
    return reverse("memory-why", args=[project.tenant.slug, project.slug, fact])

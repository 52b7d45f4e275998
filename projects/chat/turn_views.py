"""Actions on one turn: ask again, edit, regenerate, continue, rate, show another version, remember, forget."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Chat, Job, Output, PublicId
from projects.memory.erasure_views import erased_notice, receipt_parts
from projects.memory.page import MAX_LINES_BESIDE
from projects.models import Project
from projects.tenancy import people
from projects.web import undo
from projects.web.requests import MemberRequest

from . import negotiation, page_context, revisions, service
from .forms import MessageForm
from .negotiation import TurnGone, turn_address


@negotiation.chat_view("POST", json=True)
def retry(request: MemberRequest, project: Project, chat: Chat, turn: int) -> HttpResponse:
    """Ask an unanswered message again. If it has been answered meanwhile (a second click), the chat is shown."""
    try:
        return negotiation.answered(request, service.ask_again(project, chat, _unanswered(chat, turn)))
    except TurnGone:
        return _show_gone(request, project, chat)
    except InvalidInput as error:
        return negotiation.refused(
            request, error, partial(page_context.show_chat, request, project, chat, MessageForm())
        )


@negotiation.chat_view("GET", "HEAD", "POST", json=True)
def edit(request: MemberRequest, project: Project, chat: Chat, turn: int) -> HttpResponse:
    """Show a form with the message and the turns that an edit replaces; a POST asks the edited message instead."""
    output = _own_turn(request, chat, turn)
    if request.method != "POST":
        return _show_edit(request, project, output, MessageForm(initial={"message": output.question}))
    form = MessageForm.posted(request)
    try:
        message, sent = form.message_and_key()
        asked = revisions.edit(project, output, message, request.user.get_username(), sent)
        return negotiation.answered(request, asked)
    except InvalidInput as error:
        return negotiation.refused(request, error, partial(_show_edit, request, project, output, form))


@negotiation.chat_view("POST", json=True)
def regenerate(request: MemberRequest, project: Project, chat: Chat, turn: int) -> HttpResponse:
    """Generate another answer to the message of a turn."""
    return _answer_anew(request, project, chat, turn, revisions.regenerate)


@negotiation.chat_view("POST", json=True)
def resume(request: MemberRequest, project: Project, chat: Chat, turn: int) -> HttpResponse:
    """Continue an answer that was stopped or broke off."""
    return _answer_anew(request, project, chat, turn, revisions.resume)


def _answer_anew(
    request: MemberRequest,
    project: Project,
    chat: Chat,
    turn: int,
    ask: Callable[[Project, Output, str], service.AnswerRequest],
) -> HttpResponse:
    """Ask the message of a turn again. If the turn was replaced meanwhile (a second click), the chat is shown."""

    def show_refusal(problem: str, status: int) -> HttpResponse:
        messages.error(request, problem)
        return redirect(turn_address(project, chat, turn))

    try:
        output = _own_turn(request, chat, turn)
        return negotiation.answered(request, ask(project, output, request.user.get_username()))
    except TurnGone:
        return _show_gone(request, project, chat)
    except InvalidInput as error:
        return negotiation.refused(request, error, show_refusal)


@negotiation.chat_view("GET", "HEAD")
def answer_source(request: MemberRequest, project: Project, chat: Chat, turn: int) -> HttpResponse:
    """The Markdown of an answer as it was written, to be copied."""
    output = get_object_or_404(services.turns_of(chat).exclude(answer=""), pk=turn)
    return HttpResponse(output.answer, content_type="text/plain; charset=utf-8")


@negotiation.chat_view("POST", json=True)
def rate(request: MemberRequest, project: Project, chat: Chat, turn: int) -> HttpResponse:
    """Rate an answer, by ``helpful`` = ``yes`` or ``no``; any other value takes the rating back."""
    output = get_object_or_404(services.turns_of(chat).exclude(answer="").select_related("answer_context"), pk=turn)
    helpful = {"yes": True, "no": False}.get(request.POST.get("helpful", ""))
    model = output.answer_context.model if hasattr(output, "answer_context") else ""
    person = request.user.get_username()
    services.rate_answer(project.bank, output=output.pk, person=person, helpful=helpful, model=model)
    if negotiation.wants_json(request):
        return JsonResponse({"helpful": helpful})
    return redirect(turn_address(project, chat, turn))


@negotiation.chat_view("POST")
def show_version(request: MemberRequest, project: Project, chat: Chat, turn: int) -> HttpResponse:
    """Use this version of a turn, with the turns that followed it, instead of the one used now.

    Memory uses what the chat uses. If it is on, a notice says so, and Undo goes back to the version used before.
    """
    try:
        own = services.turns_of(chat).filter(author=request.user.get_username())
        services.show_version(project.bank, get_object_or_404(own, pk=turn).pk)
        with suppress(ValueError):
            before = PublicId().to_python(request.POST.get("shown", ""))
            if project.bank.enabled and chat.is_remembered:
                address = reverse("show-version", args=[project.tenant.slug, project.slug, chat.key, before])
                undo.notice(request, _("Memory uses this version from now on."), address=address, fields=[])
    except InvalidInput as error:
        messages.error(request, str(error))
    return redirect(turn_address(project, chat, turn))


@negotiation.chat_view("POST")
def restore(request: MemberRequest, project: Project, chat: Chat, turn: int) -> HttpResponse:
    """Withdraw an erasure request that somebody made in a turn, or that was detected there by mistake."""
    erasure = services.erasure_requests_of(project.bank).filter(chat=chat, asked_in=turn).first()
    if erasure:
        services.reject_erasure_request(project.bank, request_id=erasure.pk, actor=request.user.get_username())
    return redirect(turn_address(project, chat, turn))


@negotiation.chat_view("POST")
def remember_now(request: MemberRequest, project: Project, chat: Chat, turn: int) -> HttpResponse:
    """Have the worker summarise the chat's waiting turns, including this one, even if the chat is not idle yet."""
    _own_turn(request, chat, turn)
    try:
        if not chat.is_remembered:
            raise InvalidInput(_("This chat is remembered for nobody."))
        services.request_job(project.bank, Job.Kind.SUMMARISE, chats=[chat.pk], actor=request.user.get_username())
        messages.success(request, _("Done: this chat will be added to memory within a minute."))
    except InvalidInput as error:
        messages.error(request, str(error))
    return redirect(turn_address(project, chat, turn))


@negotiation.chat_view("POST")
def forget(request: MemberRequest, project: Project, chat: Chat, turn: int) -> HttpResponse:
    """Erase a turn if ``sure=yes`` is posted; otherwise show what would be erased with it."""
    actor, sure = request.user.get_username(), request.POST.get("sure") == "yes"
    output = get_object_or_404(services.turns_of(chat).filter(author=actor), pk=turn)
    lines = services.facts_from(project.bank, [output.pk], viewer=people.person_of(project, request.user))
    going = {
        "lines": list(lines.may_be_shown().order_by("pk")[:MAX_LINES_BESIDE]) if not sure else [],
        "title_goes": not sure and chat.pk in services.quoting_titles(services.turns_of(chat).filter(pk=output.pk)),
    }
    receipt = services.erase(project.bank, output=output.pk, actor=actor, dry_run=not sure)
    parts = receipt_parts(receipt.counts)
    if not sure:
        context = {"project": project, "chat": chat, "turn": output, **going, **parts}
        return render(request, "projects/forget_turn.html", context)
    messages.success(request, erased_notice(project, receipt))
    if services.chats_of(project.bank).filter(pk=chat.pk).exists():
        return redirect("chat", project.tenant.slug, project.slug, chat.key)
    return redirect("project", project.tenant.slug, project.slug)


def _unanswered(chat: Chat, turn: int) -> Output:
    output = services.turns_of(chat).unanswered().filter(pk=turn).first()
    if output is None:
        raise TurnGone
    return output


def _own_turn(request: MemberRequest, chat: Chat, turn: int) -> Output:
    """A turn that this member may change; :class:`TurnGone` (404) if there is none."""
    output = services.turns_of(chat).shown().select_related("chat").filter(pk=turn).first()
    if output is None or not revisions.may_change(output, request.user):
        raise TurnGone
    return output


def _show_gone(request: MemberRequest, project: Project, chat: Chat) -> HttpResponse:
    if negotiation.wants_json(request):
        raise TurnGone
    return redirect("chat", project.tenant.slug, project.slug, chat.key)


def _show_edit(
    request: MemberRequest, project: Project, output: Output, form: MessageForm, problem: str = "", status: int = 200
) -> HttpResponse:
    later = services.turns_from(output).exclude(pk=output.pk)
    context = {"project": project, "chat": output.chat, "turn": output, "form": form, "problem": problem}
    context |= {"later": later.count(), "others": revisions.other_authors(later, request.user)}
    return render(request, "projects/edit_turn.html", context, status=status)

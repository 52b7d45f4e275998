"""The chat pages. Who may see what is asked of ``access`` alone."""

from contextlib import suppress

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from memorybank import services
from memorybank.exceptions import InvalidInput, NotCompacted
from memorybank.models import Chat, Output
from memorybank.services import PublicId
from projects.models import Conversation, Project, Role
from projects.tenancy import permissions
from projects.tenancy.forms import MAX_MESSAGE_CHARS, MessageForm

from . import compact_command, compaction, service, sidebar, turn_context

TURNS_ON_A_PAGE = 50
CHATS_ON_A_PAGE = 50
LONGEST_SEARCH = 200


class MemberRequest(HttpRequest):
    """A request behind ``login_required``."""

    user: User


@require_GET
def favicon(request: HttpRequest) -> HttpResponse:
    """For whoever asks for the icon without having read a page that names it."""
    return redirect(static("projects/icon.svg"))


@require_GET
@login_required
def home(request: MemberRequest) -> HttpResponse:
    """The member's projects."""
    managed = permissions.tenants_for(request.user)
    return render(
        request, "projects/home.html", {"projects": permissions.projects_for(request.user), "managed": managed}
    )


@require_GET
@login_required
def project_page(request: MemberRequest, tenant: str, project: str) -> HttpResponse:
    """The member's own chats in a project, all or those that say something, some at a time; a viewer has none."""
    found = permissions.project_for(request.user, f"{tenant}/{project}")
    page = request.GET.get("page", "")
    number = max(1, int(page)) if page.isascii() and page.isdigit() and len(page) < 7 else 1
    start = (number - 1) * CHATS_ON_A_PAGE
    may_write = permissions.may(request.user, found.tenant, Role.MEMBER)
    own = Conversation.objects.of(request.user, found) if may_write else Conversation.objects.none()
    sought = request.GET.get("q", "").replace("\x00", "").strip()[:LONGEST_SEARCH]
    listed = list(own.saying(sought)[start : start + CHATS_ON_A_PAGE + 1])
    return render(
        request,
        "projects/project.html",
        {
            "project": found,
            "conversations": listed[:CHATS_ON_A_PAGE],
            "earlier": number + 1 if len(listed) > CHATS_ON_A_PAGE else None,
            "sought": sought,
            "may_write": may_write,
            "to_review": _to_review(request.user, found),
        },
    )


def _to_review(user: User, project: Project) -> int:
    """Lines that are held back and wait for her to judge."""
    return services.browse(project.bank).to_review().count() if permissions.may(user, project.tenant, Role.ADMIN) else 0


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def chat_page(request: MemberRequest, tenant: str, project: str, key: str) -> HttpResponse:
    """The conversation and its composer; posting works without JavaScript, too."""
    if request.method == "POST":
        return _posted(request, tenant, project, key)
    found, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key)
    return _show(request, found, conversation.chat, MessageForm())


@require_POST
@login_required
def retry(request: MemberRequest, tenant: str, project: str, key: str, turn: int) -> HttpResponse:
    """Ask a message again that was not answered. One that is answered by now (a second click) is shown."""
    found, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key, Role.MEMBER)
    unanswered = conversation.chat.outputs.unanswered().filter(pk=turn).first()
    page = reverse("chat", args=[tenant, project, key])
    if unanswered is None:
        return redirect(page)
    try:
        given = service.answer(service.ask_again(found, conversation.chat, unanswered))
    except InvalidInput as error:
        return _show(request, found, conversation.chat, MessageForm(), str(error), 400)
    return redirect(f"{page}#turn-{PublicId().to_url(given.output.pk)}")


@require_POST
@login_required
def remember(request: MemberRequest, tenant: str, project: str, key: str, turn: int) -> HttpResponse:
    """Take back a wish to have something forgotten, or what was mistaken for one."""
    found, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key, Role.MEMBER)
    asked = found.bank.erasure_requests.filter(chat=conversation.chat, asked_in=turn).first()
    if asked:
        services.restore_asked(found.bank, request_id=asked.pk, actor=request.user.get_username())
    return redirect(f"{reverse('chat', args=[tenant, project, key])}#turn-{PublicId().to_url(turn)}")


def _posted(request: MemberRequest, tenant: str, project: str, key: str) -> HttpResponse:
    """A message from the form: the page again, with the text still in the composer if it was refused."""
    found, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key, Role.MEMBER)
    form = MessageForm(request.POST)
    if not form.is_valid():
        return _show(request, found, conversation.chat, form, form.problem, 413 if form.too_long else 400)
    message, sent = form.cleaned_data["message"], form.cleaned_data["key"]
    if (focus := compact_command.focus_in(message)) is not None:
        return _compacted(request, found, conversation.chat, form, focus)
    try:
        asked = service.ask(found, conversation.chat, message, request.user.get_username(), sent)
        given = service.answer(asked)
    except InvalidInput as error:
        return _show(request, found, conversation.chat, form, str(error), 400)
    return redirect(f"{request.path}#turn-{PublicId().to_url(given.output.pk)}")


def _compacted(request: MemberRequest, project: Project, chat: Chat, form: MessageForm, focus: str) -> HttpResponse:
    """The page at the new checkpoint, or again with why there is none."""
    try:
        made = compaction.compact(project, chat, focus)
    except (InvalidInput, NotCompacted) as error:
        return _show(request, project, chat, form, str(error), 400 if isinstance(error, InvalidInput) else 409)
    return redirect(f"{request.path}#checkpoint-{PublicId().to_url(made.pk)}")


def _show(
    request: MemberRequest, project: Project, chat: Chat, form: MessageForm, problem: str = "", status: int = 200
) -> HttpResponse:
    turns, older = _turns(chat, request.GET.get("before", ""))
    trial = request.GET.get("ask", "")[:MAX_MESSAGE_CHARS]
    memory = services.prompt_memory(project.bank, chat_key=chat.key, question=trial)
    return render(
        request,
        "projects/chat.html",
        {
            **turn_context.context(request.user, project, chat, turns),
            "older": older,
            "memory": memory,
            "trial": trial,
            "compaction": compact_command.how_far(project, chat),
            "form": form,
            "problem": problem,
            "sidebar": sidebar.beside(request.user, project, request.GET.get("q", "")),
        },
        status=status,
    )


def _turns(chat: Chat, before: str) -> tuple[list[Output], str | None]:
    """One page of turns, oldest first, and where the page before it ends (None: there is none)."""
    outputs = chat.outputs.select_related("given_with").order_by("-sequence")
    with suppress(ValueError):
        outputs = outputs.filter(sequence__lt=PublicId().to_python(before))
    newest = list(outputs[: TURNS_ON_A_PAGE + 1])
    shown = newest[:TURNS_ON_A_PAGE][::-1]
    return shown, PublicId().to_url(shown[0].sequence) if len(newest) > TURNS_ON_A_PAGE else None

"""The pages of a project's chats, and actions on an entire chat; ``tenancy.permissions`` decides all access."""

from functools import partial

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from memorybank import services
from memorybank.services import Chat, PublicId
from projects.memory.erasure_views import erased_notice, receipt_parts
from projects.memory.memory_search import search_memory
from projects.models import Conversation, Project, Role
from projects.tenancy import permissions
from projects.web import undo
from projects.web.pagination import numbered_page
from projects.web.requests import MemberRequest

from . import compaction, negotiation, page_context, revisions, service
from .audience import AudienceChange, AudienceForm, change_of
from .forms import MessageForm, TitleForm

CHATS_ON_A_PAGE = 50
CHATS_ON_HOME = 8
HELP_COMMAND = "/help"


@require_GET
def favicon(request: HttpRequest) -> HttpResponse:
    """Redirect to the icon, for clients that request it without having read its address in a page."""
    return redirect(static("projects/icon.svg"))


@require_GET
@login_required
def home(request: MemberRequest) -> HttpResponse:
    """The member's projects and newest chats in all of them, or what chats and memory say about words."""
    projects = permissions.enter_projects(request.user)
    words = page_context.search_words(request.GET.get("q", ""))
    own = Conversation.objects.of_all(request.user, projects).saying(words)
    chats = numbered_page(request, own, CHATS_ON_A_PAGE if words else CHATS_ON_HOME)
    return render(
        request,
        "projects/home.html",
        {
            "projects": projects.annotate(
                memory_tokens=services.block_tokens("bank"),
                chat_count=services.chat_count("bank"),
                own_count=Conversation.objects.filter(owner=request.user).count_in("bank"),
                last_activity=services.last_activity("bank"),
                to_review=services.to_review("bank"),
                cost=services.memory_cost("bank", services.month_of(timezone.now())),
            ),
            "writable": permissions.tenants_to_write_in(request.user),
            "managed": permissions.tenants_for(request.user),
            "conversations": chats,
            "search": words,
            "memory": search_memory(request.user, projects, words if chats.number == 1 else ""),
        },
    )


@require_GET
@login_required
def project_page(request: MemberRequest, tenant: str, project: str) -> HttpResponse:
    """The member's own chats in a project, none for a viewer; or what chats and memory say about words."""
    project_row = permissions.enter_project(request.user, f"{tenant}/{project}")
    may_write = permissions.may(request.user, project_row.tenant, Role.MEMBER)
    own = Conversation.objects.of(request.user, project_row) if may_write else Conversation.objects.none()
    words = page_context.search_words(request.GET.get("q", ""))
    chats = numbered_page(request, own.saying(words), CHATS_ON_A_PAGE)
    this = Project.objects.filter(pk=project_row.pk).select_related("tenant", "bank")
    return render(
        request,
        "projects/project.html",
        {
            "project": project_row,
            "conversations": chats,
            "search": words,
            "memory": search_memory(request.user, this, words if chats.number == 1 else ""),
            "may_write": may_write,
            "may_configure": permissions.may(request.user, project_row.tenant, Role.ADMIN),
            "to_review": _to_review(request.user, project_row),
        },
    )


def _to_review(user: User, project: Project) -> int:
    """The number of lines and requests that this user has to review."""
    return services.count_to_review(project.bank) if permissions.may(user, project.tenant, Role.ADMIN) else 0


# --- one chat ---------------------------------------------------------------------------------------------


@negotiation.chat_view("GET", "HEAD", "POST", json=True, or_read=True)
def chat_page(request: MemberRequest, project: Project, chat: Chat) -> HttpResponse:
    """The chat with its composer, which also works without JavaScript.

    A message posted twice with the same ``key`` (32 hexadecimal digits) is recorded once. Posting ``/compact`` instead
    of a message compacts the chat.
    """
    if request.method != "POST":
        return page_context.show_chat(request, project, chat, MessageForm())
    form = MessageForm.posted(request)
    try:
        return _send(request, project, chat, form)
    except negotiation.REFUSALS as error:  # the page keeps the text in the composer
        return negotiation.refused(request, error, partial(page_context.show_chat, request, project, chat, form))


def _send(request: MemberRequest, project: Project, chat: Chat, form: MessageForm) -> HttpResponse:
    message, key = form.message_and_key()
    if message.strip() == HELP_COMMAND:  # JavaScript shows it without a request
        return page_context.show_chat(request, project, chat, MessageForm(), help_asked=True)
    focus = compaction.command_focus(message)
    if focus is None:
        asked = service.ask(project, chat, message, request.user.get_username(), key)
        return negotiation.answered(request, asked)
    if negotiation.wants_json(request):  # JavaScript polls the progress, a form post waits
        compaction.begin(project, chat, focus)
        return JsonResponse({"compaction": compaction.progress(project, chat)}, status=202)
    checkpoint = compaction.compact(project, chat, focus)
    return redirect(f"{request.path}#checkpoint-{PublicId().to_url(checkpoint.pk)}")


@negotiation.chat_view("GET", json=True)
def compaction_progress(request: MemberRequest, project: Project, chat: Chat) -> JsonResponse:
    """How far the chat's compaction is (``percent`` is null if none runs), and the newest checkpoint.

    ``problem`` says why the last one failed. A compaction whose server was killed is resumed.
    """
    checkpoint = services.newest_checkpoint(chat)
    progress = compaction.progress(project, chat)
    return JsonResponse({**progress, "checkpoint": compaction.as_json(checkpoint)})


@negotiation.chat_view("GET", json=True)
def state(request: MemberRequest, project: Project, chat: Chat) -> JsonResponse:
    """Polled by an open page: whether the chat is in memory, and whether its turns have changed."""
    turns = page_context.newest_turns(chat)
    return JsonResponse(page_context.live_state(project, chat, turns, timezone.now()))


# --- actions on a whole chat ------------------------------------------------------------------------------


@require_POST
@login_required
def new_chat(request: MemberRequest, tenant: str, project: str) -> HttpResponse:
    """Create a chat, or go to the one that this member has begun and not used."""
    project_row = permissions.enter_project(request.user, f"{tenant}/{project}", Role.MEMBER)
    conversation = service.begin(project_row, request.user)
    return redirect("chat", tenant=tenant, project=project, key=conversation.chat.key)


@negotiation.chat_view("POST")
def rename(request: MemberRequest, project: Project, chat: Chat) -> HttpResponse:
    """Name a chat by hand; an invalid title changes nothing."""
    form = TitleForm(request.POST)
    if form.is_valid():
        services.rename_chat(project.bank, chat_key=chat.key, title=form.cleaned_data["title"])
    else:
        messages.error(request, _("Not renamed. %(why)s") % {"why": form.problem})
    return redirect("chat", project.tenant.slug, project.slug, chat.key)


@negotiation.chat_view("POST")
def private(request: MemberRequest, project: Project, chat: Chat) -> HttpResponse:
    """Change the audience of a chat. Without ``sure=yes``, show first what others would gain or lose, if anything.

    ``undo`` reverts a change without asking, unless somebody has written in the chat since.
    """
    actor = request.user.get_username()
    form = AudienceForm(project, chat, actor, request.POST)
    if form.is_valid():
        readers, before = form.chosen(), form.initial
        sure = request.POST.get("sure") == "yes" or request.POST.get("undo") == _last_turn(chat)
        change = change_of(project, chat, readers, actor)
        if change.asks_first and not sure:
            context = {"project": project, "chat": chat, "change": change, "chosen": form.cleaned_data}
            return render(request, "projects/change_audience.html", context)
        services.set_audience(project.bank, chat_key=chat.key, readers=readers, actor=actor)
        if "undo" in request.POST:
            messages.success(request, _("Undone: the chat is remembered for the same people as before."))
        elif change.gains or change.loses:
            back = [("audience", before["audience"]), *(("readers", name) for name in before["readers"])]
            text = _changed_notice(form, change)
            undo.notice(request, text, address=request.path, fields=[*back, ("undo", _last_turn(chat))])
    return redirect("chat", project.tenant.slug, project.slug, chat.key)


def _changed_notice(form: AudienceForm, change: AudienceChange) -> str:
    if change.loses and change.facts:
        return _("Others are no longer told what this chat says. Pins and corrections are kept.")
    whom = dict(form.fields["audience"].choices)[form.cleaned_data["audience"]]  # type: ignore[attr-defined]
    return _("This chat is remembered for: %(whom)s.") % {"whom": whom}


def _last_turn(chat: Chat) -> str:
    return chat.last_output_at.isoformat() if chat.last_output_at else ""


@negotiation.chat_view("POST")
def delete(request: MemberRequest, project: Project, chat: Chat) -> HttpResponse:
    """Erase a chat if ``sure=yes`` is posted; otherwise show what would be erased with it."""
    actor, sure = request.user.get_username(), request.POST.get("sure") == "yes"
    receipt = services.erase(project.bank, chat=chat.key, actor=actor, dry_run=not sure)
    if not sure:
        others = revisions.other_authors(services.turns_of(chat), request.user)
        context = {"project": project, "chat": chat, "others": others, **receipt_parts(receipt.counts)}
        return render(request, "projects/delete.html", context)
    messages.success(request, erased_notice(project, receipt))
    return redirect("project", project.tenant.slug, project.slug)

"""What a member does with a chat of hers as a whole: begin it, name it, make it private, delete it with its memory."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from memorybank import services
from memorybank.models import Chat
from projects.memory.erasure_views import told
from projects.models import Role
from projects.tenancy import permissions
from projects.tenancy.forms import TitleForm

from . import revisions, service
from .views import MemberRequest


@require_POST
@login_required
def new_chat(request: MemberRequest, tenant: str, project: str) -> HttpResponse:
    """Begin a chat, private from its first message on if that is asked for."""
    found = permissions.project_for(request.user, f"{tenant}/{project}", Role.MEMBER)
    begun = service.begin(found, request.user, private=request.POST.get("private") == "on")
    return redirect("chat", tenant=tenant, project=project, key=begun.chat.key)


@require_POST
@login_required
def rename(request: MemberRequest, tenant: str, project: str, key: str) -> HttpResponse:
    """Name a chat by hand; a title that is none leaves the one that it has."""
    _found, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key)
    form = TitleForm(request.POST)
    if form.is_valid():
        Chat.objects.filter(pk=conversation.chat_id).update(title=form.cleaned_data["title"])
    else:
        messages.error(request, _("Not renamed. %(why)s") % {"why": form.problem})
    return redirect("chat", tenant=tenant, project=project, key=key)


@require_POST
@login_required
def private(request: MemberRequest, tenant: str, project: str, key: str) -> HttpResponse:
    """Make a chat private, or shared again."""
    found, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key)
    on, actor = request.POST.get("private") == "on", request.user.get_username()
    services.set_private(found.bank, chat_key=conversation.chat.key, private=on, actor=actor)
    return redirect("chat", tenant=tenant, project=project, key=key)


@require_POST
@login_required
def delete(request: MemberRequest, tenant: str, project: str, key: str) -> HttpResponse:
    """What would go with a chat; said again with ``sure``, it goes."""
    found, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key)
    chat, actor, sure = conversation.chat, request.user.get_username(), request.POST.get("sure") == "yes"
    receipt = services.forget(found.bank, chat=chat.key, actor=actor, dry_run=not sure)
    parts = told(receipt.counts)
    if not sure:
        others = revisions.others(chat.outputs.all(), request.user)
        return render(request, "projects/delete.html", {"project": found, "chat": chat, "others": others, **parts})
    gone = ", ".join(f"{intcomma(count)} {what}" for count, what in parts["gone"])
    messages.success(request, _("Deleted, with all that memory had of it: %(gone)s.") % {"gone": gone})
    return redirect("project", tenant=tenant, project=project)

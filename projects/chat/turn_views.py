"""What a member does with one turn of hers: edit it, have it answered anew, remembered at once, or forgotten."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.models import Chat, Job, Output
from memorybank.services import PublicId
from projects.memory.erasure_views import told
from projects.models import Project, Role
from projects.tenancy import permissions
from projects.tenancy.forms import MessageForm

from . import revisions, service
from .views import MemberRequest


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def edit(request: MemberRequest, tenant: str, project: str, key: str, turn: int) -> HttpResponse:
    """The message to be written anew, and how much its place takes; sent, it is asked in that place."""
    found, output = _own_turn(request, tenant, project, key, turn)
    form, problem = MessageForm(request.POST or None, initial={"message": output.question}), ""
    if request.method == "POST" and form.is_valid():
        message, sent = form.cleaned_data["message"], form.cleaned_data["key"]
        try:
            asked = revisions.edit(found, output, message, request.user.get_username(), sent)
            return _to_turn(found, output.chat, service.answer(asked).output)
        except InvalidInput as error:
            problem = str(error)
    later = revisions.from_on(output).exclude(pk=output.pk)
    shown = {"project": found, "chat": output.chat, "turn": output, "form": form, "later": later.count()}
    shown |= {"others": revisions.others(later, request.user), "problem": problem or form.problem}
    return render(request, "projects/edit_turn.html", shown, status=400 if shown["problem"] else 200)


@require_POST
@login_required
def regenerate(request: MemberRequest, tenant: str, project: str, key: str, turn: int) -> HttpResponse:
    """Another answer. A turn that has given way to one by now (a second click) is not there: the chat is shown."""
    found, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key, Role.MEMBER)
    output = revisions.own(conversation.chat, request.user).filter(pk=turn).first()
    if output is None:
        return redirect("chat", tenant=tenant, project=project, key=key)
    try:
        asked = revisions.regenerate(found, output, request.user.get_username())
    except InvalidInput as error:
        messages.error(request, str(error))
        return _to_turn(found, output.chat, output)
    return _to_turn(found, output.chat, service.answer(asked).output)


@require_POST
@login_required
def remember_now(request: MemberRequest, tenant: str, project: str, key: str, turn: int) -> HttpResponse:
    """Have what waits in the chat, this turn among it, taken into memory by the next worker, idle or not."""
    found, output = _own_turn(request, tenant, project, key, turn)
    try:
        if output.chat.private:
            raise InvalidInput(_("This chat is private, so nothing of it becomes memory."))
        chats, actor = [output.chat_id], request.user.get_username()
        services.ask(found.bank, Job.Kind.SUMMARISE, chats=chats, actor=actor)
        messages.success(request, _("Asked for: what waits in this chat becomes memory with the next sweep."))
    except InvalidInput as error:
        messages.error(request, str(error))
    return _to_turn(found, output.chat, output)


@require_POST
@login_required
def forget(request: MemberRequest, tenant: str, project: str, key: str, turn: int) -> HttpResponse:
    """What would go with a turn; said again with ``sure``, it goes."""
    found, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key, Role.MEMBER)
    chat, actor, sure = conversation.chat, request.user.get_username(), request.POST.get("sure") == "yes"
    output = get_object_or_404(chat.outputs.filter(author=actor), pk=turn)
    receipt = services.forget(found.bank, output=output.pk, actor=actor, dry_run=not sure)
    if not sure:
        shown = {"project": found, "chat": chat, "turn": output, **told(receipt.counts)}
        return render(request, "projects/forget_turn.html", shown)
    messages.success(request, _("Forgotten, with all that memory had of it."))
    if Chat.objects.filter(pk=chat.pk).exists():
        return redirect("chat", tenant=tenant, project=project, key=key)
    return redirect("project", tenant=tenant, project=project)


def _own_turn(request: MemberRequest, tenant: str, project: str, key: str, turn: int) -> tuple[Project, Output]:
    """A turn of hers in a chat of hers; :class:`Http404` if it is none."""
    found, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key, Role.MEMBER)
    output = revisions.own(conversation.chat, request.user).select_related("chat").filter(pk=turn).first()
    if output is None:
        raise Http404
    return found, output


def _to_turn(project: Project, chat: Chat, output: Output) -> HttpResponse:
    page = reverse("chat", args=[project.tenant.slug, project.slug, chat.key])
    return redirect(f"{page}#turn-{PublicId().to_url(output.pk)}")

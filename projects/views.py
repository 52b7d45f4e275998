"""The chat pages, and the JSON endpoint they use. Who may see what is asked of ``access`` alone."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from memorybank import llm, services
from memorybank.exceptions import InvalidInput
from memorybank.models import Chat, Output
from memorybank.services import PromptMemory

from . import access, answering
from .chat import Prompt
from .forms import MAX_MESSAGE_CHARS, MessageForm
from .models import Conversation, Project, Role

TURNS_ON_A_PAGE = 50


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
    return render(request, "projects/home.html", {"projects": access.projects_for(request.user)})


@require_GET
@login_required
def project_page(request: MemberRequest, tenant: str, project: str) -> HttpResponse:
    """The member's own chats in a project."""
    found = access.project_for(request.user, f"{tenant}/{project}")
    return render(
        request,
        "projects/project.html",
        {
            "project": found,
            "conversations": Conversation.objects.of(request.user, found),
            "may_write": access.may(request.user, found.tenant, Role.MEMBER),
        },
    )


@require_POST
@login_required
def new_chat(request: MemberRequest, tenant: str, project: str) -> HttpResponse:
    """Begin a chat."""
    found = access.project_for(request.user, f"{tenant}/{project}", Role.MEMBER)
    begun = answering.begin(found, request.user)
    return redirect("chat", tenant=tenant, project=project, key=begun.chat.key)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def chat_page(request: MemberRequest, tenant: str, project: str, key: str) -> HttpResponse:
    """The conversation and its composer; posting works without JavaScript, too."""
    if request.method == "POST":
        return _posted(request, tenant, project, key)
    found, conversation = access.conversation_for(request.user, f"{tenant}/{project}", key)
    return _show(request, found, conversation.chat, MessageForm())


@require_POST
@login_required
def private(request: MemberRequest, tenant: str, project: str, key: str) -> HttpResponse:
    """Make a chat private, or shared again."""
    found, conversation = access.conversation_for(request.user, f"{tenant}/{project}", key, Role.MEMBER)
    services.set_private(
        found.bank,
        chat_key=conversation.chat.key,
        private=request.POST.get("private") == "on",
        actor=request.user.get_username(),
    )
    return redirect("chat", tenant=tenant, project=project, key=key)


@require_POST
@login_required
def retry(request: MemberRequest, tenant: str, project: str, key: str, turn: int) -> HttpResponse:
    """Ask a message again that was not answered. One that is answered by now (a second click) is shown."""
    found, conversation = access.conversation_for(request.user, f"{tenant}/{project}", key, Role.MEMBER)
    unanswered = conversation.chat.outputs.unanswered().filter(pk=turn).first()
    page = reverse("chat", args=[tenant, project, key])
    if unanswered is None:
        return redirect(page)
    try:
        given = answering.retry(found, conversation.chat, unanswered)
    except InvalidInput as error:
        return _show(request, found, conversation.chat, MessageForm(), str(error), 400)
    return redirect(f"{page}#turn-{given.output.pk}")


JSONView = Callable[..., JsonResponse]


def _refusing_in_json(view: JSONView) -> JSONView:
    """Refusals as one line of JSON instead of a page."""

    @wraps(view)
    def refused(request: HttpRequest, *args: Any, **kwargs: Any) -> JsonResponse:
        try:
            return view(request, *args, **kwargs)
        except Http404:
            return _problem("There is no such chat, or you are not signed in.", 404)
        except PermissionDenied as error:
            return _problem(str(error), 403)
        except RequestDataTooBig:
            return _problem(f"message: at most {MAX_MESSAGE_CHARS:,} characters are accepted.", 413)
        except InvalidInput as error:
            return _problem(str(error), 400)

    return refused


@require_POST
@_refusing_in_json
def messages(request: HttpRequest, tenant: str, project: str, key: str) -> JsonResponse:
    """``{"message": …}`` in; the answer, the exact prompt and its counts out. ``answer`` is null without a model.

    A ``"key"`` (32 hexadecimal digits) makes sending the same message again the same message.
    """
    found, conversation = access.conversation_for(request.user, f"{tenant}/{project}", key, Role.MEMBER)
    form = MessageForm(_message_in(request.body))
    if not form.is_valid():
        return _problem(form.problem, 413 if form.too_long else 400)
    message, sent = form.cleaned_data["message"], form.cleaned_data["key"]
    return _given_in_json(answering.reply(found, conversation.chat, message, request.user.get_username(), sent))


@require_POST
@_refusing_in_json
def retry_message(request: HttpRequest, tenant: str, project: str, key: str, turn: int) -> JsonResponse:
    """Ask the message of output ``turn`` again, which has no answer. Answers as :func:`messages` does."""
    found, conversation = access.conversation_for(request.user, f"{tenant}/{project}", key, Role.MEMBER)
    unanswered = conversation.chat.outputs.unanswered().filter(pk=turn).first()
    if unanswered is None:
        return _problem("This message has been answered or erased meanwhile. Reload the page.", 404)
    return _given_in_json(answering.retry(found, conversation.chat, unanswered))


def _given_in_json(given: answering.Reply) -> JsonResponse:
    output = given.output
    if given.error:
        return JsonResponse({"error": given.error, "message": output.question, "output": output.pk}, status=502)
    return JsonResponse(
        {
            "answer": given.answer,
            "prompt": given.prompt.messages,
            "memory": given.prompt.memory.block.text,
            "memory_tokens": given.prompt.memory.block.tokens,
            "recalled": given.prompt.memory.recalled.text,
            "recalled_tokens": given.prompt.memory.recalled.tokens,
            "prompt_tokens": given.prompt.tokens,
            "output": output.pk,
            "title": output.chat.title,
        }
    )


def _message_in(body: bytes) -> dict[str, str]:
    """The message of a JSON body; :class:`InvalidInput` in one line if there is none."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"This is not JSON: {error}."[:300]) from None
    if not isinstance(data, dict) or not isinstance(data.get("message"), str):
        raise InvalidInput('Send {"message": "…"} with the text as a string.')
    return {"message": data["message"], "key": str(data.get("key") or "")}


def _problem(line: str, status: int) -> JsonResponse:
    return JsonResponse({"error": line}, status=status)


def _posted(request: MemberRequest, tenant: str, project: str, key: str) -> HttpResponse:
    """A message from the form: the page again, with the text still in the composer if it was refused."""
    found, conversation = access.conversation_for(request.user, f"{tenant}/{project}", key, Role.MEMBER)
    form = MessageForm(request.POST)
    if not form.is_valid():
        return _show(request, found, conversation.chat, form, form.problem, 413 if form.too_long else 400)
    message, sent = form.cleaned_data["message"], form.cleaned_data["key"]
    try:
        given = answering.reply(found, conversation.chat, message, request.user.get_username(), sent)
    except InvalidInput as error:
        return _show(request, found, conversation.chat, form, str(error), 400)
    return redirect(f"{request.path}#turn-{given.output.pk}")


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
            "project": project,
            "chat": chat,
            "turns": turns,
            "older": older,
            "awaited": _awaited(turns),
            "memory": memory,
            "trial": trial,
            "given": _given(project, chat, turns),
            "unsent": _unsent(project, chat, turns),
            "model": llm.get("chat"),
            "form": form,
            "problem": problem,
            "may_write": access.may(request.user, project.tenant, Role.MEMBER),
        },
        status=status,
    )


def _turns(chat: Chat, before: str) -> tuple[list[Output], int | None]:
    """One page of turns, oldest first, and where the page before it ends (None: there is none)."""
    outputs = chat.outputs.select_related("given_with").order_by("-pk")
    if before.isdecimal() and len(before) < 19:
        outputs = outputs.filter(pk__lt=int(before))
    newest = list(outputs[: TURNS_ON_A_PAGE + 1])
    shown = newest[:TURNS_ON_A_PAGE][::-1]
    return shown, shown[0].pk if len(newest) > TURNS_ON_A_PAGE else None


def _awaited(turns: list[Output]) -> set[int]:
    """Those that somebody may still be answering."""
    now, patience = timezone.now(), answering.patience()
    return {turn.pk for turn in turns if turn.is_awaited(now, patience)}


def _given(project: Project, chat: Chat, turns: list[Output]) -> PromptMemory | None:
    """What the last answer was given with; None if it would not be the same any more."""
    last = turns[-1] if turns else None
    given = getattr(last, "given_with", None)
    if last is None or given is None or not last.answer:
        return None
    memory = services.prompt_memory(project.bank, chat_key=chat.key, question=last.question)
    then = (given.memory_version, given.memory_tokens, given.recalled_tokens)
    return memory if then == (memory.version, memory.block.tokens, memory.recalled.tokens) else None


def _unsent(project: Project, chat: Chat, turns: list[Output]) -> Prompt | None:
    """Without a chat model: the exact prompt the last message would be sent with."""
    last = turns[-1] if turns else None
    if last is None or last.answer or last.status != Output.Status.OK or llm.get("chat"):
        return None
    try:
        return answering.prompt_for(project, chat, last.question, before=last)
    except InvalidInput:  # it fitted once; the budget or the system prompt has grown since
        return None

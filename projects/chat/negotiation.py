"""Content negotiation for chat actions: a view responds with a page, or with JSON if ``Accept`` prefers it."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from memorybank import services
from memorybank.exceptions import InvalidInput, NotCompacted
from memorybank.services import Chat, PublicId
from projects.models import Project
from projects.tenancy import permissions
from projects.tenancy.login_throttle import LoginForm
from projects.web import markdown, titles

from . import compaction, generation, page_context, service
from .forms import MAX_MESSAGE_CHARACTERS, TooLong

View = Callable[..., HttpResponse]
#: Renders the page that an action was started on, given the reason for its refusal and the HTTP status.
RefusalPage = Callable[[str, int], HttpResponse]
REFUSALS = (InvalidInput, NotCompacted)


class TurnGone(Http404):
    """A turn that has been answered or erased since the page was loaded."""


def wants_json(request: HttpRequest) -> bool:
    return request.get_preferred_type(["text/html", "application/json"]) == "application/json"


def chat_view(*methods: str, json: bool = False, or_read: bool = False) -> Callable[[View], View]:
    """Decorate a view of one of the member's own chats: it gets the project and the chat instead of URL parts.

    With ``json``, a client that prefers JSON gets errors as JSON instead of a page. ``or_read`` leads other members who
    open a shared chat to its page for reading.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def opened(request: HttpRequest, tenant: str, project: str, key: str, **row: int) -> HttpResponse:
            try:
                project_row, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key)
            except (Http404, PermissionDenied):
                if or_read and request.method in ("GET", "HEAD") and _is_shared(request, f"{tenant}/{project}", key):
                    return redirect("read-chat", tenant, project, key)
                raise
            return view(request, project_row, conversation.chat, **row)

        return require_http_methods(methods)(_negotiated(opened) if json else _signed_in(opened))

    return decorate


def _is_shared(request: HttpRequest, path: str, key: str) -> bool:
    """Whether another member shares this chat to read with the visitor."""
    try:
        return permissions.readable_conversation(request.user, path, key)[1].owner != request.user
    except (Http404, PermissionDenied):
        return False


def _signed_in(view: View) -> View:
    """Require a login; a message posted without one is carried through the login page, so that no text is lost."""
    page = login_required(view)

    @wraps(view)
    def opened(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.user.is_authenticated or request.method != "POST" or not request.POST.get("message"):
            return page(request, *args, **kwargs)
        login = {"form": LoginForm(request), "next": request.path, "unsent": request.POST}
        return render(request, "projects/login.html", login, status=403)

    return opened


def _negotiated(view: View) -> View:
    page = _signed_in(view)

    @wraps(view)
    def negotiated(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return (view if wants_json(request) else page)(request, *args, **kwargs)
        except (Http404, PermissionDenied, RequestDataTooBig, *REFUSALS) as error:
            if wants_json(request) and not request.user.is_authenticated:
                return _signed_out_json(request, kwargs)
            if wants_json(request):
                return _refusal_json(error)
            if isinstance(error, REFUSALS):  # such as a body that our forms never send
                raise BadRequest(str(error)) from None
            raise

    return negotiated


def answered(request: HttpRequest, asked: service.AnswerRequest) -> HttpResponse:
    """Generate the answer to a recorded message, then redirect to its turn or return JSON.

    The JSON contains the answer and the exact prompt. With ``Prefer: respond-async`` (RFC 7240) the response is sent
    before the answer, with status 202 and the turn as HTML, which contains the address of the answer's stream.
    """
    if not wants_json(request):
        return redirect(turn_address(asked.project, asked.chat, _answer(asked).output.pk))
    if "respond-async" not in request.headers.get("Prefer", ""):
        return _reply_json(request, asked.project, _answer(asked))
    generation.begin(asked)
    turns = services.turns_of(asked.chat).filter(pk=asked.output.pk)
    html = page_context.turns_html(request, asked.project, asked.chat, list(turns.select_related("answer_context")))
    body = {"turn": html, "title": asked.output.chat.title, "output": PublicId().to_url(asked.output.pk)}
    return JsonResponse(body, status=202)


def _answer(asked: service.AnswerRequest) -> service.Reply:
    reply = service.answer(asked)
    if reply.answer:
        titles.request_better(asked.chat, reply.output)
    return reply


def refused(request: HttpRequest, error: Exception, page: RefusalPage) -> HttpResponse:
    """Respond with the reason for a refusal, as JSON or on the page that the action was started on."""
    return _refusal_json(error) if wants_json(request) else page(str(error), _status(error))


def turn_address(project: Project, chat: Chat, turn: int) -> str:
    page = reverse("chat", args=[project.tenant.slug, project.slug, chat.key])
    return f"{page}#turn-{PublicId().to_url(turn)}"


def _reply_json(request: HttpRequest, project: Project, reply: service.Reply) -> JsonResponse:
    output, number = reply.output, PublicId().to_url(reply.output.pk)
    if reply.error:
        assert isinstance(request.user, User)
        why = page_context.error_text(request.user, project, reply.error)
        return JsonResponse({"error": why, "message": output.question, "output": number}, status=502)
    memory = reply.prompt.memory
    return JsonResponse(
        {
            "answer": reply.answer,
            "html": markdown.as_html(reply.answer or ""),
            "prompt": reply.prompt.messages,
            "memory": memory.block.text,
            "memory_tokens": memory.block.tokens,
            "personal": memory.personal.text,
            "personal_tokens": memory.personal.tokens,
            "recalled": memory.recalled.text,
            "recalled_tokens": memory.recalled.tokens,
            "prompt_tokens": reply.prompt.tokens,
            "output": number,
            "title": output.chat.title,
            "checkpoint": compaction.as_json(services.newest_checkpoint(output.chat)),
        }
    )


def _status(error: Exception) -> int:
    """The HTTP status for an error, by default 400; subclasses are listed before their base classes."""
    statuses = {TooLong: 413, RequestDataTooBig: 413, NotCompacted: 409, PermissionDenied: 403, Http404: 404}
    return next((status for kind, status in statuses.items() if isinstance(error, kind)), 400)


def _signed_out_json(request: HttpRequest, names: Mapping[str, Any]) -> JsonResponse:
    """A 404 with the login address, which leads back to the chat; it does not reveal whether the chat exists."""
    chat = reverse("chat", args=[names["tenant"], names["project"], names["key"]])
    line = _("You have been signed out. What you wrote is kept.")
    return JsonResponse({"error": line, "sign_in": f"{reverse('login')}?{urlencode({'next': chat})}"}, status=404)


def _refusal_json(error: Exception) -> JsonResponse:
    line = str(error)
    if isinstance(error, TurnGone):
        line = _("This message has been answered or erased meanwhile. Reload the page.")
    elif isinstance(error, Http404):
        line = _("There is no such chat, or you are not signed in.")
    elif isinstance(error, RequestDataTooBig):
        line = _("message: at most %(most)s characters are accepted.") % {"most": intcomma(MAX_MESSAGE_CHARACTERS)}
    return JsonResponse({"error": line}, status=_status(error))

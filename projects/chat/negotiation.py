"""Content negotiation of a chat's actions: one view answers with a page, or with JSON where ``Accept`` asks for it."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from memorybank import services
from memorybank.exceptions import InvalidInput, NotCompacted
from memorybank.services import Chat, PublicId
from projects.models import Project
from projects.tenancy import permissions

from . import compaction, generation, markdown, page_context, service
from .forms import MAX_MESSAGE_CHARACTERS, TooLong

View = Callable[..., HttpResponse]
#: Renders the page that an action was asked from, with why it was refused, at a status.
RefusalPage = Callable[[str, int], HttpResponse]
REFUSALS = (InvalidInput, NotCompacted)


class TurnGone(Http404):
    """A turn that has been answered or erased since the page was loaded."""


def wants_json(request: HttpRequest) -> bool:
    return request.get_preferred_type(["text/html", "application/json"]) == "application/json"


def chat_view(*methods: str, json: bool = False) -> Callable[[View], View]:
    """A view of one of the member's own chats: it gets the project and the chat in place of their names.

    With ``json``, a script gets a refusal as one line of JSON instead of a page.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def opened(request: HttpRequest, tenant: str, project: str, key: str, **row: int) -> HttpResponse:
            project_row, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key)
            return view(request, project_row, conversation.chat, **row)

        return require_http_methods(methods)(_negotiated(opened) if json else login_required(opened))

    return decorate


def _negotiated(view: View) -> View:
    page = login_required(view)

    @wraps(view)
    def negotiated(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return (view if wants_json(request) else page)(request, *args, **kwargs)
        except (Http404, PermissionDenied, RequestDataTooBig, *REFUSALS) as error:
            if wants_json(request) and not request.user.is_authenticated:
                return _signed_out_json(request, kwargs)
            if wants_json(request):
                return _refusal_json(error)
            if isinstance(error, REFUSALS):  # a body that no form sends
                raise BadRequest(str(error)) from None
            raise

    return negotiated


def answered(request: HttpRequest, asked: service.AnswerRequest) -> HttpResponse:
    """Have a message answered, then show its turn.

    JSON has the answer and the exact prompt; with ``Prefer: respond-async`` (RFC 7240) it does not wait for them, and
    has the turn as HTML, which says where the answer is streamed.
    """
    if not wants_json(request):
        return redirect(turn_address(asked.project, asked.chat, service.answer(asked).output.pk))
    if "respond-async" not in request.headers.get("Prefer", ""):
        return _reply_json(request, asked.project, service.answer(asked))
    generation.begin(asked)
    turns = services.turns_of(asked.chat).filter(pk=asked.output.pk)
    html = page_context.turns_html(request, asked.project, asked.chat, list(turns.select_related("answer_context")))
    body = {"turn": html, "title": asked.output.chat.title, "output": PublicId().to_url(asked.output.pk)}
    return JsonResponse(body, status=202)


def refused(request: HttpRequest, error: Exception, page: RefusalPage) -> HttpResponse:
    """Why an action was refused, on the page that it was asked from or as JSON."""
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
    """400 unless there is a better one; a subclass stands before its class."""
    statuses = {TooLong: 413, RequestDataTooBig: 413, NotCompacted: 409, PermissionDenied: 403, Http404: 404}
    return next((status for kind, status in statuses.items() if isinstance(error, kind)), 400)


def _signed_out_json(request: HttpRequest, names: Mapping[str, Any]) -> JsonResponse:
    """The same whether or not there is such a chat, with the page to sign in, which leads back to the chat."""
    chat = reverse("chat", args=[names["tenant"], names["project"], names["key"]])
    line = _("You are not signed in any more. What you wrote is kept.")
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

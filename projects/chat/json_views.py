"""The JSON endpoint that the chat page uses: an answer, or a refusal in one line. The same doors as the pages."""

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.models import User
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, JsonResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from memorybank.exceptions import InvalidInput, NotCompacted
from memorybank.models import Checkpoint, Output
from memorybank.services import PublicId
from projects.models import Project, Role
from projects.tenancy import permissions
from projects.tenancy.forms import MAX_MESSAGE_CHARS, MessageForm

from . import compact_command, errors, generation, revisions, service, turn_context
from . import compaction as chat_compaction

JSONView = Callable[..., JsonResponse]


class TooLong(InvalidInput):
    """A message has more characters than are accepted."""


def _refusing_in_json(view: JSONView) -> JSONView:
    """Refusals as one line of JSON instead of a page."""

    @wraps(view)
    def refused(request: HttpRequest, *args: Any, **kwargs: Any) -> JsonResponse:
        try:
            return view(request, *args, **kwargs)
        except Http404:
            return _problem(_("There is no such chat, or you are not signed in."), 404)
        except PermissionDenied as error:
            return _problem(str(error), 403)
        except TooLong as error:
            return _problem(str(error), 413)
        except RequestDataTooBig:
            most = intcomma(MAX_MESSAGE_CHARS)
            return _problem(_("message: at most %(most)s characters are accepted.") % {"most": most}, 413)
        except InvalidInput as error:
            return _problem(str(error), 400)
        except NotCompacted as error:
            return _problem(str(error), 409)

    return refused


@require_POST
@_refusing_in_json
def messages(request: HttpRequest, tenant: str, project: str, key: str) -> JsonResponse:
    """``{"message": …}`` in; the answer, the exact prompt and its counts out. ``answer`` is null without a model.

    A ``"key"`` (32 hexadecimal digits) makes sending the same message again the same message. ``/compact`` in place
    of a message has the chat shortened, beside the request (202); :func:`compaction` tells how far it is. Who would
    rather not wait for an answer says ``Prefer: respond-async`` (RFC 7240) and gets, with 202, the turn as HTML, which
    says where the answer is streamed.
    """
    found, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key, Role.MEMBER)
    message, sent = _message_in(request.body)
    if (focus := compact_command.focus_in(message)) is not None:
        compact_command.begin(found, conversation.chat, focus)
        return JsonResponse({"compaction": compact_command.how_far(found, conversation.chat)}, status=202)
    asked = service.ask(found, conversation.chat, message, request.user.get_username(), sent)
    return _answered(request, asked)


@require_POST
@_refusing_in_json
def retry_message(request: HttpRequest, tenant: str, project: str, key: str, turn: int) -> JsonResponse:
    """Ask the message of output ``turn`` again, which has no answer. Answers as :func:`messages` does."""
    found, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key, Role.MEMBER)
    unanswered = conversation.chat.outputs.unanswered().filter(pk=turn).first()
    if unanswered is None:
        return _over()
    return _answered(request, service.ask_again(found, conversation.chat, unanswered))


@require_POST
@_refusing_in_json
def edit_message(request: HttpRequest, tenant: str, project: str, key: str, turn: int) -> JsonResponse:
    """``{"message": …}`` in the place of a turn of one's own and of all after it. Answers as :func:`messages` does."""
    found, output = _own(request, f"{tenant}/{project}", key, turn)
    if output is None:
        return _over()
    message, sent = _message_in(request.body)
    return _answered(request, revisions.edit(found, output, message, request.user.get_username(), sent))


@require_POST
@_refusing_in_json
def regenerate_message(request: HttpRequest, tenant: str, project: str, key: str, turn: int) -> JsonResponse:
    """Another answer to a turn of one's own, in the place of it. Answers as :func:`messages` does."""
    found, output = _own(request, f"{tenant}/{project}", key, turn)
    if output is None:
        return _over()
    return _answered(request, revisions.regenerate(found, output, request.user.get_username()))


@require_GET
@_refusing_in_json
def compaction(request: HttpRequest, tenant: str, project: str, key: str) -> JsonResponse:
    """How far somebody is with shortening the chat (``percent`` is null if nobody is at it), and what stands for it.

    ``problem`` says why the last time came to nothing. What a killed server was at is gone on with.
    """
    found, conversation = permissions.conversation_for(request.user, f"{tenant}/{project}", key, Role.MEMBER)
    told = compact_command.how_far(found, conversation.chat)
    standing = Checkpoint.objects.newest(conversation.chat.pk)
    return JsonResponse({**told, "checkpoint": chat_compaction.as_json(standing)})


def _answered(request: HttpRequest, asked: service.Asked) -> JsonResponse:
    """The answer, or the turn in which it is being written."""
    if "respond-async" not in request.headers.get("Prefer", ""):
        return _given_in_json(request, asked.project, service.answer(asked))
    generation.begin(asked)
    turns = list(asked.chat.outputs.filter(pk=asked.output.pk).select_related("given_with"))
    html = turn_context.as_html(request, asked.project, asked.chat, turns)
    made = {"turn": html, "title": asked.output.chat.title, "output": PublicId().to_url(asked.output.pk)}
    return JsonResponse(made, status=202)


def _given_in_json(request: HttpRequest, project: Project, given: service.Reply) -> JsonResponse:
    output, number = given.output, PublicId().to_url(given.output.pk)
    if given.error:
        assert isinstance(request.user, User)
        why = errors.told(request.user, project, given.error)
        return JsonResponse({"error": why, "message": output.question, "output": number}, status=502)
    return JsonResponse(
        {
            "answer": given.answer,
            "html": service.formatted(given.answer or ""),
            "prompt": given.prompt.messages,
            "memory": given.prompt.memory.block.text,
            "memory_tokens": given.prompt.memory.block.tokens,
            "recalled": given.prompt.memory.recalled.text,
            "recalled_tokens": given.prompt.memory.recalled.tokens,
            "prompt_tokens": given.prompt.tokens,
            "output": number,
            "title": output.chat.title,
            "checkpoint": chat_compaction.as_json(Checkpoint.objects.newest(output.chat_id)),
        }
    )


def _own(request: HttpRequest, path: str, key: str, turn: int) -> tuple[Project, Output | None]:
    """A turn that she may change, if it is still there."""
    found, conversation = permissions.conversation_for(request.user, path, key, Role.MEMBER)
    assert isinstance(request.user, User)
    return found, revisions.own(conversation.chat, request.user).select_related("chat").filter(pk=turn).first()


def _over() -> JsonResponse:
    return _problem(_("This message has been answered or erased meanwhile. Reload the page."), 404)


def _message_in(body: bytes) -> tuple[str, str]:
    """The message of a JSON body, and its key; a refusal in one line if there is none."""
    # RecursionError: brackets nested by the ten thousand are bad input, not a fault of ours.
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInput((_("This is not JSON: %(error)s.") % {"error": error})[:300]) from None
    if not isinstance(data, dict) or not isinstance(data.get("message"), str):
        raise InvalidInput(_('Send {"message": "…"} with the text as a string.'))
    form = MessageForm({"message": data["message"], "key": str(data.get("key") or "")})
    if form.is_valid():
        return form.cleaned_data["message"], form.cleaned_data["key"]
    raise (TooLong if form.too_long else InvalidInput)(form.problem)


def _problem(line: str, status: int) -> JsonResponse:
    return JsonResponse({"error": line}, status=status)

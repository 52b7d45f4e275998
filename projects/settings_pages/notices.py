"""The page on which an owner or admin chooses what they are told by e-mail."""

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from memorybank.exceptions import InvalidInput
from projects.models import Project, Webhook
from projects.web.requests import MemberRequest
from projects.webhooks import mail, registry

from .views import project_view, show


class NoticesForm(forms.Form):
    events = forms.MultipleChoiceField(
        label=gettext_lazy("E-mail me when"),
        required=False,
        choices=[(change.value, words) for change, words in mail.MAILED_EVENTS.items()],
        widget=forms.CheckboxSelectMultiple,
    )


@project_view("project-notices")
def notices_page(request: MemberRequest, project: Project) -> HttpResponse:
    """Choose the e-mail notices for oneself; choosing none stops them."""
    mine = _own_hook(request, project)
    form = NoticesForm(
        request.POST if request.method == "POST" else None, initial={"events": mine.events if mine else []}
    )
    if request.method == "POST" and request.user.email and form.is_valid():
        try:
            _save(request, project, mine, form.cleaned_data["events"])
        except InvalidInput as error:
            messages.error(request, str(error))
        else:
            messages.success(request, _("Saved."))
        return redirect("project-notices", project.tenant.slug, project.slug)
    return show(request, project, "notices", {"form": form})


def _own_hook(request: MemberRequest, project: Project) -> Webhook | None:
    """The current user's e-mail subscription, if there is one."""
    hooks = project.webhooks.filter(disabled_at=None).select_related("project__tenant")
    return next((hook for hook in hooks if request.user.email and mail.recipient(hook) == request.user.email), None)


def _save(request: MemberRequest, project: Project, mine: Webhook | None, events: list[str]) -> None:
    actor, now = request.user.get_username(), timezone.now()
    site, language = request.build_absolute_uri("/").rstrip("/"), get_language() or settings.LANGUAGE_CODE
    if mine and events:
        registry.change_mail(mine, request.user, events=events, site=site, language=language, now=now)
    elif mine:
        registry.remove(mine, actor=actor, now=now)
    elif events:
        registry.add_mail(project, request.user, events=events, site=site, language=language, now=now)

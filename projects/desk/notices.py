"""The page on which an owner or admin chooses what they are told by e-mail, and sees the project's webhooks."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memorybank.exceptions import InvalidInput
from projects.models import Project, Webhook
from projects.web.requests import MemberRequest
from projects.webhooks import mail, registry

from .views import project_view, show


class NoticesForm(forms.Form):
    events = forms.MultipleChoiceField(
        label=gettext_lazy("E-mail me when"),
        required=False,
        choices=[(change.value, words) for change, words in mail.NOTICES.items()],
        widget=forms.CheckboxSelectMultiple,
    )


@project_view("project-notices")
def notices_page(request: MemberRequest, project: Project) -> HttpResponse:
    """Which notices the reader gets; choosing none stops them."""
    mine, others = _hooks(request, project)
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
    return show(request, project, "notices", {"form": form, "webhooks": others})


def _hooks(request: MemberRequest, project: Project) -> tuple[Webhook | None, list[Webhook]]:
    """The reader's own, and those that are told by HTTP."""
    hooks = list(project.webhooks.filter(disabled_at=None).select_related("project__tenant"))
    mine = [hook for hook in hooks if request.user.email and mail.recipient(hook) == request.user.email]
    return (mine[0] if mine else None), [hook for hook in hooks if not mail.recipient(hook)]


def _save(request: MemberRequest, project: Project, mine: Webhook | None, events: list[str]) -> None:
    actor, now = request.user.get_username(), timezone.now()
    if mine and events:
        registry.change(mine, events=events, actor=actor, now=now)
    elif mine:
        registry.remove(mine, actor=actor, now=now)
    elif events:
        site = request.build_absolute_uri("/").rstrip("/")
        registry.add_mail(project, request.user, events=events, site=site, now=now)

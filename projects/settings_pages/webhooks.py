"""The page on which owners and admins add, test, pause and delete webhooks, and see their last deliveries."""

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memorybank.exceptions import InvalidInput
from memorybank.services import Change, PublicId
from projects.models import Project, Webhook
from projects.models.webhook import MAIL_SCHEME
from projects.web.requests import MemberRequest
from projects.webhooks import mail, queue, registry

from .views import project_view, show

MAX_DELIVERIES_SHOWN = 10
EVENT_LABELS = {
    Change.ENTRY_WRITTEN: gettext_lazy("A summary was written"),
    Change.ERASED: gettext_lazy("Something was deleted from memory"),
    **mail.MAILED_EVENTS,
}


class WebhookForm(forms.Form):
    """The address of a new webhook, and the events that it is sent."""

    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=500,
        widget=forms.URLInput({"placeholder": "https://example.com/memory", "autocomplete": "off"}),
        help_text=gettext_lazy("A public HTTPS address."),
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Events"),
        initial=list(Change),
        choices=[(change.value, EVENT_LABELS[change]) for change in Change],
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("Choose all to get events added later, too."),
    )

    def chosen(self) -> list[str]:
        """The events; all of them are an empty list, which includes those of later releases."""
        events = self.cleaned_data["events"]
        return [] if set(events) == {change.value for change in Change} else events


@project_view("project-webhooks")
def webhooks_page(request: MemberRequest, project: Project) -> HttpResponse:
    """List the HTTP webhooks with their last deliveries, and add one. Only the response to the POST has its secret."""
    form, secret = WebhookForm(request.POST if request.method == "POST" else None), ""
    if form.is_valid():
        try:
            actor, now = request.user.get_username(), timezone.now()
            new = registry.add(project, url=form.cleaned_data["url"], events=form.chosen(), actor=actor, now=now)
            form, secret = WebhookForm(), new.secret
        except InvalidInput as error:
            form.add_error("url", str(error).removeprefix("url: "))
    hooks = [(hook, hook.deliveries.order_by("-pk")[:MAX_DELIVERIES_SHOWN]) for hook in _of_programs(project)]
    context = {"form": form, "hooks": hooks, "secret": secret}
    return show(request, project, "webhooks", context, 400 if form.errors else 200)


@project_view("project-webhook", post=True)
def change_webhook(request: MemberRequest, project: Project) -> HttpResponse:
    """Test, pause, resume or delete the webhook of the posted id."""
    try:
        pk = PublicId().to_python(request.POST.get("webhook", ""))
    except ValueError:
        raise Http404 from None
    hook = get_object_or_404(_of_programs(project), pk=pk)
    actor, now = request.user.get_username(), timezone.now()
    match request.POST.get("do"):
        case "test":
            queue.enqueue_test(hook, now)
            messages.success(request, _("A test message is on its way. Reload the page to see its result."))
        case "pause" | "resume" as do:
            registry.change(hook, enabled=do == "resume", actor=actor, now=now)
            messages.success(request, _("Paused: nothing is sent.") if do == "pause" else _("Resumed."))
        case "delete":
            registry.remove(hook, actor=actor, now=now)
            messages.success(request, _("The webhook is deleted."))
    return redirect("project-webhooks", project.tenant.slug, project.slug)


def _of_programs(project: Project) -> QuerySet[Webhook]:
    hooks = Webhook.objects.filter(project=project).exclude(url__startswith=f"{MAIL_SCHEME}:")
    return hooks.select_related("project__tenant").order_by("pk")

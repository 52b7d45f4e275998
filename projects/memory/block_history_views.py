"""The page of what the block said: at a moment, between two, and at each of its last changes."""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from memorybank import services
from projects.web.requests import MemberRequest

from . import block_history
from .views import Opened

PICKER = {"type": "datetime-local"}


class MomentsForm(forms.Form):
    """Which moment, or which two; ``change`` is the very moment of a change."""

    at = forms.DateTimeField(
        label=_("What it said on"), required=False, widget=forms.DateTimeInput(PICKER, format="%Y-%m-%dT%H:%M")
    )
    to = forms.DateTimeField(
        label=_("and what changed until"), required=False, widget=forms.DateTimeInput(PICKER, format="%Y-%m-%dT%H:%M")
    )
    change = forms.DateTimeField(required=False)

    def given(self, name: str, now: datetime) -> datetime | None:
        """The moment, if one is given; nobody knows what will be said later than ``now``."""
        self.is_valid()
        moment: datetime | None = self.cleaned_data.get(name)
        return moment and min(moment, now)


@require_GET
@login_required
def past_page(request: MemberRequest, tenant: str, project: str) -> HttpResponse:
    """What the block said then, or what came and went."""
    opened = Opened.by(request, "memory-past", tenant, project)
    form, now = MomentsForm(request.GET), timezone.now()
    at, to, change = (form.given(name, now) for name in ("at", "to", "change"))
    kept_since = services.block_kept_since(opened.bank, now=now)
    shown = form if form.errors else MomentsForm(initial={"at": at, "to": to})  # browsers know no zone there
    more: dict[str, Any] = {"form": shown, "kept_since": kept_since, "zone": timezone.get_current_timezone_name()}
    more["changes"] = block_history.latest(opened.bank, all_of_it=opened.may_act)
    if moment := change or at:
        more |= _then(opened, moment, to, is_change=bool(change))
        more["is_kept"] = kept_since is not None and moment >= kept_since
    return opened.shown("past", more)


def _then(opened: Opened, moment: datetime, to: datetime | None, *, is_change: bool) -> dict[str, Any]:
    """What is shown of a moment, of two, or of a change."""
    bank, all_of_it = opened.bank, opened.may_act
    more = {
        "moment": moment,
        "was_on": services.was_enabled(bank, moment),
        "is_erased": services.erased_since(bank, moment),
    }
    if is_change:
        return {**more, "difference": block_history.change_at(bank, moment, all_of_it=all_of_it)}
    then = block_history.told_at(bank, moment, all_of_it=all_of_it)
    if not to:
        return {**more, "lines": then}
    return {
        **more,
        "to": to,
        "difference": block_history.difference(then, block_history.told_at(bank, to, all_of_it=all_of_it)),
    }

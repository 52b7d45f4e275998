"""Notices by e-mail: a webhook whose address is a person's, told of several events in one mail."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from smtplib import SMTPException
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from django.contrib.auth.models import User
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memorybank.services import Change
from projects.models import Delivery, Role, Webhook

SCHEME = "mailto"
#: Events that come within this time of one another are one mail.
GATHERING = timedelta(minutes=10)
#: What people are told of: the rest is for programs.
NOTICES = {
    Change.LINE_HELD_BACK: gettext_lazy("Lines wait for review"),
    Change.ERASURE_REQUESTED: gettext_lazy("Somebody asked to have something forgotten"),
    Change.CHAT_PARKED: gettext_lazy("A chat cannot be summarised"),
    Change.CAP_NEAR: gettext_lazy("Most of the monthly limit is spent"),
    Change.CAP_REACHED: gettext_lazy("The monthly limit is reached"),
}
#: The page on which each is dealt with.
PAGES = {
    Change.LINE_HELD_BACK: "memory-review",
    Change.ERASURE_REQUESTED: "memory-review",
    Change.CAP_NEAR: "project-costs",
    Change.CAP_REACHED: "project-costs",
}


def address_of(user: User, site: str) -> str:
    """The address of a webhook that tells this person; ``site`` is where its links lead."""
    return f"{SCHEME}:{quote(user.email)}?{urlencode({'site': site})}"


def recipient(webhook: Webhook) -> str:
    """The e-mail address of a webhook; "" if it is told by HTTP."""
    parts = urlsplit(webhook.url)
    return unquote(parts.path) if parts.scheme == SCHEME else ""


def is_entitled(webhook: Webhook) -> bool:
    """Whether the address is still that of an owner or admin."""
    managers = webhook.project.tenant.memberships.filter(role__in=(Role.OWNER, Role.ADMIN), user__is_active=True)
    return managers.filter(user__email=recipient(webhook)).exists()


def send(webhook: Webhook, rows: Sequence[Delivery], now: datetime) -> None:
    """One mail about all of these, and what became of it in each row. Nobody is told who may no longer know."""
    if not is_entitled(webhook):
        Webhook.objects.filter(pk=webhook.pk).update(disabled_at=now)
        return
    status: int | None = 250
    error = ""
    try:
        _send(webhook, Counter(Change(row.event) for row in rows))
    except (OSError, SMTPException) as problem:
        status, error = None, type(problem).__name__
    for row in rows:
        row.finish(now, status, error)


def _send(webhook: Webhook, counts: Counter[Change]) -> None:
    project, site = webhook.project, parse_qs(urlsplit(webhook.url).query).get("site", [""])[0]
    place = [project.tenant.slug, project.slug]
    lines = [
        (_words(change, count), site + reverse(PAGES.get(change, "memory-activity"), args=place))
        for change, count in counts.items()
    ]
    stop = site + reverse("project-notices", args=place)
    body = render_to_string("projects/desk/mail.txt", {"project": project, "lines": lines, "stop": stop})
    send_mail(_("Memory of %(project)s needs you") % {"project": project.name}, body, None, [recipient(webhook)])


def _words(change: Change, count: int) -> str:
    """What happened, in words, with how often if that matters."""
    if change == Change.LINE_HELD_BACK:
        return ngettext("%d line waits for review.", "%d lines wait for review.", count) % count
    if change == Change.CHAT_PARKED:
        return ngettext("%d chat cannot be summarised.", "%d chats cannot be summarised.", count) % count
    return f"{NOTICES.get(change, change.value)}."

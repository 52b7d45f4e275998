"""E-mail notices: a webhook with a ``mailto:`` URL, which gets several events in one mail."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from smtplib import SMTPException
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memorybank.services import Change
from projects.models import Delivery, Role, Webhook
from projects.models.webhook import MAIL_SCHEME, mail_prefix

#: An event waits this long for others, so that one mail covers them all.
MAIL_GATHERING_TIME = timedelta(minutes=10)
#: The events that people can be notified of; the others are for programs.
MAILED_EVENTS = {
    Change.LINE_HELD_BACK: gettext_lazy("Lines wait for review"),
    Change.ERASURE_REQUESTED: gettext_lazy("Somebody asked to have something forgotten"),
    Change.CHAT_PARKED: gettext_lazy("A chat cannot be summarised"),
    Change.CAP_NEAR: gettext_lazy("Most of the monthly limit is spent"),
    Change.CAP_REACHED: gettext_lazy("The monthly limit is reached"),
}
#: The name of the page on which a person handles the event, and the part of that page.
NOTICE_PAGES = {
    Change.LINE_HELD_BACK: "memory-review",
    Change.ERASURE_REQUESTED: "memory-review",
    Change.CHAT_PARKED: "memory-activity#parked",
    Change.CAP_NEAR: "project-costs",
    Change.CAP_REACHED: "project-costs",
}


def address_of(user: User, site: str, language: str) -> str:
    """The URL of a webhook that notifies this user in ``language``; ``site`` is the base URL of the links."""
    return mail_prefix(user.email) + urlencode({"site": site, "language": language})


def recipient(webhook: Webhook) -> str:
    """The e-mail address of a webhook; "" if it uses HTTP."""
    parts = urlsplit(webhook.url)
    return unquote(parts.path) if parts.scheme == MAIL_SCHEME else ""


def is_entitled(webhook: Webhook) -> bool:
    """Whether the recipient is still an active owner or admin of the tenant."""
    managers = webhook.project.tenant.memberships.filter(role__in=(Role.OWNER, Role.ADMIN), user__is_active=True)
    return managers.filter(user__email=recipient(webhook)).exists()


def send(webhook: Webhook, rows: Sequence[Delivery], now: datetime) -> None:
    """Send one mail about all deliveries in ``rows``, and store the result in each of them.

    If the recipient is no longer an owner or admin, send nothing and disable the webhook.
    """
    if not is_entitled(webhook):
        Webhook.objects.filter(pk=webhook.pk).update(disabled_at=now)
        return
    status: int | None = 250
    error = ""
    query = dict(parse_qsl(urlsplit(webhook.url).query))
    try:
        with translation.override(query.get("language", settings.LANGUAGE_CODE)):
            _send(webhook, Counter(Change(row.event) for row in rows), query.get("site", ""))
    except (OSError, SMTPException) as problem:
        status, error = None, type(problem).__name__
    for row in rows:
        row.finish(now, status, error)


def _send(webhook: Webhook, counts: Counter[Change], site: str) -> None:
    project = webhook.project
    place = [project.tenant.slug, project.slug]
    lines = [(_words(change, count), site + _page(change, place)) for change, count in counts.items()]
    stop = site + reverse("project-notices", args=place)
    body = render_to_string("projects/settings/mail.txt", {"project": project, "lines": lines, "stop": stop})
    send_mail(
        _("Memory of %(project)s needs your attention") % {"project": project.name}, body, None, [recipient(webhook)]
    )


def _page(change: Change, place: list[str]) -> str:
    """The path of the page on which a person handles the event, with the part of the page."""
    name, _hash, part = NOTICE_PAGES[change].partition("#")
    return reverse(name, args=place) + (part and f"#{part}")


def _words(change: Change, count: int) -> str:
    """The line of the mail for an event, with the number of events where it matters."""
    if change == Change.LINE_HELD_BACK:
        return ngettext("%d line waits for review.", "%d lines wait for review.", count) % count
    if change == Change.CHAT_PARKED:
        return ngettext("%d chat cannot be summarised.", "%d chats cannot be summarised.", count) % count
    return f"{MAILED_EVENTS.get(change, change.value)}."

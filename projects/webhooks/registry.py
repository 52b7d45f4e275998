"""Add, change and delete the webhooks of a project, with the audit log."""

from collections.abc import Collection
from datetime import datetime
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.db import transaction

from memorybank.exceptions import InvalidInput
from memorybank.services import Change
from projects.tenancy import audit
from projects.tenancy.audit import TenantAction

from ..models import Project, Webhook
from ..models.webhook import mail_prefix
from . import addresses, mail, signing

MAX_WEBHOOKS = 10


def add(project: Project, *, url: str, events: Collection[str], actor: str, now: datetime) -> Webhook:
    """Add a webhook, whose ``secret`` is shown once. Raises :class:`InvalidInput` for an invalid URL or too many."""
    addresses.require_valid(url)
    with transaction.atomic():
        return _add(project, url, events, actor, now)


def _add(project: Project, url: str, events: Collection[str], actor: str, now: datetime) -> Webhook:
    Project.objects.select_for_update().get(pk=project.pk)
    if Webhook.objects.filter(project=project).count() >= MAX_WEBHOOKS:
        raise InvalidInput(f"A project may have {MAX_WEBHOOKS} webhooks.")
    webhook = Webhook(project=project, url=url, events=_ordered(events), created_by=actor[:200], created_at=now)
    webhook.secret = signing.new_secret()
    webhook.save()
    _log(webhook, actor, TenantAction.HOOK, now)
    return webhook


def add_mail(
    project: Project, user: User, *, events: Collection[str], site: str, language: str, now: datetime
) -> Webhook:
    """Add a webhook that notifies an owner or admin by e-mail. Raises :class:`InvalidInput` if there are too many."""
    with transaction.atomic():
        return _add(project, mail.address_of(user, site, language), events, user.get_username(), now)


def change_mail(
    webhook: Webhook, user: User, *, events: Collection[str], site: str, language: str, now: datetime
) -> None:
    """Change what a notice is sent for; it uses ``language`` from now on, which is that of its recipient."""
    webhook.url, webhook.events = mail.address_of(user, site, language), _ordered(events)
    with transaction.atomic():
        webhook.save(update_fields=["url", "events"])
        _log(webhook, user.get_username(), TenantAction.HOOK, now)


def readdress(user: User, email: str, now: datetime) -> None:
    """Send the notices of ``user`` to ``email`` from now on; "" ends them. Call it before ``user.email`` changes."""
    prefix = mail_prefix(user.email)
    own = Webhook.objects.filter(url__startswith=prefix, created_by=user.get_username())
    if not email:
        for webhook in own:
            remove(webhook, actor=user.get_username(), now=now)
        return
    for webhook in own:
        webhook.url = mail_prefix(email) + webhook.url.removeprefix(prefix)
        webhook.save(update_fields=["url"])


def change(
    webhook: Webhook,
    *,
    actor: str,
    now: datetime,
    url: str | None = None,
    events: Collection[str] | None = None,
    enabled: bool | None = None,
) -> None:
    """Change the values that are not None. Raises :class:`InvalidInput` for an invalid URL."""
    if url is not None:
        addresses.require_valid(url)
        webhook.url = url
    if events is not None:
        webhook.events = _ordered(events)
    if enabled is not None:
        webhook.disabled_at = None if enabled else webhook.disabled_at or now
    with transaction.atomic():
        webhook.save(update_fields=["url", "events", "disabled_at"])
        _log(webhook, actor, TenantAction.HOOK, now, enabled=webhook.disabled_at is None)


def remove(webhook: Webhook, *, actor: str, now: datetime) -> None:
    """Delete a webhook with its deliveries."""
    with transaction.atomic():
        _log(webhook, actor, TenantAction.UNHOOK, now)
        webhook.delete()


def _ordered(events: Collection[str]) -> list[str]:
    return [change.value for change in Change if change in events]


def _log(webhook: Webhook, actor: str, action: TenantAction, now: datetime, **detail: object) -> None:
    # Log only the host: the path or the query may contain a credential of the receiver.
    host = urlsplit(webhook.url).hostname
    project = webhook.project
    audit.log(project.tenant, actor, action, now, project=project.slug, webhook=webhook.pk, host=host, **detail)

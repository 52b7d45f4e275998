"""A user's own account: end its sessions, or delete it."""

from datetime import datetime

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils.translation import gettext as _

from memorybank import services
from projects.models import Conversation

from . import audit, permissions
from .members import MembershipError


def other_sessions(user: User, current: str, now: datetime) -> list[str]:
    """The keys of the user's other sessions. Reads every open session, because no column names the user."""
    return [
        session.session_key
        for session in Session.objects.filter(expire_date__gt=now).exclude(session_key=current).iterator()
        if session.get_decoded().get(SESSION_KEY) == str(user.pk)
    ]


def end_other_sessions(user: User, current: str, now: datetime) -> int:
    """Sign the user out everywhere else; return from how many sessions."""
    keys = other_sessions(user, current, now)
    Session.objects.filter(session_key__in=keys).delete()
    return len(keys)


@services.all_banks_entered()
def own_chats(user: User) -> int:
    return Conversation.objects.filter(owner=user).count()


@services.all_banks_entered()  # the account may own rows in each
def delete(user: User, *, with_chats: bool, now: datetime) -> None:
    """Delete the account; ``with_chats`` also erases its chats and everything derived from them.

    Raises :class:`MembershipError` for a superuser and for the last owner of a tenant.
    """
    _require_replaceable(user)
    name = user.get_username()
    if with_chats:
        for conversation in Conversation.objects.filter(owner=user).select_related("chat__bank"):
            services.erase(conversation.chat.bank, chat=conversation.chat.key, actor=name, now=now)
    with transaction.atomic():
        _require_replaceable(user)
        audit.removed(user.memberships.select_related("tenant", "user"), name, now)
        user.delete()


def _require_replaceable(user: User) -> None:
    if user.is_superuser:
        raise MembershipError(_("An operator’s account is deleted in the admin."))
    for tenant in permissions.last_owners(user, user.memberships.all()):
        raise MembershipError(
            _("You are the last owner of %(tenant)s. Appoint another one first.") % {"tenant": tenant}
        )

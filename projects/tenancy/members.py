"""Who belongs to a tenant: invited by e-mail, joined by their own yes, with a role, in all projects or some."""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.core.mail import send_mail
from django.db import transaction
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from projects.models import Invitation, Membership, Project, Role, Tenant

from . import audit, permissions
from .audit import Action

#: A link works for so long.
INVITED_FOR = timedelta(days=7)
#: So many may wait for an answer; a tenant is no way to send mail to strangers.
OPEN_AT_ONCE = 100
SALT = "projects.invitation"


class Refused(Exception):
    """In one line, for the person who asked."""


def invite(tenant: Tenant, *, email: str, role: Role, by: User, now: datetime) -> Invitation:
    """A new invitation, in place of an older one of the same address. Nobody looks whether somebody has the address."""
    _require_rank(by, tenant, role)
    with transaction.atomic():
        Tenant.objects.select_for_update().get(pk=tenant.pk)
        tenant.invitations.filter(email=email).delete()
        if tenant.invitations.count() >= OPEN_AT_ONCE:
            raise Refused(
                _("%(number)d invitations wait for an answer. Withdraw some first.") % {"number": OPEN_AT_ONCE}
            )
        invitation = tenant.invitations.create(email=email, role=role, invited_by=by, sent_at=now)
        audit.log(tenant, by.get_username(), Action.INVITE, now, invitation=invitation.pk, role=role)
    return invitation


def withdraw(tenant: Tenant, *, email: str, by: User, now: datetime) -> None:
    """The link works no more, and the address is forgotten."""
    with transaction.atomic():
        for invitation in tenant.invitations.filter(email=email):
            audit.log(tenant, by.get_username(), Action.WITHDRAW, now, invitation=invitation.pk)
            invitation.delete()


def token(invitation: Invitation) -> str:
    """What the link ends in; nobody makes one without the site's key."""
    named = [invitation.tenant.slug, invitation.email, invitation.sent_at.isoformat()]
    return signing.dumps(named, salt=SALT, compress=True)


def invitation_for(signed: str, now: datetime) -> Invitation | None:
    """The invitation that a link is for; None if it is forged, used, withdrawn, replaced or too old."""
    try:
        tenant, email, sent_at = signing.loads(signed, salt=SALT)
    except signing.BadSignature:
        return None
    still = Invitation.objects.filter(tenant__slug=tenant, email=email, sent_at=datetime.fromisoformat(sent_at))
    return still.filter(sent_at__gt=now - INVITED_FOR).select_related("tenant", "invited_by").first()


def send(invitation: Invitation, link: str) -> None:
    """The link, to its address and nobody else: who opens it has shown that the address is hers.

    In the language of who invites; that of who is invited nobody knows yet.
    """
    context = {"invitation": invitation, "link": link, "until": invitation.sent_at + INVITED_FOR}
    tenant = " ".join(invitation.tenant.name.split())  # a subject is one line
    send_mail(
        _("Join %(tenant)s") % {"tenant": tenant},
        render_to_string("projects/invitation.txt", context),
        None,
        [invitation.email],
    )


def accept(invitation: Invitation, user: User, *, now: datetime) -> bool:
    """The person's yes; False if the link was used at the same moment. Who is a member already keeps her role."""
    with transaction.atomic():
        if not Invitation.objects.filter(pk=invitation.pk, sent_at=invitation.sent_at).delete()[0]:
            return False
        tenant, role = invitation.tenant, invitation.role
        member, _new = Membership.objects.get_or_create(tenant=tenant, user=user, defaults={"role": role})
        _open_admin(user, Role(role))
        audit.log(tenant, user.get_username(), Action.JOIN, now, invitation=invitation.pk, role=member.role)
    return True


def change_role(member: Membership, role: Role, *, by: User, now: datetime) -> None:
    """Give a member another role; neither the old nor the new one above that of who does it."""
    _require_rank(by, member.tenant, Role(member.role))
    _require_rank(by, member.tenant, role)
    with transaction.atomic():
        if role != Role.OWNER:
            _require_another_owner(by, member)
        Membership.objects.filter(pk=member.pk).update(role=role)
        member.tenant.invitations.filter(invited_by=member.user_id).delete()  # she may not have the rank any more
        _open_admin(member.user, role)
        person = member.user.get_username()
        audit.log(member.tenant, by.get_username(), Action.ROLE, now, person=person, before=member.role, after=role)


def remove(member: Membership, *, by: User, now: datetime) -> None:
    """Take a member out, with the invitations she sent. What memory has of her stays; erasing is another verb."""
    _require_rank(by, member.tenant, Role(member.role))
    with transaction.atomic():
        _require_another_owner(by, member)
        member.tenant.invitations.filter(invited_by=member.user_id).delete()
        audit.removed([member], by.get_username(), now)
        member.delete()


def open_project(project: Project, *, members_only: bool, names: Collection[str], by: User, now: datetime) -> None:
    """To everybody in the tenant, or to the members with these user names, and always to owners and admins."""
    with transaction.atomic():
        Project.objects.filter(pk=project.pk).update(members_only=members_only)
        named = project.tenant.memberships.filter(user__username__in=names) if members_only else []
        project.named.set(named)
        people = sorted(member.user.get_username() for member in named)
        told = {"project": project.slug, "members_only": members_only, "named": people}
        audit.log(project.tenant, by.get_username(), Action.OPEN, now, **told)


def _require_rank(by: User, tenant: Tenant, role: Role) -> None:
    if not permissions.may(by, tenant, role):
        raise PermissionDenied(_("Only a member with the role “%(role)s” may do this.") % {"role": role.label})


def _require_another_owner(by: User, member: Membership) -> None:
    if permissions.last_owners(by, [member]):
        raise Refused(_("This is the last owner of %(tenant)s.") % {"tenant": member.tenant})


def _open_admin(user: User, role: Role) -> None:
    """Owners and admins work in the admin, which shows them their tenants and nothing else."""
    if role.covers(Role.ADMIN) and not user.is_staff:
        User.objects.filter(pk=user.pk).update(is_staff=True)

"""Members of a tenant: inviting, joining, changing roles, removing, and opening projects to them."""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.core.mail import send_mail
from django.db import transaction
from django.template.loader import render_to_string
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _

from memorybank import services
from projects.models import AttemptCounter, Invitation, Membership, Project, Role, Tenant, Webhook

from . import audit, permissions
from .audit import TenantAction

#: How long a link works.
INVITATION_VALID_FOR = timedelta(days=7)
#: The limit keeps a tenant from sending mail to many strangers.
MAX_OPEN_INVITATIONS = 100
#: Invitations that a tenant sends in a day, including withdrawn ones.
MAX_SENT_PER_DAY = 200
DAY = timedelta(days=1)
#: Backends that send nothing.
NO_MAIL = {f"django.core.mail.backends.{name}.EmailBackend" for name in ("console", "dummy")}
INVITATION_SALT = "projects.invitation"


class MembershipError(Exception):
    """A change is refused. The message is one line for the person who requested it."""


def invite(tenant: Tenant, *, email: str, role: Role, by: User, now: datetime) -> Invitation:
    """Create an invitation; it replaces an older one for the same address, which may not exist. Sends no mail.

    Raises :class:`PermissionDenied` for a role above that of ``by``, and :class:`MembershipError` for too many.
    """
    _require_rank(by, tenant, role)
    with transaction.atomic():
        Tenant.objects.select_for_update().get(pk=tenant.pk)
        _count_today(tenant, email, now)
        tenant.invitations.filter(email=email).delete()
        if tenant.invitations.count() >= MAX_OPEN_INVITATIONS:
            text = _("%(number)d invitations wait for an answer. Withdraw some first.")
            raise MembershipError(text % {"number": MAX_OPEN_INVITATIONS})
        invitation = tenant.invitations.create(email=email, role=role, invited_by=by, sent_at=now)
        audit.log(tenant, by.get_username(), TenantAction.INVITE, now, invitation=invitation.pk, role=role)
    return invitation


def _count_today(tenant: Tenant, email: str, now: datetime) -> None:
    """Count an invitation; raise :class:`MembershipError` if the tenant has sent too many today, also to one address.

    What other tenants sent to the address does not count, because the refusal would tell of them.
    """
    sent = tenant.events.filter(action=TenantAction.INVITE, at__gt=now - DAY).count()
    if sent >= MAX_SENT_PER_DAY or not AttemptCounter.objects.count_mail("invited", f"{tenant.pk} {email}", now):
        raise MembershipError(_("Too many invitations today. Try again tomorrow."))


def withdraw(tenant: Tenant, *, email: str, by: User, now: datetime) -> None:
    """Make the link invalid and delete the address."""
    with transaction.atomic():
        for invitation in tenant.invitations.filter(email=email):
            audit.log(tenant, by.get_username(), TenantAction.WITHDRAW, now, invitation=invitation.pk)
            invitation.delete()


def token(invitation: Invitation) -> str:
    """The token at the end of the link, signed with ``SECRET_KEY``."""
    values = [invitation.tenant.slug, invitation.email, invitation.sent_at.isoformat()]
    return signing.dumps(values, salt=INVITATION_SALT, compress=True)


def invitation_for(signed: str, now: datetime) -> Invitation | None:
    """The invitation of a link, whose tenant is entered; None if forged, used, withdrawn, replaced or expired."""
    try:
        tenant, email, sent_at = signing.loads(signed, salt=INVITATION_SALT)
    except signing.BadSignature:
        return None
    invitations = Invitation.objects.filter(tenant__slug=tenant, email=email, sent_at=datetime.fromisoformat(sent_at))
    valid = invitations.filter(sent_at__gt=now - INVITATION_VALID_FOR).select_related("tenant", "invited_by")
    with services.all_banks_entered():
        invitation = valid.first()
    if invitation:
        services.enter(owners=[invitation.tenant_id])
    return invitation


def sends_mail() -> bool:
    """Whether a mail server is set up; without one, mails are printed on the server or dropped."""
    return str(settings.EMAIL_BACKEND) not in NO_MAIL


def send(invitation: Invitation, link: str) -> None:
    """Send the link to the invited address only, so that opening it proves access to that address.

    Sends nothing, without a word, if the address has had too many invitations today, also from other tenants. The mail
    is in the language in which its addressee gets notices, if they do, otherwise in the inviter's.
    """
    if not AttemptCounter.objects.count_mail("invited", invitation.email, invitation.sent_at):
        return
    context = {"invitation": invitation, "link": link, "until": invitation.sent_at + INVITATION_VALID_FOR}
    with override(Webhook.objects.language_of(invitation.email) or get_language()):
        send_mail(
            _("An invitation to Memory Bank"),  # no name of a tenant: it could be an advertisement
            render_to_string("projects/invitation.txt", context),
            None,
            [invitation.email],
        )


def is_addressee(invitation: Invitation, user: User) -> bool:
    """Whether the account has the invitation's address, as its address or its user name."""
    return invitation.email.casefold() in (user.email.casefold(), user.get_username().casefold())


def accept(invitation: Invitation, user: User, *, now: datetime) -> bool:
    """Make ``user`` a member; False if the link was used at the same moment, or is for somebody else.

    Somebody who is a member already keeps their role.
    """
    if not is_addressee(invitation, user):
        return False
    with transaction.atomic():
        if not Invitation.objects.filter(pk=invitation.pk, sent_at=invitation.sent_at).delete()[0]:
            return False
        tenant, role = invitation.tenant, invitation.role
        member, _new = Membership.objects.get_or_create(tenant=tenant, user=user, defaults={"role": role})
        open_admin(user, Role(role))
        _update_trusted_authors(tenant)
        audit.log(tenant, user.get_username(), TenantAction.JOIN, now, invitation=invitation.pk, role=member.role)
    return True


def change_role(member: Membership, role: Role, *, by: User, now: datetime) -> None:
    """Give a member another role; neither the old nor the new one may be above the role of ``by``."""
    _require_rank(by, member.tenant, Role(member.role))
    _require_rank(by, member.tenant, role)
    with transaction.atomic():
        if role != Role.OWNER:
            _require_another_owner(by, member)
        Membership.objects.filter(pk=member.pk).update(role=role)
        member.tenant.invitations.filter(invited_by=member.user_id).delete()  # the new role may not allow them
        open_admin(member.user, role)
        _update_trusted_authors(member.tenant)
        person = member.user.get_username()
        audit.log(
            member.tenant, by.get_username(), TenantAction.ROLE, now, person=person, before=member.role, after=role
        )


def remove(member: Membership, *, by: User, now: datetime) -> None:
    """Remove a member and the invitations they sent. Memory keeps their data until it is erased."""
    _require_rank(by, member.tenant, Role(member.role))
    with transaction.atomic():
        _require_another_owner(by, member)
        member.tenant.invitations.filter(invited_by=member.user_id).delete()
        audit.removed([member], by.get_username(), now)
        member.delete()
        _update_trusted_authors(member.tenant)


def open_project(project: Project, *, members_only: bool, names: Collection[str], by: User, now: datetime) -> None:
    """Open a project to the entire tenant, or to owners, admins and the members with these user names."""
    with transaction.atomic():
        Project.objects.filter(pk=project.pk).update(members_only=members_only)
        members = project.tenant.memberships.filter(user__username__in=names) if members_only else []
        project.named.set(members)
        people = sorted(member.user.get_username() for member in members)
        detail = {"project": project.slug, "members_only": members_only, "named": people}
        audit.log(project.tenant, by.get_username(), TenantAction.OPEN, now, **detail)


def _require_rank(by: User, tenant: Tenant, role: Role) -> None:
    if not permissions.may(by, tenant, role):
        raise PermissionDenied(_("Only a member with the role “%(role)s” may do this.") % {"role": role.label})


def _require_another_owner(by: User, member: Membership) -> None:
    if permissions.last_owners(by, [member]):
        raise MembershipError(_("This is the last owner of %(tenant)s.") % {"tenant": member.tenant})


def _update_trusted_authors(tenant: Tenant) -> None:
    """Memory tells the words of owners and admins as facts, so it is rendered again when they change."""
    with services.all_banks_entered():
        services.update_trusted_authors(list(tenant.projects.values_list("bank", flat=True)))


def open_admin(user: User, role: Role) -> None:
    """Let an owner or admin use Django's admin, which shows them only their tenants."""
    if role.covers(Role.ADMIN) and not user.is_staff:
        User.objects.filter(pk=user.pk).update(is_staff=True)

"""The page of a tenant's members, and the actions of owners and admins there."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from smtplib import SMTPException

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from projects.models import Invitation, Membership, Project, Role, Tenant
from projects.web.requests import MemberRequest

from . import members as tenancy_members
from . import permissions
from .forms import InvitationForm

logger = logging.getLogger(__name__)


@require_GET
@login_required
def people_page(request: MemberRequest, tenant: str) -> HttpResponse:
    """Members, invitations, and which projects are open to whom."""
    tenant_row = permissions.enter_tenant(request.user, tenant)
    return _show(request, tenant_row, InvitationForm(roles=permissions.roles_below(request.user, tenant_row)))


@require_POST
@login_required
def invite(request: MemberRequest, tenant: str) -> HttpResponse:
    """Send an invitation link; if no mail server is set up, show the link to the inviter, here and in the list.

    The response does not tell whether the address has an account.
    """
    tenant_row = permissions.enter_tenant(request.user, tenant)
    form = InvitationForm(request.POST, roles=permissions.roles_below(request.user, tenant_row))
    if not form.is_valid():
        return _show(request, tenant_row, form, 400)
    email, role = form.cleaned_data["email"], Role(form.cleaned_data["role"])
    sends = tenancy_members.sends_mail()
    message = _("Invitation sent to %(email)s.") if sends else _("%(email)s is invited. Give them the link yourself.")
    with _reported(request, message % {"email": email}):
        invitation = tenancy_members.invite(tenant_row, email=email, role=role, by=request.user, now=timezone.now())
        link = _link(request, invitation)
        tenancy_members.send(invitation, link)
        if not sends:
            text = _("No mail server is set up, so no mail was sent. The link works once, for %(email)s only:")
            messages.warning(request, format_html("{} <code data-copy>{}</code>", text % {"email": email}, link))
    return redirect("people", tenant=tenant)


@require_POST
@login_required
def withdraw(request: MemberRequest, tenant: str) -> HttpResponse:
    tenant_row = permissions.enter_tenant(request.user, tenant)
    tenancy_members.withdraw(tenant_row, email=request.POST.get("email", ""), by=request.user, now=timezone.now())
    messages.success(request, _("The invitation is withdrawn."))
    return redirect("people", tenant=tenant)


@require_POST
@login_required
def change_role(request: MemberRequest, tenant: str) -> HttpResponse:
    member, role = _member(request, tenant), request.POST.get("role", "")
    if role not in Role.values:
        raise Http404
    success = _("%(person)s has the role “%(role)s” now.") % {"person": member.user, "role": Role(role).label}
    with _reported(request, success):
        tenancy_members.change_role(member, Role(role), by=request.user, now=timezone.now())
    return redirect("home" if member.user == request.user else reverse("people", args=[tenant]))


@require_POST
@login_required
def remove(request: MemberRequest, tenant: str) -> HttpResponse:
    member = _member(request, tenant)
    success = _("%(person)s is no longer a member of %(tenant)s.") % {"person": member.user, "tenant": member.tenant}
    with _reported(request, success):
        tenancy_members.remove(member, by=request.user, now=timezone.now())
    return redirect("home" if member.user == request.user else reverse("people", args=[tenant]))


@require_POST
@login_required
def open_project(request: MemberRequest, tenant: str) -> HttpResponse:
    tenant_row = permissions.enter_tenant(request.user, tenant)
    project = get_object_or_404(Project, tenant=tenant_row, slug=request.POST.get("project", ""))
    only = request.POST.get("open") == "named"
    names = request.POST.getlist("person")
    tenancy_members.open_project(project, members_only=only, names=names, by=request.user, now=timezone.now())
    open_to = _("%(project)s is open to the selected members.") if only else _("%(project)s is open to everybody.")
    messages.success(request, open_to % {"project": project})
    return redirect("people", tenant=tenant)


def _link(request: HttpRequest, invitation: Invitation) -> str:
    return request.build_absolute_uri(reverse("invitation", args=[tenancy_members.token(invitation)]))


def _link_to_give(request: MemberRequest, invitation: Invitation) -> str:
    """The link, if no mail carried it and this person sent the invitation; otherwise it proves who got the mail."""
    mine = invitation.invited_by_id == request.user.pk and not tenancy_members.sends_mail()
    return _link(request, invitation) if mine else ""


def _member(request: MemberRequest, tenant: str) -> Membership:
    """The member whose user name the form contains: row ids would reveal how many members other tenants have."""
    members = permissions.enter_tenant(request.user, tenant).memberships.select_related("user", "tenant")
    return get_object_or_404(members, user__username=request.POST.get("person", ""))


@contextmanager
def _reported(request: HttpRequest, success: str) -> Iterator[None]:
    """Show the outcome of the ``with`` block as a message on the next page."""
    try:
        yield
    except tenancy_members.MembershipError as why:
        messages.error(request, str(why))
    except (OSError, SMTPException) as error:
        logger.error("invitation: the mail server failed: %s", type(error).__name__)
        messages.error(request, _("The mail server did not accept it. Try again later."))
    else:
        messages.success(request, success)


def _show(request: MemberRequest, tenant: Tenant, form: InvitationForm, status: int = 200) -> HttpResponse:
    members = tenant.memberships.select_related("user").order_by("user__username")
    context = {
        "tenant": tenant,
        "members": sorted(members, key=lambda member: list(Role).index(Role(member.role))),
        "invitations": [(row, _link_to_give(request, row)) for row in tenant.invitations.order_by("-sent_at")],
        "open_since": timezone.now() - tenancy_members.INVITATION_VALID_FOR,
        "sends_mail": tenancy_members.sends_mail(),
        "projects": tenant.projects.prefetch_related("named__user"),
        "roles": form.roles,
        "grantable": dict(form.roles),
        "form": form,
    }
    return render(request, "projects/people.html", context, status=status)

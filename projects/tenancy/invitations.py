"""Where the link of an invitation leads: a page that says who invites, and the person's yes."""

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from projects.models import Invitation

from . import members
from .forms import NewPasswordForm


@require_http_methods(["GET", "HEAD", "POST"])
def invitation_page(request: HttpRequest, token: str) -> HttpResponse:
    """Looking at it changes nothing: mail servers do. Whoever is signed in joins; who has no account makes one.

    An account is named after the address, which only its owner can have the link of: so this page tells nobody else
    whether there is one, and nobody who chooses a name learns which are taken.
    """
    invitation = members.invitation_for(token, timezone.now())
    if invitation is None:
        return render(request, "projects/invitation_over.html", status=404)
    known = User.objects.filter(username=invitation.email).exists()
    form = None if known or request.user.is_authenticated else NewPasswordForm(User(username=invitation.email))
    if request.method == "POST" and isinstance(request.user, User):
        return _join(request, invitation, request.user)
    if request.method == "POST" and form is not None:
        form = NewPasswordForm(User(username=invitation.email, email=invitation.email), request.POST)
        if form.is_valid() and (user := _account(form)):
            login(request, user)
            return _join(request, invitation, user)
    return render(request, "projects/invitation.html", {"invitation": invitation, "form": form, "known": known})


def _join(request: HttpRequest, invitation: Invitation, user: User) -> HttpResponse:
    if not members.accept(invitation, user, now=timezone.now()):
        return render(request, "projects/invitation_over.html", status=404)
    messages.success(request, _("You belong to %(tenant)s now.") % {"tenant": invitation.tenant})
    return redirect("home")


def _account(form: NewPasswordForm) -> User | None:
    """A new account; None if the same form was sent twice at once."""
    try:
        with transaction.atomic():
            user: User = form.save()
    except IntegrityError:
        return None
    return user

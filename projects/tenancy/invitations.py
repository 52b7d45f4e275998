"""The page of an invitation's link: it says who invites, and the invited person confirms."""

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
    """Show an invitation; on POST its addressee joins, with the account they are signed in to or a new one.

    A GET changes nothing, because mail servers follow links. The user name of a new account is the e-mail address, and
    only its owner has the link, so nobody else learns whether an account exists or which user names are taken.
    """
    invitation = members.invitation_for(token, timezone.now())
    if invitation is None:
        return render(request, "projects/invitation_over.html", status=404)
    known = User.objects.filter(username=invitation.email).exists()
    form = None if known or request.user.is_authenticated else NewPasswordForm(User(username=invitation.email))
    theirs = isinstance(request.user, User) and members.is_addressee(invitation, request.user)
    if request.method == "POST" and isinstance(request.user, User) and theirs:
        return _join(request, invitation, request.user)
    if request.method == "POST" and form is not None:
        form = NewPasswordForm(User(username=invitation.email, email=invitation.email), request.POST)
        if form.is_valid() and (user := _account(form)):
            login(request, user)
            return _join(request, invitation, user)
    context = {"invitation": invitation, "form": form, "known": known, "theirs": theirs}
    refused = request.method == "POST" and request.user.is_authenticated
    return render(request, "projects/invitation.html", context, status=403 if refused else 200)


def _join(request: HttpRequest, invitation: Invitation, user: User) -> HttpResponse:
    if not members.accept(invitation, user, now=timezone.now()):
        return render(request, "projects/invitation_over.html", status=404)
    messages.success(request, _("Welcome to %(tenant)s.") % {"tenant": invitation.tenant})
    return redirect("home")


def _account(form: NewPasswordForm) -> User | None:
    """A new account; None if the same form was sent twice at once."""
    try:
        with transaction.atomic():
            user: User = form.save()
    except IntegrityError:
        return None
    return user

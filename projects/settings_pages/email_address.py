"""Change the e-mail address of one's own account: with the password, and confirmed by mail where mail is set up."""

from datetime import datetime

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core import signing
from django.core.mail import send_mail
from django.db import transaction
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from memorybank import services
from projects.models import AttemptCounter
from projects.tenancy.login_throttle import confirm_password
from projects.tenancy.members import sends_mail
from projects.web.requests import MemberRequest
from projects.webhooks import registry

SALT = "projects.email"
#: How long a confirmation link works.
VALID_SECONDS = 3 * 86_400


class EmailForm(forms.Form):
    """A new address for an account; an empty one removes it. Needs the password."""

    email = forms.EmailField(
        label=gettext_lazy("Address"),
        max_length=254,
        required=False,
        widget=forms.EmailInput({"autocomplete": "email"}),
        help_text=gettext_lazy(
            "For e-mails about your projects and for a forgotten password. Leave empty to remove it."
        ),
    )
    password = forms.CharField(
        label=gettext_lazy("Your password"),
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "current-password"}),
    )

    prefix = "address"

    def __init__(self, user: User, data: QueryDict | None) -> None:
        super().__init__(data, initial={"email": user.email})
        self.user = user

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        confirm_password(self.user, password)
        return password


def request_change(request: MemberRequest, email: str, now: datetime) -> str:
    """Mail a confirmation link to the new address; without a mail server, change it now. Returns what to say."""
    if not email or not sends_mail():
        change(request.user, email, now)
        return _("Saved.")
    if not AttemptCounter.objects.count_mail("address", email, now):
        return _("Too many links were sent to this address today. Try again tomorrow.")
    token = signing.dumps([request.user.pk, request.user.email, email], salt=SALT, compress=True)
    link = request.build_absolute_uri(reverse("confirm-email", args=[token]))
    body = render_to_string("projects/account/confirm_email.txt", {"link": link, "user": request.user})
    send_mail(_("Confirm your e-mail address"), body, None, [email])
    return _("A link is on its way to %(email)s. Open it to confirm the address.") % {"email": email}


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def confirm_email(request: MemberRequest, token: str) -> HttpResponse:
    """The page of a confirmation link. A GET changes nothing, because mail servers follow links."""
    email = _confirmed_address(request.user, token)
    if email and request.method == "POST":
        change(request.user, email, timezone.now())
        messages.success(request, _("Saved."))
        return redirect("account")
    return render(request, "projects/account/confirm_email.html", {"email": email}, status=200 if email else 404)


def _confirmed_address(user: User, token: str) -> str:
    """The address in a link; "" if it is forged, expired, used, or of another account."""
    try:
        pk, old, email = signing.loads(token, salt=SALT, max_age=VALID_SECONDS)
    except signing.BadSignature:
        return ""
    return str(email) if (pk, old) == (user.pk, user.email) else ""


@services.all_banks_entered()  # the account may get notices of projects in each
def change(user: User, email: str, now: datetime) -> None:
    """Set the address of the account, and send its notices there."""
    with transaction.atomic():
        if user.email:
            registry.readdress(user, email, now)
        user.email = email
        user.save(update_fields=["email"])

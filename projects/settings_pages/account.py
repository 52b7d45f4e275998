"""Account pages: display name, password, sessions, account deletion, and password reset."""

from threading import Thread
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, PasswordResetConfirmView, PasswordResetView
from django.contrib.messages.views import SuccessMessageMixin
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from projects.models import AttemptCounter
from projects.tenancy import accounts
from projects.tenancy.login_throttle import LoginForm, PasswordForm, confirm_password
from projects.tenancy.members import MembershipError
from projects.web.requests import MemberRequest

from .email_address import EmailForm, request_change


class NameForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    class Meta:
        model = User
        fields = ["first_name"]
        labels = {"first_name": gettext_lazy("Display name")}
        help_texts = {"first_name": gettext_lazy("Shown to your colleagues beside your user name.")}


class SignIn(LoginView):
    """The site's only login page; the admin uses it, too."""

    template_name = "projects/login.html"
    authentication_form = LoginForm

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Redirect logged-in users to ``next``, except non-staff to the admin, which would send them back here."""
        to_admin = request.GET.get("next", "").startswith(reverse("admin:index"))
        self.redirect_authenticated_user = not to_admin or getattr(request.user, "is_staff", False)
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), "unsent": self.request.POST}

    def form_valid(self, form: Any) -> HttpResponse:
        """Redirect; a message that was sent while signed out is first shown again, ready to be sent."""
        redirection = super().form_valid(form)
        if not self.request.POST.get("message"):
            return redirection
        context = {"unsent": self.request.POST, "address": self.get_success_url()}
        return render(self.request, "projects/account/unsent_message.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def account_page(request: MemberRequest) -> HttpResponse:
    """Change name, e-mail address and password, and count other sessions. A new password ends all other sessions."""
    what = request.POST.get("what", "") if request.method == "POST" else ""
    email = EmailForm(request.user, request.POST if what == "email" else None)
    name = NameForm(request.POST if what == "name" else None, instance=User.objects.get(pk=request.user.pk))
    password = PasswordForm(request.user, request.POST if what == "password" else None)
    password.fields["old_password"].widget.attrs.pop("autofocus", None)  # the page begins with the name
    if what == "name" and name.is_valid():
        name.save()
        messages.success(request, _("Saved."))
        return redirect("account")
    if what == "email" and email.is_valid():
        messages.success(request, request_change(request, email.cleaned_data["email"], timezone.now()))
        return redirect("account")
    if what == "password" and password.is_valid():
        password.save()
        update_session_auth_hash(request, password.user)
        messages.success(request, _("Your password is changed. You are signed out everywhere else."))
        return redirect("account")
    sessions = len(accounts.other_sessions(request.user, str(request.session.session_key), timezone.now()))
    context = {"name": name, "email": email, "password": password, "sessions": sessions}
    failed = name.errors or email.errors or password.errors
    return render(request, "projects/account/account.html", context, status=400 if failed else 200)


@require_POST
@login_required
def end_sessions(request: MemberRequest) -> HttpResponse:
    count = accounts.end_other_sessions(request.user, str(request.session.session_key), timezone.now())
    text = ngettext("You are signed out of %d other browser.", "You are signed out of %d other browsers.", count)
    messages.success(request, text % count)
    return redirect("account")


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def delete_account(request: MemberRequest) -> HttpResponse:
    """GET lists what is deleted and what is kept; POST with the password deletes the account."""
    problem = ""
    if request.method == "POST":
        try:
            confirm_password(request.user, request.POST.get("password", ""))
            with_chats = request.POST.get("chats") == "erase"
            accounts.delete(User.objects.get(pk=request.user.pk), with_chats=with_chats, now=timezone.now())
        except (MembershipError, ValidationError) as why:
            problem = why.messages[0] if isinstance(why, ValidationError) else str(why)
        else:
            logout(request)
            messages.success(request, _("Your account is deleted."))
            return redirect("login")
    context = {"problem": problem, "chats": accounts.own_chats(request.user)}
    return render(request, "projects/account/delete.html", context, status=400 if problem else 200)


# --- a forgotten password -----------------------------------------------------------------------------------


class ResetForm(PasswordResetForm):
    """Sends a reset link. The response time must not reveal whether an e-mail address has an account."""

    def save(self, *args: Any, **kwargs: Any) -> None:
        if AttemptCounter.objects.count_mail("reset", self.cleaned_data["email"], timezone.now()):
            super().save(*args, **kwargs)

    def send_mail(self, *args: Any, **kwargs: Any) -> None:
        """Send the e-mail in a new thread, because a mail server may be slow; in the language of this page."""
        send = translation.override(translation.get_language())(super().send_mail)
        Thread(target=send, args=args, kwargs=kwargs).start()


class ForgottenPassword(SuccessMessageMixin, PasswordResetView):  # type: ignore[type-arg]
    form_class = ResetForm
    template_name = "projects/account/forgotten.html"
    email_template_name = "projects/account/forgotten.txt"
    subject_template_name = "projects/account/forgotten_subject.txt"
    success_url = reverse_lazy("login")
    success_message = gettext_lazy("If an account has this address, a link is on its way to it.")


class NewPassword(SuccessMessageMixin, PasswordResetConfirmView):  # type: ignore[type-arg]
    template_name = "projects/account/new_password.html"
    success_url = reverse_lazy("login")
    success_message = gettext_lazy("Your password is changed. Sign in with it.")

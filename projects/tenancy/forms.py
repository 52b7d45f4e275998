"""Forms to join a tenant: an invitation, the password of a new account."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib.auth.forms import SetPasswordForm
from django.utils.translation import gettext_lazy as _

from projects.models import Role


class InvitationForm(forms.Form):
    """An invitation; ``roles`` are the roles that the inviter may give."""

    email = forms.EmailField(
        label=_("E-mail address"),
        widget=forms.EmailInput(attrs={"autocomplete": "off", "placeholder": "ann@example.com"}),
    )

    def __init__(self, *args: Any, roles: Sequence[Role], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.roles = [(role.value, role.label) for role in roles]
        self.fields["role"] = forms.ChoiceField(label=_("Role"), initial=Role.MEMBER, choices=self.roles)

    def clean_email(self) -> str:
        """Lower case: mail servers ignore case, and the account is named after the address."""
        return str(self.cleaned_data["email"]).lower()


class NewPasswordForm(SetPasswordForm):  # type: ignore[type-arg]  # not generic at run time
    """The password of a new account; ``save`` creates the account."""

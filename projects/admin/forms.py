"""The form of a membership in the admin."""

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from projects.models import Membership, Role
from projects.tenancy import permissions


class PersonField(forms.CharField):
    """A user by exact user name. For superusers only, because its errors reveal which user names exist."""

    def clean(self, value: Any) -> Any:
        name = super().clean(value)
        user = User.objects.filter(username=name).first()
        if user is None:
            raise ValidationError(_("There is no user “%(name)s”."), params={"name": name}, code="unknown")
        return user


class MembershipForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """A member of a tenant. ``actor`` is the user who submits the form; they cannot grant a role above their own."""

    actor: User
    user = PersonField(label=_("User name"), max_length=150)

    class Meta:
        model = Membership
        fields = ["tenant", "user", "role"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        tenant = cleaned.get("tenant") or (self.instance.tenant if self.instance.pk else None)
        role = Role(cleaned["role"]) if cleaned.get("role") else None
        if tenant and role and not permissions.may(self.actor, tenant, role):
            self.add_error("role", _("Only a member with the role “%(role)s” may give it.") % {"role": role.label})
        if self.instance.pk and role != Role.OWNER and permissions.last_owners(self.actor, [self.instance]):
            self.add_error("role", _("This is the last owner of %(tenant)s.") % {"tenant": self.instance.tenant})
        return cleaned

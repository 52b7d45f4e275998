"""Forms of the admin: a project with the settings of its bank, a membership, an API key."""

from functools import cache
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from memorybank.exceptions import InvalidInput
from memorybank.services import Bank
from projects.models import APIKey, Membership, NameSource, Project, Role, Scope
from projects.models.key import DEFAULT_NAME_SOURCES
from projects.tenancy import api_keys, permissions

#: The bank's settings that the project page offers.
BANK_SETTINGS = (
    *("max_tokens", "recall_tokens", "personal_tokens", "new_chats_private"),
    *("idle_minutes", "timezone", "focus", "redact_personal", "monthly_cap"),
    *("keep_turns_days", "keep_memory_days"),
)


def _bank_field(name: str) -> Any:
    """The form field of a bank setting, with the model's limits: ``formfield()`` leaves some of them out."""
    setting: Any = Bank._meta.get_field(name)
    field = setting.formfield()
    field.validators = [*field.validators, *setting.validators]
    return field


@cache
def _timezones() -> list[tuple[str, str]]:
    return [(name, name) for name in sorted(available_timezones())]


class ProjectForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    enabled = forms.BooleanField(label=_("Memory is on"), required=False)
    disclosure_read = forms.BooleanField(
        label=_("I have read this and accept it for this project"),
        required=False,
        help_text=_("Needed once, before memory can be switched on. Your name and the time are kept."),
    )
    history = forms.ChoiceField(
        label=_("What it begins with"),
        required=False,
        choices=[("", _("What is said from now on")), ("include", _("Include what was said before"))],
        widget=forms.RadioSelect,
    )
    max_tokens = _bank_field("max_tokens")
    recall_tokens = _bank_field("recall_tokens")
    personal_tokens = _bank_field("personal_tokens")
    new_chats_private = _bank_field("new_chats_private")
    idle_minutes = _bank_field("idle_minutes")
    timezone = forms.ChoiceField(
        label=_("Time zone"), choices=_timezones, help_text=Bank._meta.get_field("timezone").help_text
    )
    focus = _bank_field("focus")
    redact_personal = _bank_field("redact_personal")
    monthly_cap = _bank_field("monthly_cap")
    keep_turns_days = _bank_field("keep_turns_days")
    keep_memory_days = _bank_field("keep_memory_days")

    class Meta:
        model = Project
        fields = ["tenant", "slug", "name", "system_prompt"]
        widgets = {"system_prompt": forms.Textarea(attrs={"rows": 4, "cols": 80})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.bank = self.instance.bank if self.instance.pk else Bank()
        self.fields["focus"].widget.attrs.update(rows=3, cols=80)
        for name in ("enabled", *BANK_SETTINGS):
            self.initial.setdefault(name, getattr(self.bank, name))

    def clean(self) -> dict[str, Any]:
        """Memory is switched on only after somebody has read and accepted the disclosure."""
        cleaned = super().clean() or self.cleaned_data
        accepted = cleaned.get("disclosure_read") or self.bank.disclosure_accepted_at
        if cleaned.get("enabled") and not accepted:
            self.add_error(
                "disclosure_read", _("Read what this means and tick this box before memory can be switched on.")
            )
        return cleaned

    @property
    def changed_settings(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in BANK_SETTINGS if name in self.changed_data}


class PersonField(forms.CharField):
    """A user by exact name. For superusers only, because it reveals which names exist."""

    def clean(self, value: Any) -> Any:
        name = super().clean(value)
        user = User.objects.filter(username=name).first()
        if user is None:
            raise ValidationError(_("There is no user “%(name)s”."), params={"name": name}, code="unknown")
        return user


class MembershipForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """A member of a tenant. ``actor`` is the user of the form: nobody grants a role above their own."""

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


class APIKeyForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    scopes = forms.MultipleChoiceField(
        label=_("What it opens"), choices=Scope.choices, widget=forms.CheckboxSelectMultiple, initial=[Scope.READ]
    )
    days = forms.IntegerField(
        label=_("Days it is valid"),
        required=False,
        min_value=1,
        max_value=api_keys.MAX_DAYS,
        help_text=_("Leave empty for a key that never expires."),
    )

    name_sources = forms.MultipleChoiceField(
        label=_("Who is speaking, it takes from"),
        required=False,
        choices=NameSource.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=DEFAULT_NAME_SOURCES,
        help_text=_("Choose only what the people themselves cannot fill in. Choose nothing to record the key's name."),
    )

    class Meta:
        model = APIKey
        fields = ["project", "name"]

    def clean(self) -> dict[str, Any]:
        """Apply the same limits as the command."""
        cleaned = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                api_keys.check(cleaned["name"], cleaned["scopes"], cleaned["days"], cleaned["name_sources"])
            except InvalidInput as error:
                raise ValidationError(str(error)) from None
        return cleaned

"""Forms for a project with its bank settings, and for an API key; the site and the admin use them."""

from functools import cache
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.core.exceptions import ValidationError
from django.utils.text import format_lazy, slugify
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.services import Bank
from projects.models import APIKey, NameSource, Project, Scope
from projects.models.key import DEFAULT_NAME_SOURCES
from projects.models.tenant import SLUG
from projects.tenancy import api_keys
from projects.tenancy.budget import currency

#: The bank settings that a project form includes.
BANK_SETTINGS = (
    *("max_tokens", "recall_tokens", "personal_tokens", "new_chats_private"),
    *("idle_minutes", "timezone", "focus", "redact_personal", "monthly_cap"),
    *("keep_turns_days", "keep_memory_days"),
)


FIELD_HELP = {
    "max_tokens": _(
        "How much memory every chat gets; 100 tokens are about 75 words. What a smaller budget leaves out is shown "
        "before it is saved; for a larger one the model writes its summaries again."
    ),
    "recall_tokens": _("How much memory is recalled for the newest message, in tokens; 0: none."),
    "personal_tokens": _("How much memory only the asking person gets, in tokens; 0: none."),
}


def _bank_field(name: str) -> Any:
    """The form field of a bank setting, with all validators of the model field: ``formfield()`` omits some."""
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
        """Allow memory to be enabled only if the disclosure is accepted, now or earlier."""
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

    def apply(self, bank: Bank, actor: str) -> None:
        """Save the bank settings through services, which write the audit log."""
        if self.changed_settings:
            services.configure(bank, actor=actor, **self.changed_settings)
        if "enabled" not in self.changed_data:
            return
        if self.cleaned_data["enabled"]:
            history = self.cleaned_data.get("history") == "include"
            read = bool(self.cleaned_data.get("disclosure_read"))
            services.enable(bank, actor=actor, disclosure_accepted=read, history=history)
        else:
            services.disable(bank, actor=actor)


class SettingsForm(ProjectForm):
    """A project's settings on the site. Tenant and slug cannot be changed, because URLs contain them."""

    class Meta(ProjectForm.Meta):
        fields = ["name", "system_prompt"]
        labels = {"name": _("Name"), "system_prompt": _("Instructions")}
        help_texts = {"system_prompt": _("Come first in every prompt of this project.")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, text in FIELD_HELP.items():
            self.fields[name].help_text = text
        self.fields["monthly_cap"].help_text = _(
            "In %(currency)s. Leave empty for none. When it is reached, memory quotes the chats without a "
            "model; later the model writes it again."
        ) % {"currency": currency()}

    def suggest_zone(self, zone: str) -> None:
        """Name the reader's time zone beside the project's."""
        field = self.fields["timezone"]
        suggestion = _("Your browser’s time zone is %(zone)s.") % {"zone": zone}
        field.help_text = format_lazy("{} {}", field.help_text, suggestion)

    field_order = ("name", "system_prompt", "enabled", "disclosure_read", "history", *BANK_SETTINGS)


class NewProjectForm(forms.Form):
    """A new project of a tenant. Without a slug, one is derived from the name."""

    name = forms.CharField(label=_("Name"), max_length=200, widget=forms.TextInput({"autofocus": True}))
    slug = forms.CharField(
        label=_("Address"),
        required=False,
        max_length=64,
        validators=[SLUG],
        help_text=_("The end of the project’s address. Leave empty to take it from the name."),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if "slug" in cleaned and not cleaned["slug"] and "name" in cleaned:
            cleaned["slug"] = slugify(cleaned["name"])[:64].strip("-_")
            if not cleaned["slug"]:
                self.add_error("slug", _("Choose an address: the name has no Latin letter or digit."))
        return cleaned


class NewKeyForm(forms.Form):
    """A new API key; the view knows the project."""

    name = forms.CharField(label=_("Name"), help_text=_("The person or program that will use this key."))
    scopes = forms.MultipleChoiceField(
        label=_("Permissions"), choices=Scope.choices, widget=forms.CheckboxSelectMultiple, initial=[Scope.READ]
    )
    days = forms.IntegerField(
        label=_("Valid for (days)"),
        required=False,
        min_value=1,
        max_value=api_keys.MAX_KEY_DAYS,
        help_text=_("Leave empty for a key that never expires."),
    )
    name_sources = forms.MultipleChoiceField(
        label=_("Read the speaker’s name from"),
        required=False,
        choices=NameSource.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=DEFAULT_NAME_SOURCES,
        help_text=_(
            "Select only parts of a request that users cannot set themselves. "
            "If you select none, messages are recorded under the name of the key."
        ),
    )

    def clean(self) -> dict[str, Any]:
        """Apply the same limits as the command create_api_key."""
        cleaned = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                api_keys.check(cleaned["name"], cleaned["scopes"], cleaned["days"], cleaned["name_sources"])
            except InvalidInput as error:
                raise ValidationError(str(error)) from None
        return cleaned


class APIKeyForm(NewKeyForm, forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """A new API key in the admin, where the project is a field of the form."""

    class Meta:
        model = APIKey
        fields = ["project"]

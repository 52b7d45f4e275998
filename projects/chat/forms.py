"""What people type in a chat: a message, a title."""

from uuid import uuid4

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

#: Characters of one message. Whether its tokens fit the model's context is checked as well.
MAX_MESSAGE_CHARACTERS = 100_000


class MessageForm(forms.Form):
    """One chat message, kept as it was typed (code is indented)."""

    message = forms.CharField(
        strip=False,
        max_length=MAX_MESSAGE_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "aria-describedby": "composer-hint"}),
        error_messages={
            "required": _("message: write something first."),
            "max_length": _("message: %(show_value)s characters; at most %(limit_value)s are accepted."),
            "null_characters_not_allowed": _("message: a null character is not text."),
        },
    )

    #: Made anew for each showing, so that the same message sent twice is recorded once.
    key = forms.RegexField(
        r"\A[0-9a-f]{32}\Z",
        required=False,
        widget=forms.HiddenInput(attrs={"autocomplete": "off"}),
        initial=lambda: uuid4().hex,
        error_messages={"invalid": _("key: must be 32 hexadecimal digits.")},
    )

    def clean_message(self) -> str:
        """Lone surrogates cannot be stored or sent; they become "?"."""
        message: str = self.cleaned_data["message"].encode("utf-8", "replace").decode("utf-8")
        if not message.strip():
            raise ValidationError(_("message: write something first."), code="required")
        return message

    @property
    def problem(self) -> str:
        """The first thing wrong, in one line; "" if nothing is."""
        return _first(self)

    @property
    def too_long(self) -> bool:
        """Whether its length is what is wrong."""
        return self.has_error("message", "max_length")


class TitleForm(forms.Form):
    """What a chat is called."""

    title = forms.CharField(
        max_length=200,
        error_messages={
            "required": _("A title needs a word."),
            "max_length": _("A title has at most %(limit_value)s characters."),
            "null_characters_not_allowed": _("A null character is not text."),
        },
    )

    @property
    def problem(self) -> str:
        """What is wrong, in one line; "" if nothing is."""
        return _first(self)


def _first(form: forms.Form) -> str:
    return next((str(problem) for problems in form.errors.values() for problem in problems), "")

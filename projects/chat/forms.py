"""Forms of the chat pages: a message, a title."""

import json
from typing import Any, Self
from uuid import uuid4

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from memorybank.exceptions import InvalidInput

#: Characters of one message. Whether its tokens fit the model's context is checked as well.
MAX_MESSAGE_CHARACTERS = 100_000
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")


class TooLong(InvalidInput):
    """A message has more characters than are accepted."""


class MessageForm(forms.Form):
    """One chat message; its whitespace is kept, because code is indented."""

    message = forms.CharField(
        strip=False,
        max_length=MAX_MESSAGE_CHARACTERS,
        widget=forms.Textarea(
            attrs={"rows": 2, "placeholder": _("Message"), "autocomplete": "off", "aria-describedby": "composer-hint"}
        ),
        error_messages={
            "required": _("message: write something first."),
            "max_length": _("message: %(show_value)s characters; at most %(limit_value)s are accepted."),
            "null_characters_not_allowed": _("message: a null character is not text."),
        },
    )

    #: Generated for each rendered form, so that a message that is sent twice is recorded once.
    key = forms.RegexField(
        r"\A[0-9a-f]{32}\Z",
        required=False,
        widget=forms.HiddenInput(attrs={"autocomplete": "off"}),
        initial=lambda: uuid4().hex,
        error_messages={"invalid": _("key: must be 32 hexadecimal digits.")},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["message"].widget.attrs.pop("maxlength")  # with it, browsers silently truncate pasted text

    def clean_message(self) -> str:
        """Replace lone surrogates, which cannot be stored or sent, by "?"."""
        message: str = self.cleaned_data["message"].encode("utf-8", "replace").decode("utf-8")
        if not message.strip():
            raise ValidationError(_("message: write something first."), code="required")
        return message

    @classmethod
    def posted(cls, request: HttpRequest) -> Self:
        """Bind a form post or the JSON ``{"message": …, "key": …}``. Raises :class:`InvalidInput` for other JSON."""
        return cls(request.POST if request.content_type in FORM_TYPES else _json_fields(request.body))

    def message_and_key(self) -> tuple[str, str]:
        """The message and its key. Raises :class:`InvalidInput` with the first error if the form is invalid."""
        if self.is_valid():
            return self.cleaned_data["message"], self.cleaned_data["key"]
        raise (TooLong if self.has_error("message", "max_length") else InvalidInput)(_first_error(self))


class TitleForm(forms.Form):
    title = forms.CharField(
        max_length=200,
        error_messages={
            "required": _("Enter a title."),
            "max_length": _("A title has at most %(limit_value)s characters."),
            "null_characters_not_allowed": _("A message cannot contain null characters."),
        },
    )

    @property
    def problem(self) -> str:
        """The first error; "" if there is none."""
        return _first_error(self)


def _first_error(form: forms.Form) -> str:
    return next((str(problem) for problems in form.errors.values() for problem in problems), "")


def _json_fields(body: bytes) -> dict[str, Any]:
    # RecursionError: tens of thousands of nested brackets are bad input, not a bug here.
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidInput((_("This is not JSON: %(error)s.") % {"error": error})[:300]) from None
    if not isinstance(data, dict) or not isinstance(data.get("message"), str):
        raise InvalidInput(_('Send {"message": "…"} with the text as a string.'))
    return {"message": data["message"], "key": str(data.get("key") or "")}

"""Translate model names, help texts and choices, and group digits, in the reader's language."""

from typing import Any

from django.apps import AppConfig
from django.db.models import Field
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy


def translate_models(app: AppConfig) -> None:
    """Make names, help texts and choices of an app's models lazy translations.

    Fields keep the names that Django derives from their attributes: writing a ``gettext_lazy`` name at each field would
    repeat them and add migrations. Migrations keep the English names.
    """
    for model in app.get_models():
        opts: Any = model._meta
        plural = str(opts.verbose_name_plural)
        opts.verbose_name, opts.verbose_name_plural = _lazy(opts.verbose_name), _lazy(plural)
        for field in (*opts.local_fields, *opts.local_many_to_many):
            _translate_field(field)


def _translate_field(field: "Field[Any, Any]") -> None:
    field.verbose_name = _lazy(field.verbose_name)
    if field.help_text:
        field.help_text = _lazy(field.help_text)
    if field.choices:
        field.choices = [(value, _lazy(label)) for value, label in field.flatchoices]


def _lazy(words: Any) -> Any:
    return words if isinstance(words, Promise) else gettext_lazy(words)


def grouped(number: int) -> str:
    """The number with the reader's thousands separator."""
    return number_format(number, force_grouping=True)

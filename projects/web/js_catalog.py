"""Translations for JavaScript, with one URL for each language."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control
from django.utils.translation import override
from django.views.i18n import JavaScriptCatalog

CACHE_SECONDS = 3600


class LanguageConverter:
    """A path converter for the site's languages."""

    regex = "[a-z-]{2,10}"

    def to_python(self, value: str) -> str:
        if value not in dict(settings.LANGUAGES):
            raise ValueError(value)
        return value

    def to_url(self, value: str) -> str:
        return value


class JavaScriptTranslations(JavaScriptCatalog):
    """JavaScript with ``gettext`` and related functions; its URL has the language, so shared caches can store it."""

    packages = ["projects"]

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with override(kwargs.pop("language")):
            response = super().get(request, *args, **kwargs)
        patch_cache_control(response, public=True, max_age=CACHE_SECONDS)
        return response

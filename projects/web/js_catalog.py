"""What scripts on pages say, in the languages of the site."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control
from django.utils.translation import override
from django.views.i18n import JavaScriptCatalog

#: How long a browser may keep a catalogue, in seconds.
KEPT = 3600


class Language:
    """A language of the site, in an address."""

    regex = "[a-z-]{2,10}"

    def to_python(self, value: str) -> str:
        if value not in dict(settings.LANGUAGES):
            raise ValueError(value)
        return value

    def to_url(self, value: str) -> str:
        return value


class Words(JavaScriptCatalog):
    """Defines ``gettext`` and its kin. The address says the language, so that everybody may be served one copy."""

    packages = ["projects"]

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        with override(kwargs.pop("language")):
            response = super().get(request, *args, **kwargs)
        patch_cache_control(response, public=True, max_age=KEPT)
        return response

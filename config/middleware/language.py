"""Choose the language of a response: the reader's for pages, English for programs."""

from django.conf import settings
from django.http import HttpRequest
from django.middleware.locale import LocaleMiddleware
from django.utils import translation

#: Responses to programs must not depend on the language preferences of their machine.
PROGRAM_PREFIXES = ("/api/", "/v1/", "/mcp")


class PageLanguageMiddleware(LocaleMiddleware):
    """Django's LocaleMiddleware, for pages only: the cookie, otherwise the browser's preference."""

    def process_request(self, request: HttpRequest) -> None:
        if not request.path_info.startswith(PROGRAM_PREFIXES):
            super().process_request(request)
            return
        translation.activate(settings.LANGUAGE_CODE)
        request.LANGUAGE_CODE = settings.LANGUAGE_CODE

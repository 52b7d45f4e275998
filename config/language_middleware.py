"""Which language a request is answered in: pages speak their reader's, programs get English."""

from django.conf import settings
from django.http import HttpRequest
from django.middleware.locale import LocaleMiddleware
from django.utils import translation

#: Where programs ask: what they read should not depend on whose machine they run on.
PROGRAMS = ("/api/", "/v1/", "/mcp")


class ReadersLanguage(LocaleMiddleware):
    """Django's, for pages: the choice in the cookie, else what the browser asks for."""

    def process_request(self, request: HttpRequest) -> None:
        """Choose, for as long as the request is answered."""
        if not request.path_info.startswith(PROGRAMS):
            super().process_request(request)
            return
        translation.activate(settings.LANGUAGE_CODE)
        request.LANGUAGE_CODE = settings.LANGUAGE_CODE

"""Static files, each answered whole: under ASGI a file that is read piece by piece would be read by the event loop."""

from contextlib import closing
from typing import Any

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # it has no types
    """WhiteNoise's, whose own answer is an iterator that Django's ASGI handler warns of. Our files are small."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        """The file, a part of it, or that it has not changed."""
        found = static_file.get_response(request.method, request.META)
        body = b""
        if found.file is not None:
            with closing(found.file) as file:
                body = file.read()
        response = HttpResponse(body, status=int(found.status))
        del response.headers["Content-Type"]  # WhiteNoise says it where there is one
        for name, value in found.headers:
            response.headers[name] = value
        return response

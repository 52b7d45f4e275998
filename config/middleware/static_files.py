"""Serve static files as whole responses: under ASGI, streaming a file would read it in the event loop."""

from contextlib import closing
from typing import Any

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # it has no types
    """WhiteNoise without its iterators, about which Django's ASGI handler warns. The files are small."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        """The file, a range of it, or 304."""
        file_response = static_file.get_response(request.method, request.META)
        body = b""
        if file_response.file is not None:
            with closing(file_response.file) as file:
                body = file.read()
        response = HttpResponse(body, status=int(file_response.status))
        del response.headers["Content-Type"]  # WhiteNoise sets it if there is one
        for name, value in file_response.headers:
            response.headers[name] = value
        return response

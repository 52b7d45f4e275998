"""The site: settings, Celery, URLs, ASGI and WSGI."""

from .celery import app as celery_app

__all__ = ["celery_app"]

"""The site: settings, Celery, URLs, ASGI."""

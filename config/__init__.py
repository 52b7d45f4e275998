"""The site: settings, Celery, URLs, ASGI and WSGI."""

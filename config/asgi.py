"""The ASGI entry point: `uvicorn config.asgi:application`."""

import os

from django.core.asgi import get_asgi_application

from config.serving import refuse_without_key

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
refuse_without_key()
application = get_asgi_application()

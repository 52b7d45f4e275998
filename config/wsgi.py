"""The WSGI entry point."""

import os

from django.core.wsgi import get_wsgi_application

from config.serving import refuse_without_key

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
refuse_without_key()
application = get_wsgi_application()

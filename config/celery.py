"""The Celery application. Everything about it is in the settings, named CELERY_…"""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("memorybank")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

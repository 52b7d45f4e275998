"""All addresses of the site."""

from django.contrib import admin
from django.urls import include, path

from config import health

admin.autodiscover()

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
    path("admin/", admin.site.urls),
    path("", include("projects.urls")),
]

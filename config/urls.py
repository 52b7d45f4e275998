"""All URLs of the site."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from config import health

admin.autodiscover()

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
    # The admin shares the site's pages for login and password changes.
    path("admin/login/", RedirectView.as_view(pattern_name="login", query_string=True), name="admin-login"),
    path("admin/password_change/", RedirectView.as_view(pattern_name="account"), name="admin-password"),
    path("admin/", admin.site.urls),
    path("", include("projects.urls")),
]

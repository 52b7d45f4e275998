"""Admin URLs with public ids of rows."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import URLPattern, path, register_converter

from memorybank.models import PublicId

ROW_PATH = "<path:object_id>"


class RowId(PublicId):
    """A path converter from a public id to a primary key as text, which the admin's views expect, and back."""

    def to_python(self, value: str) -> Any:
        return str(super().to_python(value))

    def to_url(self, value: int | str) -> str:
        return super().to_url(int(value))


register_converter(RowId, "row")


class PubliclyAddressed(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Serves Django's own admin views at URLs with public ids; Django's links follow, because they are reversed."""

    def get_urls(self) -> list[URLPattern]:
        return [
            path(str(url.pattern).replace(ROW_PATH, "<row:object_id>"), url.callback, url.default_args, url.name)
            for url in super().get_urls()
        ]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Remove the links to rows next to foreign keys: the browser would build their URLs from primary keys."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        registered = self.admin_site.is_registered(db_field.remote_field.model) if db_field.remote_field else False
        if (
            field
            and registered
            and isinstance(self.admin_site.get_model_admin(db_field.remote_field.model), PubliclyAddressed)
        ):
            widget = field.widget
            widget.can_change_related = widget.can_view_related = widget.can_delete_related = False
        return field

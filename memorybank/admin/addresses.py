"""Addresses of the admin that name rows by their public ids."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import URLPattern, path, register_converter

from memorybank.models import PublicId

ROW = "<path:object_id>"


class RowId(PublicId):
    """A path converter between a public id and an id as the admin's views take it, as text."""

    def to_python(self, value: str) -> Any:
        return str(super().to_python(value))

    def to_url(self, value: int | str) -> str:
        return super().to_url(int(value))


register_converter(RowId, "row")


class PubliclyAddressed(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Django's own views and links, which are reversed, under addresses with public ids."""

    def get_urls(self) -> list[URLPattern]:
        return [
            path(str(url.pattern).replace(ROW, "<row:object_id>"), url.callback, url.default_args, url.name)
            for url in super().get_urls()
        ]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Without the links beside a choice of rows: the browser would make their addresses of the rows' ids."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        registered = self.admin_site.is_registered(db_field.remote_field.model) if db_field.remote_field else False
        if (
            field
            and registered
            and isinstance(self.admin_site.get_model_admin(db_field.remote_field.model), PubliclyAddressed)
        ):
            field.widget.can_change_related = field.widget.can_view_related = False
        return field

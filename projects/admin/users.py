"""Accounts in the admin: deleting one says what becomes of its chats."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from projects.models import Conversation

admin.site.unregister(User)


@admin.register(User)
class AccountAdmin(UserAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Django's, with the chats of an account that is deleted."""

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Count the chats that are kept: nobody opens them afterwards, and memory keeps what it made of them."""
        shown, counts, forbidden, protected = super().get_deleted_objects(objs, request)
        chats = Conversation.objects.filter(owner__in=list(objs)).count()
        name = _("chats that stay, locked for everybody (to erase them, forget this author first)")
        return shown, {**counts, name: chats}, forbidden, protected

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Refuse before looking, so that nobody learns which accounts there are."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        return super().history_view(request, object_id, extra_context)

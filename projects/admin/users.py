"""Admin of accounts and groups. Deleting an account shows how many of its chats are kept."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from projects.models import Conversation

admin.site.unregister([User, Group])


class ClosedHistory:
    """Check permissions before looking up the object, so that the response does not reveal which objects exist."""

    def history_view(
        self: Any, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        answer: HttpResponse = super().history_view(request, object_id, extra_context)  # type: ignore[misc]
        return answer


@admin.register(Group)
class ClosedGroupAdmin(ClosedHistory, GroupAdmin):
    """Django's group admin, with the stricter history view."""


@admin.register(User)
class AccountAdmin(ClosedHistory, UserAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Django's user admin, with the stricter history view, and a count of chats on the deletion page."""

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Count the chats that are kept. Nobody can open them afterwards; the memory derived from them is kept."""
        shown, counts, forbidden, protected = super().get_deleted_objects(objs, request)
        chats = Conversation.objects.filter(owner__in=list(objs)).count()
        name = _("chats that stay, locked for everybody (to erase them, forget this author first)")
        return shown, {**counts, name: chats}, forbidden, protected

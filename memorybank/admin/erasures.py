"""Admin of erasure receipts, and of erasure requests from chats."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from memorybank import services
from memorybank.models import Erasure, ErasureRequest

from .scoping import BankFilter, BankScoped


@admin.register(Erasure)
class ErasureAdmin(BankScoped):
    """Receipts: how much was erased, when and by whom, but never the erased text."""

    list_display = ["at", "of_bank", "kind", "asked_by", "turns", "facts", "epoch"]
    list_filter = [BankFilter, "kind"]
    ordering = ["-pk"]
    fields = ["of_bank", "at", "kind", "asked_by", "epoch", "counts"]

    @admin.display(description=_("messages"))
    def turns(self, erasure: Erasure) -> int:
        return int(erasure.counts.get("turns", 0)) + int(erasure.counts.get("halves_of_turns", 0))

    @admin.display(description=_("facts"))
    def facts(self, erasure: Erasure) -> int:
        return int(erasure.counts.get("facts", 0))


@admin.register(ErasureRequest)
class ErasureRequestAdmin(BankScoped):
    """Erasure requests from chats. Their turns are excluded from memory already; staff erase or restore them."""

    list_display = ["state", "asked_at", "author", "turns", "closed_by", "of_bank"]
    list_display_links = ["asked_at"]
    list_filter = [BankFilter, "state"]
    ordering = ["-pk"]
    fields = ["of_bank", "asked_at", "author", "turns", "state", "closed_by", "closed_at"]
    actions = ["erase", "restore"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without objections to lines, which the review page shows."""
        return super().get_queryset(request).exclude(outputs=[])

    @admin.display(description=_("messages"))
    def turns(self, request: ErasureRequest) -> int:
        return len(request.outputs)

    @admin.action(description=_("Erase what the selected requests ask for"), permissions=["decide"])
    def erase(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        actor = request.user.get_username()
        erased = [services.grant_erasure_request(asked.bank, request_id=asked.pk, actor=actor) for asked in queryset]
        count = sum(map(len, erased))
        done = ngettext(
            "%(n)d message is erased; see the receipt.", "%(n)d messages are erased; see the receipts.", count
        )
        self.message_user(request, done % {"n": count}, messages.SUCCESS)

    @admin.action(description=_("Restore what the selected requests suppressed"), permissions=["decide"])
    def restore(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Reject the requests, because they were made by mistake or must not be granted."""
        actor = request.user.get_username()
        restored = sum(
            services.reject_erasure_request(asked.bank, request_id=asked.pk, actor=actor) for asked in queryset
        )
        done = ngettext(
            "%(n)d request is restored; the next sweep shows it.",
            "%(n)d requests are restored; the next sweep shows it.",
            restored,
        )
        self.message_user(request, done % {"n": restored}, messages.SUCCESS)

"""Chats, model calls and events: what waits, what failed, what it cost, who did what."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from memorybank import services
from memorybank.models import Chat, Event, LLMCall, MaskedValue

from .scoping import BankFilter, BankScoped, SetFilter


class ParkedFilter(SetFilter):
    """Given up on until somebody asks for a retry, or not."""

    title = "parked"
    parameter_name = "parked"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Chat]) -> QuerySet[Chat]:
        match self.value():
            case "yes" | "no":
                return queryset.filter(parked_at__isnull=self.value() == "no")
        return queryset


@admin.register(Chat)
class ChatAdmin(BankScoped):
    """What waits to be summarised, and what fails. Transcripts are not shown here."""

    list_display = ["name", "of_bank", "private", "pending_outputs", "due_at", "attempts", "last_error", "parked_at"]
    list_filter = [BankFilter, ParkedFilter, "private"]
    ordering = ["-last_output_at", "-pk"]
    fields = ["name", "key", "of_bank", "private", "last_output_at", "pending_outputs", "summarised_through"]
    fields += ["due_at", "leased_until", "attempts", "failed_since", "parked_at", "last_error"]
    actions = ["retry_parked"]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changelist = super().get_changelist_instance(request)
        changelist.result_list = _as_shown(changelist.result_list)
        return changelist

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Chat | None:
        chat: Chat | None = super().get_object(request, object_id, from_field)
        return _as_shown([chat])[0] if chat else None

    @admin.display(description="chat", ordering="key")
    def name(self, chat: Chat) -> str:
        return "private chat" if chat.private else str(chat)

    @admin.action(description="Retry the selected parked chats", permissions=["view"])
    def retry_parked(self, request: HttpRequest, queryset: QuerySet[Chat]) -> None:
        actor = request.user.get_username()
        retried = sum(
            services.retry_parked(chat.bank, actor=actor, chat_key=chat.key)
            for chat in queryset.filter(parked_at__isnull=False)
        )
        self.message_user(request, f"{retried} parked chats will be tried again.", messages.SUCCESS)


@admin.register(LLMCall)
class LLMCallAdmin(BankScoped):
    """What the models did and cost."""

    list_display = ["at", "of_bank", "purpose", "model", "prompt_tokens", "completion_tokens"]
    list_display += ["duration_ms", "cost", "outcome", "error"]
    list_filter = [BankFilter, "purpose", "outcome"]
    date_hierarchy = "at"
    ordering = ["-at", "-pk"]
    fields = ["of_bank", "at", "purpose", "model", "prompt_tokens", "completion_tokens"]
    fields += ["duration_ms", "cost", "outcome", "error"]


@admin.register(Event)
class EventAdmin(BankScoped):
    """Who did what to which bank."""

    list_display = ["at", "of_bank", "actor", "action", "detail"]
    list_filter = [BankFilter, "action"]
    fields = ["at", "of_bank", "actor", "action", "detail"]


def _as_shown(chats: Iterable[Chat]) -> list[Chat]:
    """Chats without secrets in their titles, which quote what was written in them; private ones without title."""
    shown = list(chats)
    maskers = MaskedValue.objects.maskers(chat.bank for chat in shown)
    for chat in shown:
        chat.title = "" if chat.private else maskers[chat.bank_id].mask(chat.title)
    return shown

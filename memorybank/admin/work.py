"""Admin of chats, model calls, events and jobs: pending and failed work, costs, and the audit log."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.i18n import grouped
from memorybank.models import Chat, Event, Job, LLMCall, MaskedValue

from .scoping import BankFilter, BankScoped, SetFilter

#: The lines of an event that are linked; one event may be about thousands.
MAX_LINKED_LINES = 5


class ParkedFilter(SetFilter):
    title = _("parked")
    parameter_name = "parked"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Chat]) -> QuerySet[Chat]:
        match self.value():
            case "yes" | "no":
                return queryset.filter(parked_at__isnull=self.value() == "no")
        return queryset


@admin.register(Chat)
class ChatAdmin(BankScoped):
    """Chats with their state of summarising and last error, without their transcripts."""

    list_display = ["state", "last_error", "name", "pending_outputs", "due_at", "of_bank"]
    list_display_links = ["name"]
    list_filter = [BankFilter, ParkedFilter, "private"]
    ordering = ["-pk"]  # an index of all banks' chats by their last turn would be written with every turn
    fields = ["state", "last_error", "name", "key", "of_bank", "private", "last_output_at", "pending_outputs"]
    fields += ["summarised_through", "due_at", "leased_until", "attempts", "failed_since", "parked_at"]
    actions = ["summarise_now", "retry_parked"]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changelist = super().get_changelist_instance(request)
        changelist.result_list = _mask_titles(changelist.result_list)
        return changelist

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Chat | None:
        chat: Chat | None = super().get_object(request, object_id, from_field)
        return _mask_titles([chat])[0] if chat else None

    @admin.display(description=_("state"), ordering="-attempts")
    def state(self, chat: Chat) -> str:
        if chat.private or chat.parked_at:
            return gettext("private") if chat.private else gettext("parked after %(n)d") % {"n": chat.attempts}
        if not (chat.pending_outputs or chat.stale):
            return gettext("settled")
        if not chat.bank.enabled:
            return gettext("waits: memory is off")
        return gettext("failed %(n)d ×") % {"n": chat.attempts} if chat.attempts else gettext("waits")

    @admin.display(description=_("chat"), ordering="key")
    def name(self, chat: Chat) -> str:
        return gettext("private chat") if chat.private else str(chat)

    @admin.action(description=_("Summarise the selected chats now"), permissions=["view"])
    def summarise_now(self, request: HttpRequest, queryset: QuerySet[Chat]) -> None:
        actor, chosen = request.user.get_username(), defaultdict(list)
        for chat in queryset:
            chosen[chat.bank].append(chat.pk)
        try:
            for bank, chats in chosen.items():
                services.request_job(bank, Job.Kind.SUMMARISE, chats=chats, actor=actor)
            self.message_user(request, gettext("Requested. A worker begins with it at once."), messages.SUCCESS)
        except InvalidInput as error:
            self.message_user(request, str(error), messages.ERROR)

    @admin.action(description=_("Retry the selected parked chats"), permissions=["view"])
    def retry_parked(self, request: HttpRequest, queryset: QuerySet[Chat]) -> None:
        actor = request.user.get_username()
        retried = sum(
            services.retry_parked(chat.bank, actor=actor, chat_key=chat.key)
            for chat in queryset.filter(parked_at__isnull=False)
        )
        done = ngettext("%(n)d parked chat will be tried again.", "%(n)d parked chats will be tried again.", retried)
        self.message_user(request, done % {"n": retried}, messages.SUCCESS)


@admin.register(LLMCall)
class LLMCallAdmin(BankScoped):
    list_display = ["outcome", "error", "at", "purpose", "cost", "tokens", "seconds", "model", "of_bank"]
    list_display_links = ["at"]
    list_filter = [BankFilter, "purpose", "outcome"]
    date_hierarchy = "at"
    ordering = ["-at", "-pk"]
    fields = ["outcome", "error", "of_bank", "at", "purpose", "model", "prompt_tokens", "completion_tokens"]
    fields += ["duration_ms", "cost"]

    @admin.display(description=_("tokens"), ordering="prompt_tokens")
    def tokens(self, call: LLMCall) -> str:
        return f"{grouped(call.prompt_tokens)} → {grouped(call.completion_tokens)}"

    @admin.display(description=_("seconds"), ordering="duration_ms")
    def seconds(self, call: LLMCall) -> str:
        return number_format(call.duration_ms / 1000, 1)


@admin.register(Event)
class EventAdmin(BankScoped):
    list_display = ["at", "actor", "did", "of_bank"]
    list_filter = [BankFilter, "action"]
    fields = ["at", "of_bank", "actor", "did", "what", "number", "seal"]

    @admin.display(description=_("did"), ordering="action")
    def did(self, event: Event) -> str:
        """In words, with links to the lines and the receipt that it is about."""
        detail = event.detail
        facts = detail.get("facts", [detail["fact"]] if "fact" in detail else [])
        facts = facts[:MAX_LINKED_LINES] if isinstance(facts, list) else []  # the event of an erasure has a number here
        pages = [("fact", number, gettext("line %(n)d") % {"n": place}) for place, number in enumerate(facts, 1)]
        if "receipt" in detail:
            pages.append(("erasure", detail["receipt"], gettext("receipt")))
        links = [(reverse(f"admin:memorybank_{model}_change", args=[number]), text) for model, number, text in pages]
        linked = format_html_join(", ", '<a href="{}">{}</a>', links)
        return format_html("{} · {}", event.words(), linked) if links else event.words()


@admin.register(Job)
class JobAdmin(BankScoped):
    list_display = ["progress", "kind", "asked_by", "asked_at", "finished_at", "of_bank"]
    list_filter = [BankFilter, "kind"]
    fields = ["progress", "kind", "asked_by", "asked_at", "finished_at", "total", "of_bank"]

    @admin.display(description=_("state"), ordering="percent")
    def progress(self, job: Job) -> str:
        return gettext("done") if job.finished_at else f"{job.percent} %"


def _mask_titles(chats: Iterable[Chat]) -> list[Chat]:
    """Mask secrets in the chats' titles, which quote messages, and remove the titles of private chats."""
    shown = list(chats)
    maskers = MaskedValue.objects.maskers(chat.bank for chat in shown)
    for chat in shown:
        chat.title = "" if chat.private else maskers[chat.bank_id].mask(chat.title)
    return shown

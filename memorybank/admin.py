"""The memory in the admin, to look at: what the model is told, why, what waits, and what it cost."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, Prefetch, QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat
from django.http import HttpRequest
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.module_loading import import_string
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from . import conf, services
from .models import Bank, Chat, Entry, Event, Fact, Granularity, LLMCall, Output

WITHHELD = "(rests on a chat that is private now)"


def banks_for(request: HttpRequest) -> QuerySet[Bank]:
    """The banks this staff member may see, each with a ``label``: what ``BANKS_FOR_USER`` says, else all."""
    path = conf.current().banks_for_user
    banks: QuerySet[Bank] = import_string(path)(request.user) if path else Bank.objects.all()
    if "label" in banks.query.annotations:
        return banks
    return banks.annotate(label=Concat(Value("bank "), Cast("pk", TextField()), output_field=TextField()))


class BankFilter(admin.SimpleListFilter):
    """By bank. Only those the person may see are offered."""

    title = "bank"
    parameter_name = "bank"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        self.lookup = model_admin.bank_lookup
        banks = banks_for(request).order_by("label").values_list("pk", "label")
        return [(str(pk), label) for pk, label in banks]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        known = {pk for pk, _ in self.lookup_choices}
        return queryset.filter(**{self.lookup: self.value()}) if self.value() in known else queryset


class SetFilter(admin.SimpleListFilter):
    """Whether a text or a time is set."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Yes"), ("no", "No")]


class QuarantineFilter(SetFilter):
    """Held back from the model, or not."""

    title = "held back"
    parameter_name = "quarantined"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Fact]) -> QuerySet[Fact]:
        match self.value():
            case "yes":
                return queryset.exclude(quarantine="")
            case "no":
                return queryset.filter(quarantine="")
        return queryset


class ParkedFilter(SetFilter):
    """Given up on until somebody asks for a retry, or not."""

    title = "parked"
    parameter_name = "parked"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Chat]) -> QuerySet[Chat]:
        match self.value():
            case "yes" | "no":
                return queryset.filter(parked_at__isnull=self.value() == "no")
        return queryset


class BankScoped(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Looking only, and only at one's own banks; every page reaches its objects through ``get_queryset``.

    With ``BANKS_FOR_USER`` set, being staff is enough and that function decides; without it, Django's
    own view permissions do.
    """

    bank_lookup = "bank"
    show_full_result_count = False
    list_per_page = 50

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        banks = banks_for(request)
        own = super().get_queryset(request).filter(**{f"{self.bank_lookup}__in": banks.values("pk")})
        return own if self.bank_lookup == "pk" else own.prefetch_related(Prefetch(self.bank_lookup, banks))

    @admin.display(description="bank")
    def of_bank(self, obj: Any) -> str:
        return str(obj.bank.label)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if conf.current().banks_for_user:
            return bool(request.user.is_staff)
        return super().has_view_permission(request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Bank)
class BankAdmin(BankScoped):
    """What the model is told, exactly. Settings are changed where the outer application shows them."""

    bank_lookup = "pk"
    list_display = ["of_bank", "enabled", "size", "timezone"]
    list_filter = ["enabled"]
    fields = ["of_bank", "enabled", "size", "told", "origins", "figures", "trouble"]
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Bank]:
        """The labelled banks themselves; there is nothing to join them from."""
        return banks_for(request).order_by("label")

    @admin.display(description="bank", ordering="label")
    def of_bank(self, obj: Any) -> str:
        return str(obj.label)

    @admin.display(description="Tokens of budget")
    def size(self, bank: Bank) -> str:
        used = bank.block_tokens if bank.enabled else 0
        return f"{used:,} of {bank.max_tokens:,} ({used / bank.max_tokens:.0%})"

    @admin.display(description="What the model is told")
    def told(self, bank: Bank) -> SafeString:
        block, _ = services.prompt_block(bank.pk)
        if not block:
            return format_html("{}", "Nothing yet." if bank.enabled else "Nothing: memory is off.")
        return format_html('<pre class="memory-block" tabindex="0">{}</pre>', block)

    @admin.display(description="Where each line comes from")
    def origins(self, bank: Bank) -> SafeString | str:
        lines = services.render(bank).lines
        rows = ((line.period, line.text, _facts(line.facts), len(line.citations)) for line in lines)
        listed = format_html_join("", "<li><em>{}</em> {} <span>({}; turns cited: {})</span></li>", rows)
        return format_html('<ul class="memory-list">{}</ul>', listed) if lines else "–"

    @admin.display(description="In numbers")
    def figures(self, bank: Bank) -> SafeString:
        rows = ((name.replace("_", " "), value) for name, value in _flat(asdict(services.statistics(bank))))
        return format_html('<dl class="memory-figures">{}</dl>', _joined("<div><dt>{}</dt><dd>{}</dd></div>", rows))

    @admin.display(description="Trouble")
    def trouble(self, bank: Bank) -> str:
        return bank.last_error or "none"


@admin.register(Entry)
class EntryAdmin(BankScoped):
    """Summaries: of a chat, a day, a week, a month."""

    list_display = ["__str__", "of_bank", "granularity", "turns", "fact_count", "tokens", "method", "rolled_up"]
    list_filter = [BankFilter, "granularity", "provisional"]
    ordering = ["-period_start", "-pk"]
    fields = ["of_bank", "granularity", "period_start", "turns", "first_at", "last_at", "tokens", "method"]
    fields += ["provisional", "parent_link", "children_links", "facts_list"]
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Entry]:
        shared = super().get_queryset(request).exclude(chat__private=True)
        return shared.annotate(fact_total=Count("facts")).select_related("parent")

    @admin.display(description="turns", ordering="output_count")
    def turns(self, entry: Entry) -> int:
        return entry.output_count

    @admin.display(description="facts", ordering="fact_total")
    def fact_count(self, entry: Any) -> int:
        return int(entry.fact_total)

    @admin.display(description="rolled up", boolean=True)
    def rolled_up(self, entry: Entry) -> bool:
        return entry.parent_id is not None

    @admin.display(description="Rolled up into")
    def parent_link(self, entry: Entry) -> SafeString | str:
        return _link(entry.parent, str(entry.parent)) if entry.parent else "–"

    @admin.display(description="Made from")
    def children_links(self, entry: Entry) -> SafeString | str:
        children = entry.children.exclude(chat__private=True).in_order()
        return _joined("{} ", [(_link(child, str(child)),) for child in children]) or "the turns of one chat"

    @admin.display(description="Facts")
    def facts_list(self, entry: Entry) -> SafeString | str:
        facts = _marked(entry.facts.select_related("entry").order_by("position"))
        return format_html('<ul class="memory-list">{}</ul>', _joined("<li>{}</li>", [(_line(f),) for f in facts]))


@admin.register(Fact)
class FactAdmin(BankScoped):
    """The lines of memory, and for each: why does it say this?"""

    bank_lookup = "entry__bank"
    list_display = ["line", "kind", "speaker", "said_on", "granularity", "of_bank", "state"]
    list_filter = [BankFilter, QuarantineFilter, "kind", "entry__granularity", "pinned", "hidden"]
    list_select_related = ["entry"]
    search_fields = ["text", "speaker"]
    ordering = ["-pk"]
    fields = ["line", "state", "kind", "speaker", "said_on", "of_bank", "entry_link", "tokens", "weight"]
    fields += ["detail", "edited_by", "why"]
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Fact]:
        return super().get_queryset(request).exclude(entry__chat__private=True)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changelist = super().get_changelist_instance(request)
        changelist.result_list = _marked(changelist.result_list)
        return changelist

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Fact | None:
        fact: Fact | None = super().get_object(request, object_id, from_field)
        return _marked([fact])[0] if fact else None

    @admin.display(description="fact", ordering="text")
    def line(self, fact: Any) -> str:
        return WITHHELD if fact.withheld else fact.text

    @admin.display(description="state")
    def state(self, fact: Fact) -> SafeString | str:
        if fact.quarantine:
            return format_html('<strong class="held-back">held back: {}</strong>', fact.quarantine)
        marks = {"pinned": fact.pinned, "hidden": fact.hidden, "replaced": fact.superseded_by_id}
        return ", ".join(name for name, holds in marks.items() if holds) or "shown when it fits"

    @admin.display(description="granularity", ordering="entry__granularity")
    def granularity(self, fact: Fact) -> str:
        return fact.entry.get_granularity_display()

    @admin.display(description="bank")
    def of_bank(self, obj: Any) -> str:
        return str(obj.entry.bank.label)

    @admin.display(description="In the summary")
    def entry_link(self, fact: Fact) -> SafeString:
        return _link(fact.entry, str(fact.entry))

    @admin.display(description="Why does it say this?")
    def why(self, fact: Any) -> SafeString | str:
        return WITHHELD if fact.withheld else _explained(services.explain(fact.entry.bank, fact_id=fact.pk))


@admin.register(Chat)
class ChatAdmin(BankScoped):
    """What waits to be summarised, and what fails. Transcripts are not shown here."""

    list_display = ["name", "of_bank", "private", "pending_outputs", "due_at", "attempts", "last_error", "parked_at"]
    list_filter = [BankFilter, ParkedFilter, "private"]
    ordering = ["-last_output_at", "-pk"]
    fields = ["name", "key", "of_bank", "private", "last_output_at", "pending_outputs", "summarised_through"]
    fields += ["due_at", "leased_until", "attempts", "failed_since", "parked_at", "last_error"]
    readonly_fields = fields
    actions = ["retry_parked"]

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

    list_display = ["at", "of_bank", "purpose", "model", "prompt_tokens", "completion_tokens", "duration_ms"]
    list_display += ["outcome", "error", "cost"]
    list_filter = [BankFilter, "purpose", "outcome"]
    date_hierarchy = "at"
    ordering = ["-at", "-pk"]
    fields = ["of_bank", *(name for name in list_display if name != "of_bank")]
    readonly_fields = fields


@admin.register(Event)
class EventAdmin(BankScoped):
    """Who did what to which bank."""

    list_display = ["at", "of_bank", "actor", "action", "detail"]
    list_filter = [BankFilter, "action"]
    fields = list_display
    readonly_fields = fields


def _marked(facts: Iterable[Fact]) -> list[Fact]:
    """The facts, each told whether it is ``withheld``: private now, or resting on something that is."""
    marked: list[Any] = list(facts)
    leaf = {fact.pk for fact in marked if fact.entry.granularity == Granularity.CONVERSATION}
    rest_on = {fact.pk: {fact.pk} if fact.pk in leaf else set(fact.citations) for fact in marked}
    private = Fact.objects.filter(pk__in=set().union(*rest_on.values()), entry__chat__private=True)
    withheld = set(private.values_list("pk", flat=True))
    for fact in marked:
        fact.withheld = not withheld.isdisjoint(rest_on[fact.pk])
    return marked


def _explained(explanation: services.Explanation) -> SafeString:
    """The facts a digest's line rests on, and every turn, as they were said."""
    turns = _joined("{}", [(_turn(output),) for output in explanation.outputs])
    if explanation.fact.entry.granularity == Granularity.CONVERSATION:
        return format_html('<div class="memory-why">{}</div>', turns)
    facts = _joined("<li>{}</li>", [(_line(fact),) for fact in _marked(explanation.facts)])
    return format_html(
        '<div class="memory-why"><p>It rests on these facts:</p><ul class="memory-list">{}</ul>'
        "<p>which rest on these turns:</p>{}</div>",
        facts,
        turns,
    )


def _turn(output: Output) -> SafeString:
    """One turn as it was said; not, if its chat has been made private."""
    if output.chat.private:
        return format_html("<article><p>{}</p></article>", WITHHELD)
    said = ((output.author, output.question), ("assistant", output.answer))
    return format_html(
        '<article><p>Turn {} of “{}”, <time datetime="{}">{}</time></p><dl>{}</dl></article>',
        output.pk,
        output.chat,
        output.created_at.isoformat(),
        date_format(localtime(output.created_at), "j M Y, H:i"),
        _joined("<dt>{}</dt><dd>{}</dd>", [(speaker, text) for speaker, text in said if text]),
    )


def _line(fact: Any) -> SafeString:
    text = WITHHELD if fact.withheld else fact.text
    held = format_html(' <strong class="held-back">held back: {}</strong>', fact.quarantine) if fact.quarantine else ""
    return format_html("<em>{}</em> {}{}", fact.get_kind_display(), _link(fact, text), held)


def _link(obj: Any, text: str) -> SafeString:
    address = reverse(f"admin:memorybank_{obj._meta.model_name}_change", args=[obj.pk])
    return format_html('<a href="{}">{}</a>', address, text)


def _facts(pks: Iterable[int]) -> SafeString:
    addresses = ((reverse("admin:memorybank_fact_change", args=[pk]), pk) for pk in pks)
    return format_html_join(", ", '<a href="{}">fact {}</a>', addresses)


def _joined(template: str, rows: Iterable[tuple[Any, ...]]) -> SafeString:
    return format_html_join("", template, rows)


def _flat(figures: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in figures.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", value

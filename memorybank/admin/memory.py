"""Admin of banks, entries and facts: the memory in models' prompts, and its sources."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, OuterRef, Prefetch, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from memorybank import services
from memorybank.i18n import grouped
from memorybank.models import Bank, Entry, Fact, KeptFact, StoredBlock

from .author_records import author_records
from .explanations import WITHHELD, explanation_html, link, links, mark_withheld, render_part
from .job_buttons import JobButtonsMixin
from .scoping import BankFilter, BankScoped, SetFilter, banks_for, label


@admin.register(Bank)
class BankAdmin(JobButtonsMixin, BankScoped):
    """A bank's memory, exactly as in models' prompts. Its settings are changed in the outer application."""

    bank_lookup = "pk"
    list_display = ["of_bank", "enabled", "last_error", "size", "timezone"]
    list_filter = ["enabled"]
    fields = ["of_bank", "enabled", "current_error", "work", "size", "block", "origins", "figures"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Bank]:
        banks = banks_for(request).order_by("label")  # type: ignore[misc]  # an annotation
        return banks.annotate(block_tokens=StoredBlock.current_tokens("pk"))

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Show the bank's label in the heading instead of its id."""
        return super().render_change_form(request, {**context, "subtitle": label(context["original"])}, *args, **kwargs)

    @admin.display(description=_("bank"), ordering="label")
    def of_bank(self, obj: Any) -> str:
        return label(obj)

    @admin.display(description=_("Tokens of budget"))
    def size(self, bank: Any) -> str:
        used = bank.block_tokens or 0 if bank.enabled else 0
        share = round(100 * used / bank.max_tokens)
        values = {"used": grouped(used), "budget": grouped(bank.max_tokens), "share": share}
        return gettext("%(used)s of %(budget)s (%(share)d %%)") % values

    @admin.display(description=_("What the model gets"))
    def block(self, bank: Bank) -> SafeString | str:
        block = services.prompt_memory(bank).block
        if not block.text:
            return gettext("Nothing yet.") if bank.enabled else gettext("Nothing: memory is off.")
        return render_part("block", text=block.text)

    @admin.display(description=_("Where each line comes from"))
    def origins(self, bank: Bank) -> SafeString | str:
        lines = services.prompt_memory(bank).block.lines
        return render_part("origins", lines=lines) if lines else "–"

    @admin.display(description=_("In numbers"))
    def figures(self, bank: Bank) -> SafeString:
        figures = _flat(asdict(services.statistics(bank)))
        return render_part("figures", rows=[(gettext(name.replace("_", " ")), value) for name, value in figures])

    @admin.display(description=_("Trouble"))
    def current_error(self, bank: Bank) -> str:
        return bank.last_error or gettext("none")


class QuarantineFilter(SetFilter):
    title = _("quarantined")
    parameter_name = "quarantined"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Fact]) -> QuerySet[Fact]:
        match self.value():
            case "yes":
                return queryset.exclude(quarantine="")
            case "no":
                return queryset.filter(quarantine="")
        return queryset


@admin.register(Entry)
class EntryAdmin(BankScoped):
    list_display = ["__str__", "of_bank", "granularity", "turns", "fact_count", "tokens", "method", "rolled_up"]
    list_filter = [BankFilter, "granularity", "provisional"]
    ordering = ["-period_start", "-pk"]
    fields = ["of_bank", "granularity", "period_start", "turns", "first_at", "last_at", "tokens", "method"]
    fields += ["dropped_lines", "left_out", "provisional", "parent_link", "children_links", "facts_list"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        shared: Any = super().get_queryset(request)
        # A subquery is counted for the entries of one page, a join for all before the page is chosen.
        own = Fact.objects.filter(entry=OuterRef("pk")).visible_to().order_by().values("entry")
        facts = Coalesce(Subquery(own.annotate(rows=Count("pk")).values("rows")), 0)
        entries: QuerySet[Entry] = shared.visible_to().annotate(fact_total=facts)
        kept = Prefetch("kept_links", KeptFact.objects.filter(fact__entry__chat__private=False))
        return entries.select_related("parent").prefetch_related(kept)

    @admin.display(description=_("messages"), ordering="output_count")
    def turns(self, entry: Entry) -> int:
        return entry.output_count

    @admin.display(description=_("facts"), ordering="fact_total")
    def fact_count(self, entry: Any) -> int:
        return int(entry.fact_total) + len(entry.kept_links.all())

    @admin.display(description=_("in a summary"), boolean=True)
    def rolled_up(self, entry: Entry) -> bool:
        return entry.parent_id is not None

    @admin.display(description=_("Summarised in"))
    def parent_link(self, entry: Entry) -> SafeString | str:
        return link(entry.parent, str(entry.parent)) if entry.parent else "–"

    @admin.display(description=_("Made from"))
    def children_links(self, entry: Entry) -> SafeString | str:
        children = entry.children.visible_to().in_order()
        return links(children, between=" ") or gettext("the messages of one chat")

    @admin.display(description=_("Facts"))
    def facts_list(self, entry: Entry) -> SafeString | str:
        """The entry's own facts, then the leaf facts that a digest keeps unchanged."""
        own = entry.facts.filter(withdrawn=False).select_related("entry").order_by("position")
        kept = entry.kept.filter(entry__chat__private=False).select_related("entry").order_by("kept_links")
        return render_part("facts", facts=mark_withheld([*own, *kept]))


@admin.register(Fact)
class FactAdmin(BankScoped):
    """The lines of memory, each with its sources."""

    list_display = ["state", "line", "kind", "said_by", "said_on", "author_record", "of_bank"]
    list_display_links = ["line"]
    list_filter = [BankFilter, QuarantineFilter, "kind", "entry__granularity", "pinned", "hidden"]
    list_select_related = ["entry"]
    search_fields = ["text", "speaker"]
    ordering = ["-pk"]
    fields = ["line", "state", "kind", "said_by", "said_on", "of_bank", "entry_link", "tokens", "weight"]
    fields += ["detail", "edited_by", "released_by", "why"]
    actions = ["release"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Fact]:
        facts: Any = super().get_queryset(request)
        shared: QuerySet[Fact] = facts.visible_to()
        return shared

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[Any], search_term: str) -> Any:
        """Exclude withheld lines from the results of a search: otherwise a search would reveal their words."""
        facts, may_repeat = super().get_search_results(request, queryset, search_term)
        if not search_term:
            return facts, may_repeat
        private = Entry.objects.filter(chat__private=True, bank__in=banks_for(request).values("pk"))
        digested: list[Any] = mark_withheld(facts.filter(entry__in=private.above()))
        return facts.exclude(pk__in=[fact.pk for fact in digested if fact.withheld]), may_repeat

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changelist = super().get_changelist_instance(request)
        changelist.result_list = author_records(mark_withheld(changelist.result_list))
        return changelist

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Fact | None:
        fact: Fact | None = super().get_object(request, object_id, from_field)
        if fact is None:
            return None
        fact.reader = request.user.get_username()  # type: ignore[attr-defined]  # for the audit log
        return mark_withheld([fact])[0]

    @admin.display(description=_("fact"))  # not sortable: a withheld line's position would reveal its beginning
    def line(self, fact: Any) -> str:
        return str(WITHHELD) if fact.withheld else fact.text

    @admin.display(description=_("speaker"))
    def said_by(self, fact: Any) -> str:
        return "" if fact.withheld else fact.speaker

    @admin.display(description=_("state"))
    def state(self, fact: Fact) -> SafeString | str:
        if fact.quarantine:
            return render_part("quarantined", fact=fact)
        marks = {
            gettext("pinned"): fact.pinned,
            gettext("hidden"): fact.hidden,
            gettext("replaced"): fact.superseded_by_id,
        }
        return ", ".join(str(name) for name, holds in marks.items() if holds) or gettext("in memory")

    @admin.display(description=_("quarantined of the same author"))
    def author_record(self, fact: Any) -> str:
        return "" if fact.withheld else str(fact.author_record)

    @admin.action(description=_("Release the selected lines"), permissions=["decide"])
    def release(self, request: HttpRequest, queryset: QuerySet[Fact]) -> None:
        """Release the lines, except lines based on a private chat, which stay quarantined."""
        actor = request.user.get_username()
        quarantined: list[Any] = mark_withheld(queryset.exclude(quarantine=""))
        visible = [fact for fact in quarantined if not fact.withheld]
        banks = {fact.bank_id: fact.bank for fact in visible}
        released = sum(
            services.release(bank, fact_ids=[fact.pk for fact in visible if fact.bank_id == pk], actor=actor)
            for pk, bank in banks.items()
        )
        done = ngettext(
            "%(n)d line is released; the next sweep shows it.",
            "%(n)d lines are released; the next sweep shows them.",
            released,
        )
        self.message_user(request, done % {"n": released}, messages.SUCCESS)

    @admin.display(description=_("In the summary"))
    def entry_link(self, fact: Fact) -> SafeString:
        return link(fact.entry, str(fact.entry))

    @admin.display(description=_("Why does it say this?"))
    def why(self, fact: Any) -> SafeString | str:
        if fact.withheld:
            return str(WITHHELD)
        return explanation_html(services.explain(fact.bank, fact_id=fact.pk, actor=fact.reader))


def _flat(figures: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in figures.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", value

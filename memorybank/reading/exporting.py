"""Export a bank as rows for JSON Lines: its memory without hidden facts, and the chats and turns it was made from."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple, Self

from django.db.models import QuerySet

from memorybank.audit import log
from memorybank.clock import PRESENT, at_present
from memorybank.data_inventory import TABLES, StoredTable
from memorybank.models import NOBODY, AnswerRating, Bank, Chat, Entry, Event, Fact, Granularity, Output

#: Rows read at once.
ROWS_PER_QUERY = 2_000
ENTRY_FIELDS = ("output_count", "first_at", "last_at", "tokens", "method", "provisional")


@at_present
def export(
    bank: Bank,
    *,
    actor: str,
    chats: QuerySet[Chat] | None = None,
    viewer: str = NOBODY,
    now: datetime = PRESENT,
) -> Iterator[dict[str, Any]]:
    """Everything in a bank that ``viewer`` may read, row by row; the audit log records the export at once.

    With ``chats``, only the titles and turns of these. The first row says how many private chats are left out.
    """
    log(bank, actor, Event.Action.EXPORT, now)
    visible = bank.chats.visible_to(viewer)
    return _rows(bank, visible if chats is None else visible.filter(pk__in=chats.values("pk")), viewer)


def _rows(bank: Bank, chats: QuerySet[Chat], viewer: str) -> Iterator[dict[str, Any]]:
    """The rows as mappings with their ``type``: bank, chat, output, entry, fact; in an order that suits readers."""
    numbers = Numbers.of(bank, chats, viewer)
    for table in TABLES:
        if table.model is Bank:
            left_out = bank.chats.filter(private=True).exclude(pk__in=bank.chats.visible_to(viewer)).count()
            yield from ({**row, "private_chats_left_out": left_out} for row in _section(table, table.rows(bank)))
        elif table.model is Fact:
            yield from _memory(bank, viewer, table, numbers)
        elif table.model is Output:
            yield from _section(table, table.rows(bank).filter(chat__in=chats), numbers.outputs, order="sequence")
        elif table.model is AnswerRating:
            yield from _ratings(table, table.rows(bank).filter(output__chat__in=chats), numbers)
        elif table.section:
            rows = table.rows(bank)
            yield from _section(table, rows.filter(pk__in=chats) if table.model is Chat else rows)


def _section(
    table: StoredTable, rows: QuerySet[Any], numbers: Mapping[int, int] | None = None, order: str = "pk"
) -> Iterator[dict[str, Any]]:
    """The exported columns of a table's rows; with ``numbers``, each row has its number as ``id``."""
    exported = rows.order_by(order).values_list("pk", *table.exported.values())
    for pk, *values in exported.iterator():
        number = {"id": numbers[pk]} if numbers else {}
        row = {"type": table.section, **number, **dict(zip(table.exported, values, strict=True))}
        yield {**row, "answer": "", "messages": []} if row.pop("quotes_private", False) else row


def _memory(bank: Bank, viewer: str, table: StoredTable, numbers: "Numbers") -> Iterator[dict[str, Any]]:
    """Entries, then their facts."""
    entries = bank.entries.visible_to(viewer).select_related("chat").prefetch_related("kept_links")
    for entry in entries.in_order().iterator(ROWS_PER_QUERY):
        yield _entry(entry, numbers)
    for fact in (
        bank.facts.select_related("entry").with_citations().order_by("entry_id", "position").iterator(ROWS_PER_QUERY)
    ):
        if fact.pk in numbers.facts:
            yield _fact(fact, table, numbers)


def _ratings(table: StoredTable, rows: QuerySet[Any], numbers: "Numbers") -> Iterator[dict[str, Any]]:
    """Ratings of answers, with the number of the rated output."""
    for row in _section(table, rows):
        yield {**row, "output": numbers.outputs[row.pop("output_id")]}


class Numbers(NamedTuple):
    """The ids in an export, 1, 2, 3, … in order, because database ids count the rows of all banks."""

    outputs: dict[int, int]
    entries: dict[int, int]
    facts: dict[int, int]

    @classmethod
    def of(cls, bank: Bank, chats: QuerySet[Chat], viewer: str) -> Self:
        """Number the outputs of ``chats``, and the bank's entries and facts that ``viewer`` may read."""
        # A tenant must not learn from ids how much others have written.
        turns = Output.objects.filter(chat__bank=bank, chat__in=chats)
        outputs = turns.order_by("sequence").values_list("pk", flat=True)
        entries = bank.entries.visible_to(viewer).values_list("pk", flat=True)
        return cls(_numbered(outputs), _numbered(sorted(entries)), _numbered(sorted(_exported_facts(bank, viewer))))


def _numbered(ids: Iterable[int]) -> dict[int, int]:
    return {pk: number for number, pk in enumerate(ids, 1)}


def _exported_facts(bank: Bank, viewer: str) -> Iterable[int]:
    """Ids of the facts that are not hidden, without lines of digests that rest on a hidden fact."""
    return bank.facts.visible_to(viewer).filter(hidden=False).exclude(sources__hidden=True).values_list("pk", flat=True)


def _entry(entry: Entry, numbers: Numbers) -> dict[str, Any]:
    granularity = Granularity(entry.granularity)
    return {
        "type": "entry",
        "id": numbers.entries[entry.pk],
        "granularity": granularity.value,
        "period": granularity.period.key(entry.period_start),
        "chat": entry.chat.key if entry.chat else None,
        "parent": numbers.entries.get(entry.parent_id or 0),
        **{name: getattr(entry, name) for name in ENTRY_FIELDS},
        # Without hidden facts: an export must not refer to a fact that it does not contain.
        "kept": [numbers.facts[link.fact_id] for link in entry.kept_links.all() if link.fact_id in numbers.facts],
    }


def _fact(fact: Fact, table: StoredTable, numbers: Numbers) -> dict[str, Any]:
    """A fact as a row: a leaf's fact cites outputs, a digest's fact cites facts of leaves."""
    cited = numbers.outputs if fact.entry.is_leaf else numbers.facts
    return {
        "type": table.section,
        "id": numbers.facts[fact.pk],
        "entry": numbers.entries[fact.entry_id],
        **{name: getattr(fact, column) for name, column in table.exported.items()},
        "citations": [cited[pk] for pk in fact.citations if pk in cited],
    }

"""A bank as JSON Lines: everything that is remembered and what it was made from."""

from collections.abc import Iterator
from typing import Any

from memorybank.core.periods import period_key
from memorybank.models import Bank, Entry, Granularity, Output

ENTRY_FIELDS = ("output_count", "first_at", "last_at", "tokens", "method", "provisional", "kept")
FACT_FIELDS = (
    "position kind text speaker said_on tokens weight detail citations pinned hidden edited_by quarantine"
).split()


def rows(bank: Bank) -> Iterator[dict[str, Any]]:
    """One mapping a row, each with its ``type``: bank, chat, output, entry, fact; in an order fit for reading."""
    settings = ("enabled", "max_tokens", "idle_minutes", "timezone", "focus", "redact_personal")
    yield {"type": "bank", **{name: getattr(bank, name) for name in settings}}
    for chat in bank.chats.order_by("pk").iterator():
        yield {"type": "chat", "chat": chat.key, "title": chat.title, "private": chat.private}
    for output in Output.objects.filter(chat__bank=bank).select_related("chat").order_by("pk").iterator():
        yield _output(output)
    for entry in bank.entries.select_related("chat").in_order().iterator():
        yield _entry(entry)
    for fact in bank.facts.order_by("entry_id", "position").iterator():
        values = {name: getattr(fact, name) for name in FACT_FIELDS}
        yield {"type": "fact", "id": fact.pk, "entry": fact.entry_id, **values}


def _output(output: Output) -> dict[str, Any]:
    return {
        "type": "output",
        "id": output.pk,
        "chat": output.chat.key,
        "user": output.author,
        "question": output.question,
        "answer": output.answer,
        "messages": output.messages,
        "status": output.status,
        "created_at": output.created_at,
    }


def _entry(entry: Entry) -> dict[str, Any]:
    granularity = Granularity(entry.granularity)
    return {
        "type": "entry",
        "id": entry.pk,
        "granularity": granularity.value,
        "period": period_key(granularity, entry.period_start),
        "chat": entry.chat.key if entry.chat else None,
        "parent": entry.parent_id,
        **{name: getattr(entry, name) for name in ENTRY_FIELDS},
    }

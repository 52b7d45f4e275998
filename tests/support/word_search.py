"""Search for a word in every column of every table and in the full-text index, and collect all visible text."""

import json
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import connection, models

from memorybank import services
from memorybank.language.terms import terms
from memorybank.models import Bank
from memorybank.reading.recall import index
from memorybank.reading.recall.index_terms import hash_word, speaker_words


def places(word: str) -> list[str]:
    """All columns, as "app.Model.column", with ``word`` in a row, and the full-text index if it has the word."""
    return [*_columns(word), *_indexed(word)]


def _columns(word: str) -> Iterator[str]:
    for model in apps.get_models(include_auto_created=True):
        for row in model._default_manager.order_by().values():  # the models of all apps
            for name, value in row.items():
                if word.casefold() in _text(value).casefold():
                    yield f"{model._meta.label}.{name}"


def _text(value: Any) -> str:
    if isinstance(value, memoryview | bytes):
        return bytes(value).decode("utf-8", "replace")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _indexed(word: str) -> Iterator[str]:
    """The rows that the full-text index finds by the word's hash, and the contents of the index's own tables."""
    for bank in Bank.objects.all():
        hashes = [hash_word(bank.pk, term) for term in (*terms(word), *speaker_words(word))]
        if any(index.newest([[[word]] for word in hashes], 1)):  # whoever may read the turn
            yield f"index of bank {bank.pk}"
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("CREATE VIRTUAL TABLE temp.seen USING fts5vocab(main, memorybank_search, row)")
                cursor.execute(f"SELECT term FROM temp.seen WHERE term IN ({','.join(['%s'] * len(hashes))})", hashes)
                rows = cursor.fetchall()
                cursor.execute("DROP TABLE temp.seen")
            if rows:
                yield f"vocabulary of bank {bank.pk}"


def visible_text(bank: Bank, question: str) -> str:
    """All text that users can see: block, recalled notes, search hits, and the export."""
    bank = Bank.objects.get(pk=bank.pk)
    memory = services.prompt_memory(bank, question=question)
    hits = [hit.text for hit in services.recall(bank, question, top=100)]
    export = [json.dumps(row, default=str, ensure_ascii=False) for row in services.export(bank, actor="test")]
    return "\n".join([memory.block.text, memory.recalled.text, services.render(bank).text, *hits, *export])


def tables() -> list[type[models.Model]]:
    """The searched tables, for the test of the search itself."""
    return list(apps.get_models(include_auto_created=True))

"""Recall: time of a question over 10,000 turns, and (--large, PostgreSQL only) over 1,000,000 in 1,000 banks.

Targets: ≤ 10 ms (median) over 10,000 turns; ≤ 30 ms over a million. Words are as frequent as in the shipped
sample, questions are sentences of it, nothing is cached between questions. Asked beside it, for information:
the part of a block that answers a question (2,000 tokens).
"""

import argparse
import random
import statistics
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.db import connection

from memorybank import services
from memorybank.language.terms import terms
from memorybank.models import Bank, Chat, Entry, Fact, Granularity, Output, SearchDocument
from memorybank.reading.recall.index_cache import IndexCache
from memorybank.reading.recall.index_terms import audience_words, date_words, index_text
from memorybank.reading.recall.notes import find_passages
from memorybank.safety.reasons import Reported
from memorybank.writing.fact_store import new_fact

from . import scratch, seeding
from .measuring import Measurement, queries, seconds, show

QUESTION_COUNT = 200
TURNS_PER_CHAT = 20
LARGE_BANK_COUNT, LARGE_BANK_TURNS = 1000, 1000
COLUMNS = {
    Chat: ("id", "bank_id", "key"),
    Output: ("id", "sequence", "chat_id", "author", "question", "answer", "status", "created_at"),
    SearchDocument: ("output_id", "sequence", "bank_id", "chat_id", "words", "length", "lines", "said_at", "previous"),
}


def measure(*, large: bool = False) -> list[Measurement]:
    """Medians over many different questions."""
    with scratch.database(EMBEDDINGS={}):
        bank = seeding.bank()
        fill([bank], 10_000)
        settle()
        found = _timed("10,000 turns", [bank], "≤ 10")
        if large and connection.vendor == "postgresql":
            banks = [seeding.bank() for _ in range(LARGE_BANK_COUNT)]
            copy(banks, LARGE_BANK_TURNS)
            settle()
            found += _timed("1,000,000 turns in 1,000 banks", banks, "≤ 30")
        return found


def _timed(what: str, banks: Sequence[Bank], target: str) -> list[Measurement]:
    draw = random.Random(7)
    asked = [(draw.choice(banks), seeding.sentence(draw, draw.randint(5, 12))) for _ in range(QUESTION_COUNT)]
    for bank, question in asked[:20]:
        services.recall(bank, question)
    hits = sorted(seconds(partial(services.recall, bank, question)) * 1000 for bank, question in asked)
    tails = [
        seconds(partial(find_passages, IndexCache(bank), question, max_tokens=1800)) * 1000
        for bank, question in asked[:50]
    ]
    return [
        Measurement(f"{what}, ms", f"{statistics.median(hits):.1f}", target),
        Measurement(f"{what}, 95 % of questions, ms", f"{hits[int(len(hits) * 0.95)]:.1f}"),
        Measurement(f"{what}, queries", str(queries(partial(services.recall, *asked[0])))),
        Measurement(f"{what}, the tail of a block, ms", f"{statistics.median(tails):.1f}"),
    ]


# --- data ---------------------------------------------------------------------------------------------


def fill(banks: Sequence[Bank], turns: int) -> None:
    """Turns with their documents, and a leaf with three facts for each chat."""
    for model, rows in _rows(banks, turns):
        fields = [dict(zip(COLUMNS[model], row, strict=True)) for row in rows]
        model._default_manager.bulk_create([model(**row) for row in fields], batch_size=2000)
    for chat in Chat.objects.filter(bank__in=banks):
        outputs = list(chat.outputs.order_by("sequence"))
        leaf = Entry.objects.create(
            bank_id=chat.bank_id,
            chat=chat,
            granularity=Granularity.CONVERSATION,
            period_start=outputs[0].created_at.date(),
            first_output=outputs[0].sequence,
            last_output=outputs[-1].sequence,
            output_count=len(outputs),
            first_at=outputs[0].created_at,
            last_at=outputs[-1].created_at,
            method="benchmark",
        )
        Fact.objects.create_cited(
            new_fact(leaf, position=n, text=o.question, said_on=leaf.period_start, tokens=15, citations=[o.pk])
            for n, o in enumerate(outputs[:3])
        )


def copy(banks: Sequence[Bank], turns: int) -> None:
    """The same without leaves, in bulk: a million rows in minutes."""
    from psycopg.types.json import Json

    for start in range(0, len(banks), 20):
        for model, rows in _rows(banks[start : start + 20], turns):
            _copy_rows(model, rows, Json)


def settle() -> None:
    """What a server does by itself a minute after so many rows came in."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def _copy_rows(model: Any, rows: Sequence[tuple[Any, ...]], as_json: Any) -> None:
    table, defaults = model._meta.db_table, _defaults(model)
    columns = (*COLUMNS[model], *defaults)
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
        for row in rows:
            values = (*row, *defaults.values())
            copy.write_row([as_json(value) if isinstance(value, list | dict) else value for value in values])


def _defaults(model: Any) -> dict[str, Any]:
    """Values of the columns that the rows do not give."""
    given = COLUMNS[model]
    fields = [f for f in model._meta.concrete_fields if f.column not in given]
    return {f.column: f.get_default() for f in fields}


def _rows(banks: Sequence[Bank], turns: int) -> Iterator[tuple[Any, list[tuple[Any, ...]]]]:
    """Rows of chats, outputs and documents, in this order."""
    draw = random.Random(banks[0].pk)
    chat_id = (Chat.objects.order_by("-pk").values_list("pk", flat=True).first() or 0) + 1
    output_id = (Output.objects.order_by("-pk").values_list("pk", flat=True).first() or 0) + 1
    chats, outputs, documents = [], [], []
    for bank in banks:
        for number in range(turns):
            if number % TURNS_PER_CHAT == 0:
                chat_id += 1
                chats.append((chat_id, bank.pk, f"chat-{chat_id}"))
            at = seeding.NOW - (turns - number) * seeding.ROLLED_UP / turns
            outputs.append(_output(output_id := output_id + 1, chat_id, at, draw))
            documents.append(_document(bank.pk, *outputs[-1]))
    yield from ((Chat, chats), (Output, outputs), (SearchDocument, documents))


def _output(pk: int, chat: int, at: datetime, draw: random.Random) -> tuple[Any, ...]:
    return (pk, pk, chat, draw.choice(seeding.SPEAKERS), seeding.sentence(draw), seeding.sentence(draw), "ok", at)


def _document(
    bank: int, pk: int, sequence: int, chat: int, author: str, asked: str, said: str, _: str, at: datetime
) -> tuple[Any, ...]:
    turn_terms = terms(f"{author} {asked} {said}")
    words = index_text(bank, chat, turn_terms, date_words(at.date(), ""), audience_words(bank, None))
    lines = [[author, asked, 0.5, Reported.NO], ["assistant", said, 0.2, Reported.NO]]
    return (pk, sequence, bank, chat, words, len(turn_terms), lines, at, pk - 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="a million turns, too (PostgreSQL; takes minutes)")
    show(__doc__.splitlines()[0], measure(large=parser.parse_args().large))

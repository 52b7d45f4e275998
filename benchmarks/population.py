"""A site's tenants, banks, chats and turns by a power law, straight into PostgreSQL; and what a turn takes on disk.

Command: DATABASE_URL=postgres://postgres@127.0.0.1:5432/postgres python -m benchmarks.population --scale 0.01

The whole (``--scale 1``) has 1,000 tenants, 10,000 banks, half a million chats and ten million turns, of which the largest bank
has a hundredth. Each chat has one leaf with three facts, a search document and a place in
its conversation for each turn, and a call in the ledger.
"""

import argparse
from collections.abc import Mapping
from typing import Any

from django.core.management.color import no_style
from django.db import connection, models

from memorybank.models import Bank, Chat, ChatReader, Entry, Fact, FactOutput, LLMCall, Output
from projects.models import Conversation, ConversationNode, Project, Tenant

from . import recall, scratch, seeding
from .measuring import Measurement, seconds, show

TENANTS, BANKS, TURNS = 1_000, 10_000, 10_000_000
#: The n-th bank has n^-EXPONENT times as many turns as the largest: of ten thousand, the largest has a hundredth of all.
EXPONENT = 0.6


def fill(scale: float) -> list[Bank]:
    """The banks, at least a hundred, the largest first."""
    count = max(100, round(BANKS * scale))
    tenants = [Tenant.objects.create(slug=f"t{n}", name=f"T{n}") for n in range(max(20, round(TENANTS * scale)))]
    banks = [seeding.bank() for _ in range(count)]
    for number, bank in enumerate(banks):
        Project.objects.create(tenant=tenants[number % len(tenants)], slug=f"p{number}", name=f"P{number}", bank=bank)
    weights = [(number + 1) ** -EXPONENT for number in range(count)]
    for bank, weight in zip(banks, weights, strict=True):
        recall.copy([bank], max(recall.TURNS_PER_CHAT, round(TURNS * scale * weight / sum(weights))))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # without it each bank would read all turns
        _derive(cursor)
        for statement in connection.ops.sequence_reset_sql(no_style(), [Chat, Output]):
            cursor.execute(statement)
        cursor.execute("ANALYZE")
    return banks


def _derive(cursor: Any) -> None:
    """What follows from chats and their turns: conversations, leaves, facts, calls. Each twentieth chat is private."""
    ends = """(SELECT chat_id, count(*) AS n, min(sequence) AS first, max(sequence) AS last, min(created_at) AS since,
        max(created_at) AS until FROM memorybank_output GROUP BY chat_id) ends"""
    cursor.execute(
        f"""UPDATE memorybank_chat SET last_output_at = until, summarised_through = last, indexed_through = last,
        private = mod(memorybank_chat.id, 20) = 0 FROM {ends} WHERE chat_id = memorybank_chat.id"""
    )
    cursor.execute(
        """UPDATE memorybank_bank SET consolidate_at = NULL, last_sequence = newest FROM (SELECT bank_id,
        max(summarised_through) AS newest FROM memorybank_chat GROUP BY bank_id) newest WHERE bank_id = memorybank_bank.id"""
    )
    _insert(cursor, Conversation, {"chat_id": "id"}, "memorybank_chat")
    _insert(cursor, ChatReader, {"chat_id": "id", "person": "'p' || id"}, "memorybank_chat WHERE private")
    leaf = {"bank_id": "c.bank_id", "chat_id": "c.id", "granularity": "'conversation'", "first_output": "first"}
    leaf |= {"last_output": "last", "output_count": "n", "first_at": "since", "last_at": "until", "tokens": "45"}
    leaf |= {"period_start": "until::date", "method": "'benchmark'"}
    _insert(cursor, Entry, leaf, f"memorybank_chat c JOIN {ends} ON chat_id = c.id")
    turns = """(SELECT o.*, row_number() OVER (PARTITION BY chat_id ORDER BY sequence) AS place
        FROM memorybank_output o) o JOIN memorybank_entry e ON e.chat_id = o.chat_id WHERE place <= 3"""
    fact = {"bank_id": "e.bank_id", "entry_id": "e.id", "position": "place", "text": "o.question", "tier": "0"}
    fact |= {"said_on": "o.created_at::date", "tokens": "15", "speaker": "o.author", "weight": "place / 4.0"}
    _insert(cursor, Fact, fact, turns)
    private = "SELECT e.id FROM memorybank_entry e JOIN memorybank_chat c ON c.id = e.chat_id WHERE c.private"
    cursor.execute(f"UPDATE memorybank_fact SET tier = NULL WHERE entry_id IN ({private})")
    cited = "memorybank_fact f JOIN memorybank_entry e ON e.id = f.entry_id JOIN memorybank_output o"
    cited += " ON o.chat_id = e.chat_id AND o.sequence = e.first_output + f.position - 1"
    _insert(cursor, FactOutput, {"fact_id": "f.id", "output_id": "o.id"}, cited)
    node = {"chat_id": "chat_id", "output_id": "id", "before": "md5(id::text)", "after": "md5('a' || id)"}
    _insert(cursor, ConversationNode, node | {"tail": "md5('t' || id)"}, "memorybank_output")
    call = {"bank_id": "bank_id", "purpose": "'summary'", "model": "'m'", "at": "last_at", "outcome": "'ok'"}
    _insert(cursor, LLMCall, call, "memorybank_entry")


def _insert(cursor: Any, model: type[models.Model], columns: Mapping[str, str], source: str) -> None:
    """A row of ``model`` for each row of ``source``; columns that are not given have their defaults."""
    fields = [f for f in model._meta.concrete_fields if not (f.primary_key or f.generated or f.column in columns)]
    names = ", ".join([*columns, *(field.column for field in fields)])
    values = [field.get_db_prep_save(field.get_default(), connection) for field in fields]
    wanted = ", ".join([*columns.values(), *["%s"] * len(fields)])
    cursor.execute(f"INSERT INTO {model._meta.db_table} ({names}) SELECT {wanted} FROM {source}", values)


def measure(scale: float = 0.001) -> list[Measurement]:
    """Rows, seconds, and bytes a turn by table."""
    if connection.vendor != "postgresql":
        return [Measurement("a site's population", "PostgreSQL only")]
    with scratch.database(EMBEDDINGS={}):
        spent = seconds(lambda: fill(scale))
        turns = Output.objects.count()
        with connection.cursor() as cursor:
            cursor.execute(
                """SELECT relname, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class
                WHERE relkind = 'r' AND relname ~ '^(memorybank|projects)_' ORDER BY pg_total_relation_size(oid) DESC LIMIT 8"""
            )
            sizes = cursor.fetchall()
    kilobytes = [(name, table / turns / 1000, index / turns / 1000) for name, table, index in sizes]
    total = sum(table + index for _, table, index in kilobytes)
    return [
        Measurement("turns", f"{turns:,}"),
        Measurement("filled in, s", f"{spent:.0f}"),
        Measurement("on disk a turn, kB", f"{total:.2f}"),
        *(Measurement(f"{name}, kB: rows, indexes", f"{table:.2f}, {index:.2f}") for name, table, index in kilobytes),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.001, help="1 is the whole")
    show(__doc__.splitlines()[0], measure(parser.parse_args().scale))

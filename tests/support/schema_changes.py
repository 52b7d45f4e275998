"""Which changes of PostgreSQL's tables break processes of the last release that run on after ``migrate``.

Such a process reads and writes the columns it knows, leaves out new ones, and deletes rows without knowing of new
tables. So a release only adds: columns with a default of the database, tables whose rows go with the old rows that they
refer to. A condition on what the last release writes comes one release after the code that meets it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import psycopg

OURS = "relname ~ '^(memorybank|projects)_'"
COLUMNS = f"""
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
    a.atthasdef OR a.attidentity <> '' OR a.attgenerated <> ''
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relkind = 'r' AND {OURS} AND a.attnum > 0 AND NOT a.attisdropped"""
COLUMNS_OF = "ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attnum = ANY ({keys}))"
CONSTRAINTS = f"""
SELECT c.relname, contype::text, pg_get_constraintdef(k.oid), {COLUMNS_OF.format(keys="conkey")},
    confrelid::regclass::text, confdeltype::text
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid WHERE {OURS} AND contype IN ('c', 'f', 'x')"""
UNIQUE = f"""
SELECT c.relname, pg_get_indexdef(i.indexrelid), {COLUMNS_OF.format(keys="string_to_array(indkey::text, ' ')::int[]")}
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE {OURS} AND indisunique"""
TRIGGERS = f"""
SELECT c.relname, pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE {OURS} AND NOT tgisinternal"""
#: Differences of definitions that mean nothing: an index's name, casts, and brackets around them.
INDEX_NAME = re.compile(r"(?<=INDEX )\S+")
CASTS = re.compile(r"::[a-z]+(?: varying| precision| with(?:out)? time zone)?|[()]")


class Column(NamedTuple):
    """A column of a table."""

    type: str
    not_null: bool
    has_default: bool


class Rule(NamedTuple):
    """A constraint, unique index or trigger, with its columns if it is on columns, and what a foreign key refers to."""

    table: str
    definition: str
    columns: frozenset[str]
    refers_to: str = ""
    on_delete: str = ""


@dataclass
class Schema:
    """What a process can meet in the tables of our apps."""

    columns: dict[tuple[str, str], Column]
    rules: set[Rule]
    unique: set[Rule]

    @property
    def tables(self) -> set[str]:
        return {table for table, _ in self.columns}


def schema_of(connection: psycopg.Connection[Any]) -> Schema:
    """The tables of our apps in this database."""

    def ask(query: str) -> list[tuple[Any, ...]]:
        return connection.execute(query).fetchall()  # type: ignore[call-overload]

    columns = {(table, name): Column(*values) for table, name, *values in ask(COLUMNS)}
    constraints = {
        Rule(table, CASTS.sub("", definition), frozenset(names), refers_to if kind == "f" else "", on_delete)
        for table, kind, definition, names, refers_to, on_delete in ask(CONSTRAINTS)
    }
    triggers = {Rule(table, definition, frozenset()) for table, definition in ask(TRIGGERS)}
    unique = {
        Rule(table, INDEX_NAME.sub("…", CASTS.sub("", text)), frozenset(names)) for table, text, names in ask(UNIQUE)
    }
    return Schema(columns, constraints | triggers, unique)


def breaking(before: Schema, after: Schema) -> Iterator[str]:
    """What a process of the release with the schema ``before`` cannot read or write in ``after``."""
    yield from (f"{table} is gone" for table in before.tables - after.tables)
    for (table, name), column in before.columns.items():
        if table in after.tables:
            yield from (f"{table}.{name} {change}" for change in _changes(column, after.columns.get((table, name))))
    for (table, name), column in after.columns.items():
        is_new = table in before.tables and (table, name) not in before.columns
        if is_new and column.not_null and not column.has_default:
            yield f"{table}.{name} is new, not null and without a default of the database (db_default)"
    yield from _new_rules(before, after)


def _changes(before: Column, after: Column | None) -> Iterator[str]:
    if after is None:
        yield "is gone"
        return
    if before.type != after.type and not _is_wider(before.type, after.type):
        yield f"was {before.type} and is {after.type}"
    if after.not_null and not before.not_null:
        yield "may no longer be null"
    if before.has_default and not after.has_default and after.not_null:
        yield "has no default any more"


def _is_wider(before: str, after: str) -> bool:
    numbers = ["smallint", "integer", "bigint"]
    if before in numbers and after in numbers:
        return numbers.index(after) > numbers.index(before)
    lengths = [re.fullmatch(r"character varying\((\d+)\)", kind) for kind in (before, after)]
    if lengths[0] and lengths[1]:
        return int(lengths[1][1]) > int(lengths[0][1])
    return bool(lengths[0]) and after == "text"


def _new_rules(before: Schema, after: Schema) -> Iterator[str]:
    for rule in after.rules - before.rules:
        yield from _new_rule(rule, before)
    for rule in after.unique - before.unique:
        if rule.table in before.tables and _has_old_column(rule, before):
            yield f"{rule.table} must be unique in a new way: {rule.definition}"
    for rule in before.unique - after.unique:
        if rule.table in after.tables:
            yield f"{rule.table} has no longer what an upsert may name: {rule.definition}"


def _new_rule(rule: Rule, before: Schema) -> Iterator[str]:
    reference = (rule.table, rule.columns, rule.refers_to)
    if rule.refers_to and reference in {(old.table, old.columns, old.refers_to) for old in before.rules}:
        return  # its action or name is new
    if rule.table in before.tables and _has_old_column(rule, before):
        yield f"{rule.table} has a new condition: {rule.definition}"
    elif rule.refers_to in before.tables and rule.on_delete == "a":
        yield f"{rule.table} keeps rows of {rule.refers_to} from being deleted; ON DELETE in SQL: {rule.definition}"


def _has_old_column(rule: Rule, before: Schema) -> bool:
    return not rule.columns or any((rule.table, name) in before.columns for name in rule.columns)

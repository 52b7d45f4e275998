"""Queries and statements whose SQL is built only once, and writes that are sent together.

For a single row, Django takes twenty times longer to build a query than the database takes to answer it. So the queries
that every chat message waits for, and those of every summary, are compiled at first use and reused. All other code uses
the plain ORM.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models import Expression, Field, Model, QuerySet
from django.db.models.query import ModelIterable
from django.db.models.sql import UpdateQuery

Row = TypeVar("Row")
_NUMBERS = models.BigIntegerField, models.BooleanField, models.IntegerField, models.PositiveIntegerField
_KEYS_AND_TEXTS = models.ForeignKey, models.OneToOneField, models.CharField, models.TextField
#: Fields that store these values, but none of a subclass, as they are. To find that out, Django takes ten times longer.
PLAIN_FIELDS: frozenset[type[Field[Any, Any]]] = frozenset([*_NUMBERS, *_KEYS_AND_TEXTS])
PLAIN_VALUES = frozenset([str, int, bool, type(None)])
#: A value, or a list of numbers or texts for an ``__in``.
Value = int | str | date | None | Sequence[int] | Sequence[str]


class Parameter(Expression):
    """A placeholder for a value in a query."""

    def __init__(self, number: int, item: int = 0) -> None:
        super().__init__()
        self.place = number, item

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        """The SQL placeholder, with this object as its parameter until the query is executed."""
        return "%s", [self]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A query as SQL. ``model`` and ``fields`` are set if the rows are model instances, not tuples."""

    sql: str
    params: list[Any]
    converters: dict[int, tuple[list[Callable[..., Any]], Any]]
    model: type[Model] | None
    fields: list[str]


class PreparedQuery(Generic[Row]):
    """A query that is compiled at first use.

    ``build`` gets parameters and returns a queryset of model instances or ``values_list`` tuples. A list fills an
    ``__in``; its length is rounded up to a power of two, so that few variants are compiled. Parameters may only be used
    in comparisons and must not be None. Values other than numbers, texts and dates must be part of the query itself.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Row]]) -> None:
        self._build = build
        self._compiled: dict[Hashable, _Compiled] = {}

    def rows(self, *values: Value) -> list[Row]:
        """Execute the query with these values and return all rows."""
        database = connections[DEFAULT_DB_ALIAS]  # looked up once: Django's ``connection`` is looked up at each use
        query, params = self._prepare(database, values)
        with database.cursor() as cursor:
            cursor.execute(query.sql, params)
            return _read(query, cursor.fetchall(), database)

    def first(self, *values: Value) -> Row | None:
        """The first row, or None. ``build`` should limit the query to one row."""
        return next(iter(self.rows(*values)), None)

    def lock(self, *values: Value) -> None:
        """Lock the rows of a ``select_for_update`` with these values; nobody reads them: see :func:`write`."""
        query, params = self._prepare(connections[DEFAULT_DB_ALIAS], values)
        write(query.sql, params)

    def _prepare(self, database: Any, values: Sequence[Value]) -> tuple[_Compiled, list[Any]]:
        """The compiled query, and these values as its parameters."""
        padded = [_padded(value) if isinstance(value, list | tuple) else value for value in values]
        lengths = [len(value) if isinstance(value, list) else None for value in padded]
        form = (database.vendor, *lengths)
        if form not in self._compiled:
            self._compiled[form] = _compile(self._build(*[_parameter(*pair) for pair in enumerate(lengths)]), database)
        query = self._compiled[form]
        return query, [
            _value(database, padded, param) if isinstance(param, Parameter) else param for param in query.params
        ]


def first_of_each(*asked: tuple[PreparedQuery[Any], *tuple[Value, ...]]) -> list[Any]:
    """The first row of each of these queries with its values, or None; on PostgreSQL in one message, in this order."""
    database = connections[DEFAULT_DB_ALIAS]
    if not _takes_several_statements(database):
        return [query.first(*values) for query, *values in asked]
    queries, params = zip(*(query._prepare(database, values) for query, *values in asked), strict=True)
    with database.cursor() as cursor:
        cursor.execute("; ".join(query.sql for query in queries), [value for own in params for value in own])
        found = []
        for query in queries:
            found.append(next(iter(_read(query, cursor.fetchall(), database)), None))
            cursor.nextset()
    return found


def _takes_several_statements(database: Any) -> bool:
    """Whether a message may have several statements: on PostgreSQL, unless the server fills in their parameters."""
    return database.vendor == "postgresql" and not database.settings_dict["OPTIONS"].get("server_side_binding")


class PreparedUpdate:
    """An update that is compiled at first use.

    ``build`` gets parameters and returns the rows to update, and their new values by field.
    """

    def __init__(self, build: Callable[..., tuple[QuerySet[Any, Any], dict[str, Any]]]) -> None:
        self._build = build
        self._compiled: dict[str, tuple[str, list[Any]]] = {}

    def execute(self, *values: int | str | date | None) -> int:
        """Execute the update with these values; return the number of rows."""
        database = connections[DEFAULT_DB_ALIAS]
        if database.vendor not in self._compiled:
            rows, changes = self._build(*map(Parameter, range(len(values))))
            query: Any = rows.query.chain(UpdateQuery)
            query.add_update_values(changes)
            sql, params = query.get_compiler(connection=database).as_sql()
            self._compiled[database.vendor] = sql, list(params)
        sql, params = self._compiled[database.vendor]
        with database.cursor() as cursor:
            cursor.execute(
                sql, [_value(database, values, param) if isinstance(param, Parameter) else param for param in params]
            )
            return int(cursor.rowcount)


def _parameter(number: int, length: int | None) -> Parameter | list[Parameter]:
    return Parameter(number) if length is None else [Parameter(number, item) for item in range(length)]


def _padded(values: Sequence[Any]) -> list[Any]:
    """Pad a list to a power of two by repeating its last value; an empty list becomes [None], which matches no row."""
    values = list(values) or [None]
    return values + values[-1:] * ((1 << (len(values) - 1).bit_length()) - len(values))


def _value(database: Any, values: Sequence[Any], parameter: Parameter) -> Any:
    number, item = parameter.place
    value = values[number]
    if isinstance(value, datetime):
        return database.ops.adapt_datetimefield_value(value)
    if isinstance(value, date):
        return database.ops.adapt_datefield_value(value)
    return value[item] if isinstance(value, list) else value


def _compile(queryset: QuerySet[Any, Any], database: Any) -> _Compiled:
    compiler = queryset.query.get_compiler(connection=database)
    sql, params = compiler.as_sql()
    expressions = [expression for expression, *_ in compiler.select]
    is_of_model = queryset._iterable_class is ModelIterable
    fields = [expression.target.attname for expression in expressions] if is_of_model else []
    model = queryset.model if is_of_model else None
    return _Compiled(sql, list(params), compiler.get_converters(expressions), model, fields)


def _read(query: _Compiled, rows: list[Any], database: Any) -> list[Any]:
    """The rows of a query as its model or as values."""
    if query.converters:
        rows = [_converted(row, query.converters, database) for row in rows]
    if query.model:
        return [query.model.from_db(DEFAULT_DB_ALIAS, query.fields, row) for row in rows]
    return rows


def _converted(
    row: Sequence[Any], converters: dict[int, tuple[list[Callable[..., Any]], Any]], database: Any
) -> tuple[Any, ...]:
    values = list(row)
    for position, (convert_each, expression) in converters.items():
        for convert in convert_each:
            values[position] = convert(values[position], expression, database)
    return tuple(values)


def insert(rows: Iterable[Model], *, ignore_conflicts: bool = False) -> None:
    """Insert new rows of one model and set their ids. Signals are not sent.

    With ``ignore_conflicts``, rows that exist already are skipped and no ids are set.
    """
    rows = list(rows)
    if not rows:
        return
    meta, database = rows[0]._meta, connections[DEFAULT_DB_ALIAS]
    fields = [field for field in meta.local_concrete_fields if not field.primary_key]
    batch_size = max(1, database.ops.bulk_batch_size(fields, rows)) if len(rows) > 1 else 1
    for start in range(0, len(rows), batch_size):
        _insert(database, rows[start : start + batch_size], fields, ignore_conflicts)


def _insert(database: Any, rows: list[Model], fields: list[Field[Any, Any]], ignore_conflicts: bool) -> None:
    meta = rows[0]._meta
    columns, places = ", ".join(f'"{field.column}"' for field in fields), ", ".join(["%s"] * len(fields))
    end = "ON CONFLICT DO NOTHING" if ignore_conflicts else f'RETURNING "{meta.pk.column}"'
    sql = f'INSERT INTO "{meta.db_table}" ({columns}) VALUES {", ".join([f"({places})"] * len(rows))} {end}'
    # The names are constants, the values are parameters.
    values = [value for row in rows for value in _stored(database, row, fields)]
    if ignore_conflicts:
        write(sql, values)
    else:
        with database.cursor() as cursor:
            cursor.execute(sql, values)
            for row, (pk,) in zip(rows, cursor.fetchall(), strict=True):
                row.pk = pk
    for row in rows:
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS


def insert_while(parent: Model, rows: Iterable[Model]) -> None:
    """Insert new rows of one model if the row of ``parent`` still exists. No ids are set, and no signals are sent."""
    database, meta = connections[DEFAULT_DB_ALIAS], parent._meta
    for row in rows:
        fields = [field for field in row._meta.local_concrete_fields if not field.primary_key]
        columns, places = ", ".join(f'"{field.column}"' for field in fields), ", ".join(["%s"] * len(fields))
        source = f'FROM "{meta.db_table}" WHERE "{meta.pk.column}" = %s'
        # The names are constants, the values are parameters.
        sql = f'INSERT INTO "{row._meta.db_table}" ({columns}) SELECT {places} {source}'
        write(sql, [*_stored(database, row, fields), parent.pk])


def update(rows: Iterable[Model], names: Sequence[str]) -> None:
    """Write these fields of rows of one model. ``bulk_update`` is fifty times slower. Signals are not sent."""
    rows = list(rows)
    if not rows:
        return
    meta, database = rows[0]._meta, connections[DEFAULT_DB_ALIAS]
    fields = [field for field in meta.local_concrete_fields if field.name in names]
    assignments = ", ".join(f'"{field.column}" = %s' for field in fields)
    values = [[*_stored(database, row, fields), row.pk] for row in rows]
    sql = f'UPDATE "{meta.db_table}" SET {assignments} WHERE "{meta.pk.column}" = %s'
    if len(values) == 1:  # the names are constants, the values are parameters
        write(sql, values[0])
    else:
        with database.cursor() as cursor:
            cursor.executemany(sql, values)


def _stored(database: Any, row: Model, fields: Iterable[Field[Any, Any]]) -> list[Any]:
    """The values of these fields as the database stores them."""
    values = [(field, getattr(row, field.attname)) for field in fields]
    return [
        value
        if type(value) in PLAIN_VALUES and type(field) in PLAIN_FIELDS
        else field.get_db_prep_save(value, database)
        for field, value in values
    ]


def write(sql: str, params: Sequence[Any]) -> None:
    """Execute a statement whose result nobody reads; within :func:`joined_writes`, together with the next one."""
    database, joined = connections[DEFAULT_DB_ALIAS], joining.get()
    if joined and joined.database is database:
        joined.waiting.append((sql, params))
        return
    with database.cursor() as cursor:
        cursor.execute(sql, params)


@contextmanager
def joined_writes() -> Iterator[None]:
    """On PostgreSQL, send writes whose results nobody reads in one message with the next statement, in their order.

    While others work, a thread waits longer for its turn after each message than the database takes to answer it. Use
    it inside a transaction. An error of a write is raised by the statement that it is sent with, in the same savepoint.
    """
    database = connections[DEFAULT_DB_ALIAS]
    if not _takes_several_statements(database):
        yield
        return
    joined = _JoinedWrites(database)
    database.execute_wrappers.insert(0, joined.send)
    token = joining.set(joined)
    try:
        yield
        joined.send_waiting()
    finally:
        joining.reset(token)
        database.execute_wrappers.remove(joined.send)


@dataclass(slots=True, eq=False)
class _JoinedWrites:
    """Statements that wait for the next one. A savepoint waits, too: nothing is to be undone before that."""

    database: Any
    waiting: list[tuple[str, Sequence[Any]]] = field(default_factory=list)
    sending: bool = False

    def send(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        """Django execute wrapper: send what waits before the statement, in one message with it if possible."""
        if sql.startswith("SAVEPOINT ") and not self.sending:
            self.waiting.append((sql, ()))
            return None
        if sql.startswith("ROLLBACK TO "):
            self._undo_to(sql.removeprefix("ROLLBACK TO "))
        if not self.waiting:
            return execute(sql, params, many, context)
        if many or isinstance(params, dict) or getattr(context["cursor"].cursor, "name", None):
            self.send_waiting()
            return execute(sql, params, many, context)
        waiting, self.waiting = self.waiting, []
        statements = [*(before for before, _ in waiting), sql.replace("%", "%%") if params is None else sql]
        values = [value for _, values in waiting for value in values] + list(params or ())
        try:
            result = execute("; ".join(statements), values, False, context)
        except Exception:
            if self.database.connection.info.transaction_status.name == "INTRANS":  # nothing was sent
                self.waiting = waiting
            raise
        for _ in waiting:
            context["cursor"].nextset()
        return result

    def send_waiting(self) -> None:
        """Send what waits."""
        if self.waiting:
            sql, params = self.waiting.pop()
            self.sending = True
            try:
                with self.database.cursor() as cursor:
                    cursor.execute(sql, params)
            finally:
                self.sending = False

    def _undo_to(self, savepoint: str) -> None:
        """Drop the writes after this savepoint: all, unless it waits itself."""
        places = [place for place, (sql, _) in enumerate(self.waiting) if sql == savepoint]
        self.waiting = self.waiting[: places[-1] + 1] if places else []


#: What waits within :func:`joined_writes`.
joining: ContextVar[_JoinedWrites | None] = ContextVar("joined_writes", default=None)

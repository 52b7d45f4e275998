"""The current banks and their owners: with row-level security, PostgreSQL hides the rows of all others.

A request, command or work item enters a bank once, where the bank is chosen, and with it the owner whose rows it needs:
what banks belong to in the outer application, such as a tenant. A wrapper around each connection sends the entered ones
with every statement. They apply to that transaction only, so this also works behind a connection pooler. If none is
entered, no row is found and none can be written. Without row-level security this module has no effect.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, ParamSpec, TypeVar

from django.db import connection, transaction
from django.db.models import QuerySet

from memorybank import prepared

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

#: The PostgreSQL settings that the policies read: an array of ids, or EVERY.
BANKS, OWNERS = "memorybank.banks", "memorybank.owners"
EVERY = "*"
#: Statements that touch rows begin with one of these; a savepoint may be sent in one message with them.
ROW_STATEMENTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "(", "EXPLAIN", "MERGE", "SAVEPOINT")


class _Entered(NamedTuple):
    """The values of the two settings."""

    banks: str
    owners: str


_NOTHING, _EVERYTHING = _Entered("", ""), _Entered(EVERY, EVERY)
_entered: ContextVar[_Entered] = ContextVar("entered", default=_NOTHING)


def enter(*bank_ids: int, owners: Iterable[int] = ()) -> None:
    """Enter these banks and owners only, until the end of the request, command or thread."""
    _set(_Entered(_array(bank_ids), _array(owners)))


def enter_banks_in(banks: QuerySet[Any], owners: Iterable[int] = ()) -> None:
    """Enter the banks of a query and these owners. Queries are executed only if row-level security is on."""
    connection.ensure_connection()
    if send_with in connection.execute_wrappers:
        with all_banks_entered():
            entered = _Entered(_array(banks.values_list("pk", flat=True)), _array(owners))
        _set(entered)


def also_enter(*bank_ids: int) -> None:
    """Enter these banks in addition to the ones already entered."""
    banks, owners = _entered.get()
    if banks != EVERY:
        _set(_Entered(_array([*filter(None, banks.strip("{}").split(",")), *bank_ids]), owners))


def leave(**_: Any) -> None:
    """Leave everything, at the start of each request, because its thread may have served another request."""
    _set(_NOTHING)


@contextmanager
def banks_entered(*bank_ids: int) -> Iterator[None]:
    """Enter these banks only, and no owner, for a ``with`` block."""
    with _scoped(_Entered(_array(bank_ids), "")):
        yield


@contextmanager
def all_banks_entered() -> Iterator[None]:
    """Enter all banks and owners, for a ``with`` block: to choose one, to process all of them, or for operators."""
    with _scoped(_EVERYTHING):
        yield


def enter_all_banks(**_: Any) -> None:
    """Enter all banks and owners."""
    _set(_EVERYTHING)


def carried(work: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Wrap ``work`` to run in another thread with what this thread has entered; a new thread starts with nothing."""
    entered = _entered.get()

    def carry(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with _scoped(entered):
            return work(*args, **kwargs)

    return carry


def send_with(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
    """Django execute wrapper: set what is entered and execute the statement, in one message to PostgreSQL.

    Two statements in one message form one transaction, so this also works in autocommit mode and costs no extra round
    trip.
    """
    if not isinstance(sql, str) or not sql.lstrip().upper().startswith(ROW_STATEMENTS):
        return execute(sql, params, many, context)
    (banks, owners), cursor = _entered.get(), context["cursor"]
    send = f"SELECT set_config('{BANKS}', '{banks}', true), set_config('{OWNERS}', '{owners}', true)"
    if many:
        with transaction.atomic(context["connection"].alias):
            cursor.cursor.execute(send)
            return execute(sql, params, many, context)
    result = execute(f"{send}; {sql}", params, many, context)
    cursor.nextset()  # the result of the statement itself
    return result


def _set(entered: _Entered) -> None:
    """Enter exactly this; writes that wait to be sent belong to what was entered when they were made."""
    if entered != _entered.get():
        if joined := prepared.joining.get():
            joined.send_waiting()
        _entered.set(entered)


@contextmanager
def _scoped(entered: _Entered) -> Iterator[None]:
    before = _entered.get()
    _set(entered)
    try:
        yield
        _set(before)
    finally:
        _entered.set(before)


def _array(ids: Iterable[int | str]) -> str:
    return f"{{{','.join(str(int(pk)) for pk in ids)}}}"

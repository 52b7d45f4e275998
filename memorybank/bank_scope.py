"""The current banks: with row-level security, PostgreSQL hides the rows of all other banks.

A request, command or work item enters a bank once, where the bank is chosen. A wrapper around each connection sends the
entered banks with every statement. They apply to that transaction only, so this also works behind a connection pooler.
If no bank is entered, no row is found and none can be written. Without row-level security this module has no effect.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from django.db import connection, transaction
from django.db.models import QuerySet

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

#: The PostgreSQL setting that the policies read: an array of bank ids, or EVERY.
VARIABLE = "memorybank.banks"
EVERY_BANK = "*"
#: Statements that touch rows begin with one of these.
ROW_STATEMENTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "(", "EXPLAIN", "MERGE")

_entered: ContextVar[str] = ContextVar("banks", default="")


def enter(*bank_ids: int) -> None:
    """Enter these banks only, until the end of the request, command or thread."""
    _entered.set(_array(bank_ids))


def enter_all(banks: QuerySet[Any]) -> None:
    """Enter the banks of a query, which is executed only if row-level security is on."""
    connection.ensure_connection()
    if send_with in connection.execute_wrappers:
        with every_bank():
            ids = list(banks.values_list("pk", flat=True))
        enter(*ids)


def add(*bank_ids: int) -> None:
    """Enter these banks in addition to the ones already entered."""
    if (entered := _entered.get()) != EVERY_BANK:
        _entered.set(_array([*map(int, filter(None, entered.strip("{}").split(","))), *bank_ids]))


def leave(**_: Any) -> None:
    """Leave all banks, at the start of each request, because its thread may have served another request."""
    _entered.set("")


@contextmanager
def inside(*bank_ids: int) -> Iterator[None]:
    """Enter these banks only, for a ``with`` block."""
    with _scoped(_array(bank_ids)):
        yield


@contextmanager
def every_bank() -> Iterator[None]:
    """Enter all banks, for a ``with`` block: to choose a bank, to process all of them, or for operators."""
    with _scoped(EVERY_BANK):
        yield


def enter_every(**_: Any) -> None:
    """Enter all banks."""
    _entered.set(EVERY_BANK)


def carried(work: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Wrap ``work`` to run in another thread with this thread's banks; a new thread starts without any."""
    banks = _entered.get()

    def carry(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with _scoped(banks):
            return work(*args, **kwargs)

    return carry


def send_with(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
    """Django execute wrapper: set the entered banks and execute the statement, in one message to PostgreSQL.

    Two statements in one message form one transaction, so this also works in autocommit mode and costs no extra round
    trip.
    """
    if not isinstance(sql, str) or not sql.lstrip().upper().startswith(ROW_STATEMENTS):
        return execute(sql, params, many, context)
    send_banks, cursor = f"SELECT set_config('{VARIABLE}', '{_entered.get()}', true)", context["cursor"]
    if many:
        with transaction.atomic(context["connection"].alias):
            cursor.cursor.execute(send_banks)
            return execute(sql, params, many, context)
    result = execute(f"{send_banks}; {sql}", params, many, context)
    cursor.nextset()  # the result of the statement itself
    return result


@contextmanager
def _scoped(banks: str) -> Iterator[None]:
    before = _entered.get()
    _entered.set(banks)
    try:
        yield
    finally:
        _entered.set(before)


def _array(bank_ids: Collection[int]) -> str:
    return f"{{{','.join(str(int(bank_id)) for bank_id in bank_ids)}}}"

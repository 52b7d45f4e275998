"""Which banks the database shows: with row-level security, PostgreSQL hides the rows of all others.

A request, a command or a piece of work enters a bank once, where the bank is chosen. The wrapper of a connection sends
that with each statement, so it holds in every transaction of any connection, also behind a pooler, and ends with it.
Nothing entered: no row is found, and none can be written. Without row-level security this has no effect.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from django.db import connection, transaction
from django.db.models import QuerySet

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

#: PostgreSQL's setting that the policies read: an array of ids, or EVERY.
VARIABLE = "memorybank.banks"
EVERY = "*"
#: Statements that touch rows begin with one of these.
ROW_STATEMENTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "(", "EXPLAIN", "MERGE")

_entered: ContextVar[str] = ContextVar("banks", default="")


def enter(*bank_ids: int) -> None:
    """From here to the end of the request, command or thread: these banks only."""
    _entered.set(_array(bank_ids))


def enter_all(banks: QuerySet[Any]) -> None:
    """From here on the banks of a query; it is asked only where row-level security is on."""
    connection.ensure_connection()
    if send_with in connection.execute_wrappers:
        with every_bank():
            ids = list(banks.values_list("pk", flat=True))
        enter(*ids)


def add(*bank_ids: int) -> None:
    """From here on these banks, too."""
    if (entered := _entered.get()) != EVERY:
        _entered.set(_array([*map(int, filter(None, entered.strip("{}").split(","))), *bank_ids]))


def leave(**_: Any) -> None:
    """No bank; a request begins with it, because its thread may have served another."""
    _entered.set("")


@contextmanager
def inside(*bank_ids: int) -> Iterator[None]:
    """In this block: these banks only."""
    with _scoped(_array(bank_ids)):
        yield


@contextmanager
def every_bank() -> Iterator[None]:
    """In this block: all banks. For choosing a bank, for work about all of them, and for operators."""
    with _scoped(EVERY):
        yield


def enter_every(**_: Any) -> None:
    """From here on: all banks."""
    _entered.set(EVERY)


def carried(work: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """``work`` for another thread, which begins in no bank, in the banks of this one."""
    banks = _entered.get()

    def carry(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with _scoped(banks):
            return work(*args, **kwargs)

    return carry


def send_with(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
    """Execute a statement with its banks, in one message: Django's wrapper for each statement of a connection.

    Two statements in one message are one transaction, so this holds outside of transactions, too, and costs no
    round trip.
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

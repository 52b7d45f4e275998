"""Remember what functions compute from a text: for one piece of work with its words, or for longer without them.

The cache of a piece of work ends with it, because it holds people's words, and these may be erased.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import wraps
from hashlib import blake2b
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

#: Results that :func:`remembered_by_digest` keeps of each function: about 5 MB.
MAX_DIGESTS = 50_000
#: Nobody can find out from a digest whether a text was there.
_KEY = secrets.token_bytes(32)

_results: ContextVar[dict[Any, Any] | None] = ContextVar("work_cache", default=None)


@contextmanager
def work() -> Iterator[None]:
    """Cache the results of functions marked with :func:`once_per_work` in this block.

    Threads that run in a copy of its context share the cache.
    """
    token = _results.set({})
    try:
        yield
    finally:
        _results.reset(token)


def once_per_work(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A pure function that remembers its results within :func:`work`. Callers must not change a result."""

    @wraps(function)
    def remembered(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        results = _results.get()
        if results is None:
            return function(*args, **kwargs)
        key = (function, args, *kwargs.items())
        if key not in results:
            results[key] = function(*args, **kwargs)
        result: Result = results[key]
        return result

    return remembered


def last_per_work(function: Callable[[str], Result]) -> Callable[[str], Result]:
    """A pure function that remembers only its last result within :func:`work`, because its results are large.

    Callers must not change a result.
    """

    @wraps(function)
    def remembered(text: str) -> Result:
        results = _results.get()
        if results is None:
            return function(text)
        last: tuple[str, Result] | None = results.get(function)
        if last is None or last[0] != text:
            results[function] = last = (text, function(text))
        return last[1]

    return remembered


def remembered_by_digest(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A pure function that remembers its results while the process runs, for keyed digests of its arguments.

    A block is rendered again and again from almost the same lines. For results that tell nothing of the text, such as
    a number; arguments are texts, frozen sets of texts, and truth values.
    """
    results: dict[tuple[object, ...], Result] = {}

    @wraps(function)
    def remembered(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        key = tuple(map(_digest, (*args, *kwargs.values())))
        with suppress(KeyError):  # another thread may be clearing it
            return results[key]
        if len(results) >= MAX_DIGESTS:
            results.clear()
        result = function(*args, **kwargs)
        results[key] = result
        return result

    return remembered


def _digest(value: object) -> object:
    if isinstance(value, str):
        return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16, key=_KEY).digest()
    return hash(value)

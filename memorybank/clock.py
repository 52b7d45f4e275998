"""The only place where services read a clock: ``now`` defaults to the current time."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import ParamSpec, TypeVar

from django.utils import timezone

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

#: Placeholder default of a service's ``now``; :func:`at_present` always replaces it with the current time.
PRESENT = datetime.min.replace(tzinfo=UTC)


def at_present(service: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Call ``service`` with the current time as ``now`` (a keyword) unless the caller passes another."""

    @wraps(service)
    def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        kwargs.setdefault("now", timezone.now())
        return service(*args, **kwargs)

    return called

"""The only place where services read a clock: a call without ``now`` happens at the present."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import ParamSpec, TypeVar

from django.utils import timezone

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

#: The default of a service's ``now``. :func:`at_present` replaces it, so no service ever works with it.
PRESENT = datetime.min.replace(tzinfo=UTC)


def at_present(service: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Call ``service`` with the current time as ``now`` (a keyword) unless the caller passes another."""

    @wraps(service)
    def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        kwargs.setdefault("now", timezone.now())
        return service(*args, **kwargs)

    return called

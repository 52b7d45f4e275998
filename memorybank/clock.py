"""The only place where services look at a clock: a call that names no ``now`` happens at the present."""

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
    """Call ``service`` with the time of the call as ``now`` (a keyword) unless the caller names another."""

    @wraps(service)
    def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        kwargs.setdefault("now", timezone.now())
        return service(*args, **kwargs)

    return called

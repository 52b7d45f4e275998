"""The same request sent again, by its header Idempotency-Key: the same answer, and nothing is recorded twice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils import timezone

from memorybank.services import Output

from ..models import Answered, APIKey
from .auth import key_of
from .problems import Problem

MAX_NAME = 255
HEADER = "Idempotency-Key"
#: What carries the work out: each output, or None where it is not taken in.
Act = Callable[[], Sequence[Output | None]]


@dataclass(frozen=True, slots=True)
class Done:
    """Numbers of the outputs in the order of the request, None where none was recorded or it was erased since."""

    outputs: list[int | None]
    again: bool = False


def once(request: HttpRequest, count: int, act: Act) -> Done:
    """``act``, unless this request of ``count`` outputs was answered in the last day: then as it was.

    Raises :class:`Problem` (409) where a request of this name had another body.
    """
    name, now, key = request.headers.get(HEADER), timezone.now(), key_of(request)
    if name is None:
        return Done(_numbers(act()))
    if not 0 < len(name) <= MAX_NAME:
        raise Problem(422, f"{HEADER}: 1 to {MAX_NAME} characters.", HEADER)
    body = Answered.hashed(key, f"{request.path}\n{request.body.hex()}")
    if known := _known(key, name, body, count, now):
        return known
    Answered.objects.expire(now)
    try:
        with transaction.atomic():
            done = Done(_numbers(act()))
            given = {"api_key": key, "name": Answered.hashed(key, name), "body": body, "at": now}
            rows = [Answered(position=at, output_id=pk, **given) for at, pk in enumerate(done.outputs)]
            Answered.objects.bulk_create(rows)
        return done
    except IntegrityError:  # somebody sent it at the same moment, and was first
        if known := _known(key, name, body, count, now):
            return known
        raise


def _known(key: APIKey, name: str, body: str, count: int, now: datetime) -> Done | None:
    rows = list(Answered.objects.of(key, name, now))
    if not rows:
        return None
    if rows[0].body != body:
        raise Problem(409, f"{HEADER}: another request was sent under this name in the last day.", HEADER)
    by_place = {row.position: row.output_id for row in rows}
    return Done([by_place.get(at) for at in range(count)], again=True)


def _numbers(outputs: Sequence[Output | None]) -> list[int | None]:
    return [output.pk if output else None for output in outputs]

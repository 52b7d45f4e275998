"""Idempotency-Key: a request sent again gets the same response and records nothing twice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils import timezone

from memorybank.services import Output

from ..models import APIKey, IdempotencyRecord
from .auth import key_of
from .problems import Problem

MAX_IDEMPOTENCY_KEY_CHARACTERS = 255
IDEMPOTENCY_HEADER = "Idempotency-Key"
#: Records the outputs and returns them, with None for each output that was recorded before or has been erased.
RecordOutputs = Callable[[], Sequence[Output | None]]


@dataclass(frozen=True, slots=True)
class IdempotentResult:
    """Primary keys of the outputs in the order of the request; None if not recorded, or erased since."""

    outputs: list[int | None]
    replayed: bool = False


def run_once(request: HttpRequest, count: int, record_outputs: RecordOutputs) -> IdempotentResult:
    """Record outputs, or return the stored result if this request was answered in the last day.

    Raises :class:`Problem`: 422 for an invalid Idempotency-Key, 409 if a request with this key had a different body.
    """
    key_name, now, key = request.headers.get(IDEMPOTENCY_HEADER), timezone.now(), key_of(request)
    if key_name is None:
        return IdempotentResult(_primary_keys(record_outputs()))
    if not 0 < len(key_name) <= MAX_IDEMPOTENCY_KEY_CHARACTERS:
        raise Problem(
            422, f"{IDEMPOTENCY_HEADER}: 1 to {MAX_IDEMPOTENCY_KEY_CHARACTERS} characters.", IDEMPOTENCY_HEADER
        )
    body = IdempotencyRecord.hashed(key, f"{request.path}\n{request.body.hex()}")
    if stored := _stored_result(key, key_name, body, count, now):
        return stored
    IdempotencyRecord.objects.expire(now)
    try:
        with transaction.atomic():
            result = IdempotentResult(_primary_keys(record_outputs()))
            shared = {"api_key": key, "name": IdempotencyRecord.hashed(key, key_name), "body": body, "at": now}
            rows = [
                IdempotencyRecord(position=position, output_id=pk, **shared)
                for position, pk in enumerate(result.outputs)
            ]
            IdempotencyRecord.objects.bulk_create(rows)
        return result
    except IntegrityError:  # a concurrent request with the same key was first
        if stored := _stored_result(key, key_name, body, count, now):
            return stored
        raise


def _stored_result(key: APIKey, key_name: str, body: str, count: int, now: datetime) -> IdempotentResult | None:
    rows = list(IdempotencyRecord.objects.of(key, key_name, now))
    if not rows:
        return None
    if rows[0].body != body:
        raise Problem(
            409, f"{IDEMPOTENCY_HEADER}: a different request used this key in the last day.", IDEMPOTENCY_HEADER
        )
    by_position = {row.position: row.output_id for row in rows}
    return IdempotentResult([by_position.get(position) for position in range(count)], replayed=True)


def _primary_keys(outputs: Sequence[Output | None]) -> list[int | None]:
    return [output.pk if output else None for output in outputs]

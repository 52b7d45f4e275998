"""Endpoints for monitoring: liveness, readiness and metrics."""

import os
from collections.abc import Callable
from datetime import timedelta
from ipaddress import ip_address

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_GET

from config.metrics import exposition
from memorybank import services

#: After this many intervals without a sweep, beat or every worker is considered down.
MISSED_SWEEPS = 5
BROKER_TIMEOUT_SECONDS = 3
#: Headers that proxies add. A request with one of them does not count as a request from this machine.
FORWARDING_HEADERS = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via")


@require_GET
def healthz(request: HttpRequest) -> HttpResponse:
    """Liveness: always 200. It checks nothing else, so that a failure elsewhere does not restart this process."""
    return HttpResponse("alive\n", content_type="text/plain")


@require_GET
@services.all_banks_entered()
def readyz(request: HttpRequest) -> HttpResponse:
    """Readiness: 200, or 503 with the names of missing parts, but no error messages, which may contain addresses."""
    parts: dict[str, Callable[[], bool]] = {"database": _database, "broker": _broker, "sweep": _swept}
    missing = [name for name, check in parts.items() if not _passes(check)]
    return JsonResponse({"ready": not missing, "missing": missing}, status=503 if missing else 200)


@require_GET
@services.all_banks_entered()
def metrics(request: HttpRequest) -> HttpResponse:
    """Metrics for clients that send METRICS_TOKEN, or if it is not set, for this machine only; others get 404."""
    if not _may_read(request):
        raise Http404
    try:
        return HttpResponse(
            exposition(services.health_metrics()), content_type="text/plain; version=0.0.4; charset=utf-8"
        )
    except DatabaseError:
        return HttpResponse("database\n", status=503, content_type="text/plain")


def _may_read(request: HttpRequest) -> bool:
    if settings.METRICS_TOKEN:
        return constant_time_compare(request.headers.get("Authorization", ""), f"Bearer {settings.METRICS_TOKEN}")
    if any(name in request.headers for name in FORWARDING_HEADERS):
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:  # a client of a Unix socket has no address
        return False


def _passes(check: Callable[[], bool]) -> bool:
    try:
        return check()
    except Exception:  # each client raises its own exceptions
        return False


def _database() -> bool:
    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return True


def _broker() -> bool:
    from kombu import Connection  # pages do not need it

    options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    if folder := options.get("data_folder_out"):
        return os.access(folder, os.W_OK | os.X_OK)
    short_timeouts = {
        **options,
        "socket_connect_timeout": BROKER_TIMEOUT_SECONDS,
        "socket_timeout": BROKER_TIMEOUT_SECONDS,
    }
    with Connection(
        settings.CELERY_BROKER_URL, connect_timeout=BROKER_TIMEOUT_SECONDS, transport_options=short_timeouts
    ) as broker:
        broker.ensure_connection(max_retries=1, interval_start=0, interval_step=0)
    return True


def _swept() -> bool:
    last = services.last_sweep()
    patience = timedelta(seconds=MISSED_SWEEPS * settings.SWEEP_SECONDS)
    return last is not None and timezone.now() - last <= patience

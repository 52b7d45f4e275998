"""Whether the site lives, whether it can do its work, and how memory fares: for machines that watch it."""

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

#: Without a sweep for so many times its interval, beat or every worker is gone.
MISSED_SWEEPS = 5
#: A broker that answers later than this does not answer.
BROKER_SECONDS = 3
#: Who is asked through a proxy on this machine is not asked from this machine.
FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via")


@require_GET
def healthz(request: HttpRequest) -> HttpResponse:
    """This process answers. Nothing else is asked, so that nobody kills it because something else is down."""
    return HttpResponse("alive\n", content_type="text/plain")


@require_GET
def readyz(request: HttpRequest) -> HttpResponse:
    """200, or 503 and what is missing: by its name, not with the words of its error, which may hold an address."""
    parts: dict[str, Callable[[], bool]] = {"database": _database, "broker": _broker, "sweep": _swept}
    missing = [name for name, is_there in parts.items() if not _holds(is_there)]
    return JsonResponse({"ready": not missing, "missing": missing}, status=503 if missing else 200)


@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    """For whoever has the token; without one in the settings, for this machine. For all others there is no page."""
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
    if any(name in request.headers for name in FORWARDED):
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:  # a socket has no address
        return False


def _holds(is_there: Callable[[], bool]) -> bool:
    try:
        return is_there()
    except Exception:  # every client raises its own
        return False


def _database() -> bool:
    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return True


def _broker() -> bool:
    from kombu import Connection  # pages do without it

    options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    if folder := options.get("data_folder_out"):
        return os.access(folder, os.W_OK | os.X_OK)
    impatient = {**options, "socket_connect_timeout": BROKER_SECONDS, "socket_timeout": BROKER_SECONDS}
    with Connection(settings.CELERY_BROKER_URL, connect_timeout=BROKER_SECONDS, transport_options=impatient) as broker:
        broker.ensure_connection(max_retries=1, interval_start=0, interval_step=0)
    return True


def _swept() -> bool:
    last = services.last_sweep()
    patience = timedelta(seconds=MISSED_SWEEPS * settings.SWEEP_SECONDS)
    return last is not None and timezone.now() - last <= patience

"""Serve the site on one machine: web server, worker and beat."""

import sys
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser

from projects.importing import demo
from projects.management import supervisor
from projects.management.migrated import why_not_migrated

from ..base import FAILURE_EXIT_CODE, USAGE_EXIT_CODE, MemoryCommand


class Command(MemoryCommand):
    help = "Run web server, worker and beat until Ctrl-C or SIGTERM. Answers in progress are completed first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--address", metavar="HOST:PORT", default="127.0.0.1:8000", help="where to serve (default: %(default)s)"
        )

    def handle(self, *, address: str, **options: Any) -> None:
        host, _, port = address.rpartition(":")
        if not (host and port.isdecimal() and int(port) < 2**16):
            raise CommandError(f"--address: “{address[:80]}” is not HOST:PORT.", returncode=USAGE_EXIT_CODE)
        if why := why_not_migrated():
            raise CommandError(why, returncode=FAILURE_EXIT_CODE)
        if why := demo.why_not_to_serve():
            raise CommandError(why, returncode=USAGE_EXIT_CODE)
        _collect_static()
        sys.exit(supervisor.serve(address))


def _collect_static() -> None:
    """Collect static files. If they cannot be written, they must exist already: pages look broken without them."""
    if settings.DEBUG:
        return
    try:
        call_command("collectstatic", interactive=False, verbosity=0)
    except OSError as error:
        if not (settings.STATIC_ROOT / "projects" / "site.css").exists():
            why = f"{settings.STATIC_ROOT}: static files cannot be collected: {error.strerror}."
            raise CommandError(f"{why} Run “manage.py collectstatic” as a user who may write there.") from error

"""What must hold before a server serves this site: one line says what is missing."""

import sys

from django.conf import settings
from environ import Env


def refuse_without_key() -> None:
    """End the process unless it was given a SECRET_KEY; one that was made up would differ between machines."""
    if not (settings.DEBUG or Env().str("SECRET_KEY", default="")):
        sys.exit("Set SECRET_KEY: a server does not start without one. (DEBUG=true is for your own machine.)")

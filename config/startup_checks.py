"""Checks before a server starts. A failed check ends the process with a one-line message."""

import sys

from django.conf import settings
from environ import Env


def refuse_without_key() -> None:
    """Exit if SECRET_KEY is not set and DEBUG is off: a generated key would differ between machines."""
    if not (settings.DEBUG or Env().str("SECRET_KEY", default="")):
        sys.exit("Set SECRET_KEY: a server does not start without one. (DEBUG=true is for your own machine.)")

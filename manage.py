#!/usr/bin/env python
"""Django's command line, for this site."""

import os
import sys


def main() -> None:
    """Run the command named on the command line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] == ["demo"]:
        os.environ["DEMO"] = "true"  # also for the processes that it starts
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:  # a wrong setting, met before any command could say so
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()

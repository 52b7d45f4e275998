"""Lazy URLs rely on private hooks of Django: this fails clearly when a new Django changes them."""

import subprocess
import sys

from tests.support.commands import ROOT

PROGRAM = """
import os, sys
os.environ.update(DJANGO_SETTINGS_MODULE="config.settings", DEBUG="true")
import django; django.setup()
from django.urls import resolve, reverse
assert reverse("home") == "/"
assert "projects.api.urls" not in sys.modules, "reversing a name imports the API"
assert resolve("/api/v1/openapi.json").func and "projects.api.urls" in sys.modules
"""


def test_a_lazy_include_is_imported_by_its_first_request_and_not_by_reverse() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

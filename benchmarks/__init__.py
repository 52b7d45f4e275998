"""Runnable comparisons. They print ratios from one run beside their targets and never pass or fail by time."""

import os
import tempfile

import django
from django.apps import apps

if not apps.ready:  # run as ``python -m benchmarks…``: nothing may touch a real data directory
    _data = tempfile.TemporaryDirectory(prefix="memory-bank-bench-")
    os.environ["DATA_DIR"] = _data.name
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()

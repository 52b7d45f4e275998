"""An own database for each benchmark: SQLite in a temporary directory, or a new one on the server of DATABASE_URL."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.test.utils import override_settings

from memorybank import llm


@contextmanager
def database(**options: Any) -> Iterator[None]:
    """An empty, migrated database, dropped at the end; ``options`` are ``MEMORYBANK`` settings.

    No model is configured unless ``LLMS`` says so. Query logging is off: it would be measured, too.
    """
    name = connection.settings_dict["NAME"]
    with tempfile.TemporaryDirectory() as folder:
        sqlite = connection.vendor == "sqlite"
        own = str(Path(folder) / "bench.sqlite3") if sqlite else f"memory_bank_bench_{os.getpid()}"
        connection.settings_dict["TEST"]["NAME"] = own
        with override_settings(DEBUG=False, MEMORYBANK={**settings.MEMORYBANK, "LLMS": {}, **options}):
            connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
            try:
                llm.reset()
                yield
            finally:
                connection.creation.destroy_test_db(name, verbosity=0)


def model(base_url: str) -> dict[str, Any]:
    """The ``LLMS`` setting for one OpenAI-compatible endpoint that writes summaries."""
    backend = "memorybank.llm.openai_compatible.OpenAICompatibleLLM"
    return {"summary": {"BACKEND": backend, "BASE_URL": base_url, "MODEL": "bench", "TIMEOUT": 60.0, "MAX_RETRIES": 0}}

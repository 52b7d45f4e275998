"""On a server with pgvector everything about vectors holds as without it, and what is said of the index alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pgvector_server import pgvector_server
from tests.support.requirements import needs_pgvector, only_in_ci

ROOT = Path(__file__).parents[2]
#: The cases of the index have a name that no other run collects.
CASE_FILES = ("tests/memorybank/indexing/test_embeddings.py", "tests/memorybank/indexing/pgvector_cases.py")


@only_in_ci
@pytest.mark.own_servers
def test_vectors_work_by_the_index_of_pgvector() -> None:
    needs_pgvector()
    with pgvector_server() as address:
        environment = {**os.environ, "DATABASE_URL": address, "TEST_DB_NAME": "test_pgvector"}
        for name in [name for name in environment if name.startswith("PYTEST_")]:
            del environment[name]
        command = [sys.executable, "-m", "pytest", "-q", "-n0", "-rs", *CASE_FILES]
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0 and "skipped" not in run.stdout, run.stdout + run.stderr

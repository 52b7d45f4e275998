"""On PostgreSQL each query of the chat path, the worker, the pages, the admin and erasure has a plan by an index."""

import json
from pathlib import Path

import pytest
from django.test import override_settings

from tests.support.own_site import site
from tests.support.requirements import needs_postgres, only_in_ci

pytestmark = [only_in_ci, pytest.mark.own_servers, pytest.mark.long]

EXPLAIN = """
import json
from benchmarks import plans, population
population.fill(0.001)
print(json.dumps(list(plans.explain())))
"""


def test_each_query_finds_its_rows_by_an_index(tmp_path: Path) -> None:
    """In a thousandth of a site of ten million turns: ``python -m benchmarks.plans`` takes larger ones."""
    no_static_files = override_settings(STATIC_ROOT="")  # WhiteNoise would warn, because tests collect none
    with site(tmp_path, postgres=needs_postgres()) as made, no_static_files:
        explained = made.call("shell", "--verbosity", "0", "-c", EXPLAIN)
    assert explained.code == 0, explained.err
    actions = json.loads(explained.out)
    assert [(action, wrong) for action, _, wrong in actions if wrong] == []
    assert all(statements for _, statements, _ in actions)
    assert len(actions) > 30  # with the lists of the admin

"""docs/clients.md is true: each example runs against a served site and is recorded there."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.commands import PROCESS_TIMEOUT_SECONDS, ROOT
from tests.support.gateway_site import Gateway
from tests.support.requirements import in_ci

pytestmark = pytest.mark.own_servers

PAGE = (ROOT / "docs/clients.md").read_text(encoding="utf-8")
#: Each example by the library that it imports first.
EXAMPLES = {re.split(r"[ .]", code.split("\n")[0])[1]: code for code in re.findall(r"```python\n(.*?)```", PAGE, re.S)}
#: The libraries whose examples run outside CI, too.
EVERYDAY = ("memory_bank_client", "openai")


def python_with(library: str) -> str:
    """A Python that has the library: this one, or one that `make test-clients` has installed; else one loud skip."""
    if find_spec(library):
        return sys.executable
    installed = Path(os.environ.get("TEST_CLIENTS") or os.devnull).glob(f"*/lib/python*/site-packages/{library}")
    if python := next(installed, None):
        return str(python.parents[3] / "bin" / "python")
    pytest.skip(f"!! NO {library}: `make test-clients` installs it and runs its example; it did NOT run.")


def test_the_page_names_every_library() -> None:
    assert sorted(EXAMPLES) == sorted(
        ["agents", "anthropic", "langchain_openai", "llama_index", "memory_bank_client", "openai", "pydantic_ai"]
    )


@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=[] if name in EVERYDAY else in_ci) for name in sorted(EXAMPLES)]
)
def test_its_example_runs_and_is_recorded(served: Gateway, library: str) -> None:
    program = EXAMPLES[library].replace("http://127.0.0.1:8000", served.address).replace("mb_…", served.key())
    before = len(served.turns())
    done = subprocess.run(
        [python_with(library), "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT / "clients/python/src"), "OPENAI_API_KEY": "unused"},
        capture_output=True,
        text=True,
        timeout=PROCESS_TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [turn] = served.turns()[before:]
    assert turn["status"] == "ok"
    assert turn["question"] in program

"""A Python client that openapi-python-client makes from the site's own description, used against the site. Opt-in."""

import json
import os
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.gateway_site import Gateway

from .test_python_client import ADMIN_KEY

PROGRAMS = Path(os.environ.get("TEST_CLIENTS") or os.devnull) / "openapi-python-client" / "bin"
pytestmark = [
    pytest.mark.own_servers,
    pytest.mark.skipif(
        not PROGRAMS.is_dir(),
        reason="!! NO generator: `make test-clients` installs openapi-python-client; its client was NOT tried.",
    ),
]

PROGRAM = """
import json, sys
from generated import AuthenticatedClient
from generated.api.forgetting import post_forget
from generated.api.memory import post_memory
from generated.api.outputs import get_outputs, post_outputs
from generated.models import ForgetRequest, MemoryRequest, NewOutput, Problem
bank = AuthenticatedClient(sys.argv[1], sys.argv[2])
turn = {"chat": "made", "author": "ann", "question": "We chose Postgres 16 for billing.", "answer": "Noted."}
recorded = post_outputs.sync(client=bank, body=NewOutput.from_dict(turn))
memory = post_memory.sync(client=bank, body=MemoryRequest(question="Which Postgres?"))
listed = get_outputs.sync(client=bank, chat="made")
refused = post_outputs.sync(client=bank, body=NewOutput.from_dict({**turn, "chat": " "}))
erased = post_forget.sync(client=bank, body=ForgetRequest(chat="made"))
print(json.dumps([
    recorded.recorded, memory.version, [each.question for each in listed.items],
    isinstance(refused, Problem) and refused.status, erased.counts.to_dict()["turns"],
]))
"""


def test_it_records_gives_memory_lists_and_forgets(served: Gateway, tmp_path: Path) -> None:
    with urlopen(f"{served.address}/api/v1/openapi.json", timeout=PROCESS_TIMEOUT_SECONDS) as description:
        (tmp_path / "openapi.json").write_bytes(description.read())
    (tmp_path / "use.py").write_text(PROGRAM, encoding="utf-8")
    key = served.site.call("shell", "--verbosity", "0", "-c", ADMIN_KEY).out.strip()
    options = ("--path", "openapi.json", "--meta", "none", "--output-path", "generated")
    out = ""
    for command in (["openapi-python-client", "generate", *options], ["python", "use.py", served.address, key]):
        program = str(PROGRAMS / command[0])
        done = subprocess.run(
            [program, *command[1:]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PROCESS_TIMEOUT_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        out = done.stdout
    recorded, version, questions, refused, turns = json.loads(out)
    assert (recorded, questions, refused, turns) == (True, ["We chose Postgres 16 for billing."], 422, 1)
    assert version >= 0

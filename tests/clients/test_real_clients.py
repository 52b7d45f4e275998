"""Real clients through the gateway, each in an environment of its own: which of their calls are recorded, and as what.

Opt-in: `make test-clients`. The upstream is ours: it calls the tool that a message names, and says something otherwise.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.gateway_site import Gateway, gateway
from tests.support.requirements import needs_clients
from tests.support.upstream import last_words
from tests.support.upstream_events import ModelAnswer

from .install import CLIENTS, folder

pytestmark = [pytest.mark.own_servers]

PROGRAMS = Path(__file__).parent / "programs"
CALL = re.compile(r"\[\[call (\S+) (.*?)\]\]", re.S)
STRUCTURED = {"title": "The ledger", "name": "Ledger", "engine": "PostgreSQL 16"}
FORMATS = ("response_format", "output_config")


def directed(body: dict[str, Any]) -> ModelAnswer:
    """The tool that the newest message names, or that is forced; a structured answer; or words."""
    words = last_words(body)
    tools = [tool.get("name") or (tool.get("function") or {}).get("name") for tool in body.get("tools") or []]
    if (named := CALL.search(words)) and named[1] in tools:
        return ModelAnswer("", (named[1], named[2]))
    choice = body.get("tool_choice")
    if (choice.get("type") if isinstance(choice, dict) else choice) in ("required", "any", "tool", "function"):
        return ModelAnswer("", (tools[-1], json.dumps({name: STRUCTURED[name] for name in ("name", "engine")})))
    if any("format" in json.dumps(body.get(name) or {}) or name in body for name in FORMATS[:1]) or (
        "schema" in json.dumps(body.get(FORMATS[1]) or {})
    ):
        return ModelAnswer(json.dumps(STRUCTURED))
    return ModelAnswer(f"You said: {words[-120:]} And that is all there is to say about it.")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    needs_clients()
    with gateway(tmp_path_factory.mktemp("gateway")) as served_site:
        served_site.upstream.answer = directed
        yield served_site


def run(served: Gateway, client: dict[str, Any], place: Path, home: Path, key: str) -> None:
    """The client's program, in an empty home and project."""
    program, work = PROGRAMS / client["program"], home / "project"
    work.mkdir(parents=True)
    path = os.pathsep.join([str(place / "bin"), str(place / "node_modules" / ".bin"), os.environ["PATH"]])
    addresses = {"ADDRESS": served.address, "OPENAI_BASE_URL": served.base_url, "ANTHROPIC_BASE_URL": served.address}
    quiet = {"DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    keys = {"OPENAI_API_KEY": key, "ANTHROPIC_API_KEY": key}
    env = {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", **addresses, **keys, **quiet}
    if program.suffix == ".mjs":  # modules are looked for beside the program
        program = place / program.name
        program.write_bytes((PROGRAMS / program.name).read_bytes())
    starter = {".py": [str(place / "bin" / "python")], ".sh": ["sh", "-e"], ".mjs": ["node"]}[program.suffix]
    ran = subprocess.run(
        [*starter, str(program)],
        env=env,
        cwd=work,
        capture_output=True,
        text=True,
        timeout=3 * PROCESS_TIMEOUT_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]


@pytest.mark.parametrize("client", CLIENTS, ids=[client["name"] for client in CLIENTS])
def test_of_a_client_the_questions_of_people_are_recorded_and_nothing_else(
    served: Gateway, client: dict[str, Any], tmp_path: Path
) -> None:
    place = folder(needs_clients(), client)
    if not (place / "ready").exists():
        pytest.skip(f"!! {client['name']} is not installed; it was NOT tested.")
    options = ("--name", client["name"], "--scopes", "read,write", "--json")
    key = served.site.call("create_api_key", "acme/apollo", *options).json["key"]
    before, calls = len(served.turns()), len(served.calls())
    run(served, client, place, tmp_path / "home", key)
    aside = {question for (question,) in served.site.ask("SELECT question FROM memorybank_output WHERE set_aside")}
    turns = served.turns()[before:]
    kept = [turn for turn in turns if turn["question"] not in aside]
    made = len(served.calls()) - calls
    print(f"{client['name']}: {made} calls, {len(kept)} turns", file=sys.stderr)  # noqa: T201  # the table
    assert [turn["question"] for turn in kept] == client["recorded"]
    assert {turn["status"] for turn in kept} <= {"ok"}
    assert made >= len(kept) + client.get("beside", 0)

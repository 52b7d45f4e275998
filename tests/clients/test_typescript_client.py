"""The TypeScript package against a served site: its types are made from the site's description, and it is used."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.support.commands import PROCESS_TIMEOUT_SECONDS, ROOT
from tests.support.gateway_site import Gateway

from .test_python_client import ADMIN_KEY

MODULES = Path(os.environ.get("TEST_CLIENTS") or os.devnull) / "typescript" / "node_modules"
pytestmark = [
    pytest.mark.own_servers,
    pytest.mark.skipif(
        not MODULES.is_dir(),
        reason="!! NO TypeScript: `make test-clients` installs it and runs the package; it did NOT run.",
    ),
]

PACKAGE = ROOT / "clients/typescript"
PROGRAM = """
import { MemoryBank, MemoryBankError } from "memory-bank-client";
const [address, key] = process.argv.slice(2);
const bank = new MemoryBank(address, key);
const turn = { chat: "ts-1", author: "ann", question: "We chose Postgres 16 for billing.", answer: "Noted.", id: "ts" };
const first = await bank.record(turn);
const again = await bank.record(turn);
const memory = await bank.memory("Which Postgres?", "ts-2");
const recalled = await bank.recall("Postgres", { top: 3 });
const erased = await bank.forget({ chat: "ts-1" });
let refused;
try { await bank.record({ ...turn, chat: " " }); } catch (error) { refused = error; }
console.log(JSON.stringify({
  first, again, memory, recalled, erased,
  refused: [refused instanceof MemoryBankError, refused.status, refused.errors[0].pointer],
}));
"""


def run(*command: str, folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=PROCESS_TIMEOUT_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def program(site_of_module: Gateway, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program's folder that has the built package among its node_modules."""
    folder = tmp_path_factory.mktemp("program")
    package = shutil.copytree(PACKAGE, folder / "package")
    (package / "node_modules").symlink_to(MODULES)
    with urlopen(f"{site_of_module.address}/api/v1/openapi.json", timeout=PROCESS_TIMEOUT_SECONDS) as description:
        (package / "openapi.json").write_bytes(description.read())
    run("npm", "run", "generate", folder=package)
    run("npm", "run", "build", folder=package)
    (folder / "node_modules").mkdir()
    (folder / "node_modules/memory-bank-client").symlink_to(package)
    return folder


def test_it_records_gives_memory_recalls_and_forgets(served: Gateway, program: Path) -> None:
    key = served.site.call("shell", "--verbosity", "0", "-c", ADMIN_KEY).out.strip()
    (program / "use.mjs").write_text(PROGRAM, encoding="utf-8")
    result = json.loads(run("node", "use.mjs", served.address, key, folder=program))
    assert (result["first"]["recorded"], result["again"]["id"]) == (True, result["first"]["id"])
    assert result["memory"]["version"] >= 0
    assert isinstance(result["recalled"], list)
    assert result["erased"]["counts"]["turns"] == 1
    assert result["refused"] == [True, 422, "/chat"]


def test_the_example_of_its_page_compiles_and_runs(served: Gateway, program: Path) -> None:
    [example] = re.findall(r"```ts\n(.*?)```", (PACKAGE / "README.md").read_text(encoding="utf-8"), re.S)
    example = example.replace("https://memory.example.com", served.address).replace("mb_…", served.key())
    (program / "example.mts").write_text(example, encoding="utf-8")
    compiler = program / "package/node_modules/.bin/tsc"
    options = ("--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom", "--strict", "--skipLibCheck")
    run(str(compiler), *options, "example.mts", folder=program)
    before = len(served.turns())
    run("node", "example.mjs", folder=program)
    assert [turn["answer"] for turn in served.turns()[before:]] == ["Postgres 16."]

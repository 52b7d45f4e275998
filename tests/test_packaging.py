"""The wheel: it holds all that its two packages hold, and docs/embedding.md works with nothing else of ours."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.commands import ROOT

PACKAGES = ("memorybank", "projects")
PAGE = (ROOT / "docs/embedding.md").read_text(encoding="utf-8")
# Nothing is fetched: the tool that builds it is installed, and so is all that it needs.
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
OFFLINE = ["--quiet", "--no-index", "--no-deps"]

pytestmark = pytest.mark.long


def run(command: list[str], cwd: Path, **environment: str) -> str:
    """What the command prints; it must succeed."""
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, because building leaves folders behind, and takes in what an older one left."""
    source = tmp_path_factory.mktemp("source")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, source)
    run([*PIP, "wheel", *OFFLINE, "--no-build-isolation", "--wheel-dir", "built", "."], source)
    return next((source / "built").glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel alone. What it depends on is where this test found it."""
    target = tmp_path_factory.mktemp("installed")
    run([*PIP, "install", *OFFLINE, "--target", str(target), str(wheel)], target)
    return target


def test_it_holds_every_file_of_the_packages(wheel: Path) -> None:
    ours = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == ours


def test_the_page_on_embedding_works_as_it_stands(installed: Path, tmp_path: Path) -> None:
    for name, text in re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.S):
        (tmp_path / name).write_text(text, encoding="utf-8")
    commands, printed = re.search(r"```sh\n(.*?)```.*?~~~text\n(.*?)~~~", PAGE, re.S).groups()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {"PATH": path, "PYTHONPATH": os.pathsep.join([str(installed), str(tmp_path)])}
    where = run(["python", "-c", "import memorybank; print(memorybank.__file__)"], tmp_path, **environment)
    assert Path(where).is_relative_to(installed), "it is ours from the wheel, not from this checkout"
    assert run(["sh", "-ec", commands], tmp_path, **environment).endswith(printed)

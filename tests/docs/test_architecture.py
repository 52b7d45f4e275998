"""The house rules that a machine can check."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

ROOT = Path(__file__).parent.parent.parent
OURS = sorted(
    path
    for folder in ("config", "memorybank", "projects", "tests", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
    if "migrations" not in path.parts
)
MAX_LINES = 350


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_imports_point_down_and_every_module_has_its_layer() -> None:
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run([sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_showing_memory_loads_neither_what_writes_it_nor_the_pages_nor_a_client() -> None:
    """A command begins in half the time that way."""
    code = """if True:
        import sys
        from django.core.management import execute_from_command_line
        try:
            execute_from_command_line(["manage.py", "show_memory", "--help"])
        except SystemExit:
            print(*sys.modules)
    """
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "memorybank.reading.rendering" in loaded
    ours = {"memorybank.writing.summarising", "memorybank.admin", "projects.chat.views"}
    ours |= {"memorybank.safety.quarantine", "memorybank.safety.redaction"}
    assert not loaded & {*ours, "celery", "openai", "kingfisher_sdk", "phonenumbers", "stdnum", "tiktoken", "numpy"}


@pytest.mark.parametrize("path", OURS, ids=name_of)
def test_every_file_says_its_purpose_first(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not text.strip() or ast.get_docstring(ast.parse(text)), f"{name_of(path)} does not say what it is for"


@pytest.mark.parametrize("path", [p for p in OURS if "tests" not in p.parts], ids=name_of)
def test_no_module_outgrows_its_purpose(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES
    assert path.stem not in ("utils", "helpers", "common", "misc")


@pytest.mark.django_db
def test_migrations_are_up_to_date_and_import_no_app_code() -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)
    for path in ROOT.glob("*/migrations/0*.py"):
        assert not re.search(r"^(?:from|import) (?:memorybank|projects|config)", path.read_text(), re.MULTILINE), path


def test_the_judge_of_memory_has_words_of_its_own() -> None:
    assert "memorybank" not in (ROOT / "benchmarks" / "wording.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt", "requirements-llm.txt"])
def test_requirements_are_pinned_with_hashes_and_name_no_address(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text and "--index" not in text
    for requirement in re.findall(r"^[a-zA-Z].*", text, re.MULTILINE):
        assert "==" in requirement and requirement.endswith("\\"), requirement

"""The house rules that a machine can check."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import grimp  # import-linter's own graph of imports
import pytest
from django.core.management import call_command

ROOT = Path(__file__).parent.parent.parent
PYTHON_FILES = sorted(
    path
    for folder in ("config", "memorybank", "projects", "tests", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
    if "migrations" not in path.parts
)
MAX_LINES = 350
MAX_IMPORT_CHAIN = 25
MAX_MODULES_IN_FOLDER = 15
# A possessive quantifier after a group or an inserted pattern ({name}). CPython before 3.11.5 matches it in the wrong
# place (gh-100061, gh-106052), and before 3.12.8 and 3.13.1 it may raise SystemError if the group captures (gh-101955).
# Possessive single characters and atomic groups mean the same everywhere.
POSSESSIVE_GROUP = re.compile(r"(?<!\\)(?:\\\\)*[)}](?:[*+?]|\{+\d*,?\d*\}+)\+")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_imports_point_down_and_every_module_has_its_layer() -> None:
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run([sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_nobody_has_to_follow_a_long_chain_of_imports_or_a_circle() -> None:
    """Counted in files, packages' own included; imports inside functions and those for type checkers count, too."""
    graph = grimp.build_graph("config", "memorybank", "projects", cache_dir=None)
    modules = {module for module in graph.modules if ".migrations" not in module}
    imports = {module: graph.find_modules_directly_imported_by(module) & modules for module in modules}
    chains: dict[str, tuple[str, ...]] = {}
    for module in TopologicalSorter(imports).static_order():  # raises CycleError for a circle
        longest = max((chains[imported] for imported in imports[module]), key=len, default=())
        chains[module] = (module, *longest)
    longest = max(chains.values(), key=len)
    assert len(longest) <= MAX_IMPORT_CHAIN, "\n".join(longest)


def test_no_folder_is_too_full_to_be_taken_in_at_once() -> None:
    folders = Counter(
        name_of(path.parent)
        for path in PYTHON_FILES
        if path.parts[len(ROOT.parts)] not in ("tests", "benchmarks") and path.stem != "__init__"
    )
    del folders["projects/management/commands"]
    assert not {folder: count for folder, count in folders.items() if count > MAX_MODULES_IN_FOLDER}


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


def test_every_file_says_its_purpose_first() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in PYTHON_FILES}
    silent = [name_of(path) for path, text in texts.items() if text.strip() and not ast.get_docstring(ast.parse(text))]
    assert silent == []


def test_no_module_outgrows_its_purpose() -> None:
    modules = [path for path in PYTHON_FILES if "tests" not in path.relative_to(ROOT).parts]
    lines = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in modules}
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}
    assert [name_of(path) for path in modules if path.stem in ("utils", "helpers", "common", "misc")] == []


def test_no_pattern_repeats_a_group_possessively() -> None:
    wrong = [
        f"{name_of(path)}:{number}: {line.strip()}"
        for path in (*PYTHON_FILES, *ROOT.glob("*/**/*.toml"))
        if path.relative_to(ROOT).parts[0] in ("config", "memorybank", "projects")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if POSSESSIVE_GROUP.search(line)
    ]
    assert not wrong, f"write (?>(?:…)*) for (?:…)*+, which means something else on another Python: {wrong}"


@pytest.mark.parametrize(
    "line",
    [
        r"(?: (?P<part>morning|night))?+",
        r"(?:\.\d++){2,}+",
        r"(?:[,.]\d{{3}}){{0,8}}+",
        r"(a)++",
        r"(?:\\)*+",
        "{_ITEM}*+",
    ],
)
def test_it_sees_that_a_group_is_repeated_possessively(line: str) -> None:
    assert POSSESSIVE_GROUP.search(line)


@pytest.mark.parametrize(
    "line", [r"(?>(?: (?P<part>a|b))?)", r"\s*+[\])]++\)*+\}++", r"\d{1,3}+x{{2,}}+", "(?:a)+", "{_ITEM}+"]
)
def test_it_lets_a_single_character_be_repeated_possessively(line: str) -> None:
    assert not POSSESSIVE_GROUP.search(line)


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

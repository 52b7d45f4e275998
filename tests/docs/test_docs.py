"""The documentation is true: commands, options, links, settings, rooms and words, the index of decisions."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields

import pytest
from django.core.management import get_commands, load_command_class
from django.core.management.base import CommandParser

from memorybank import conf
from memorybank.models.bank import MAX_IDLE_MINUTES, MAX_TOKENS, MIN_TOKENS
from projects.web.providers import PROVIDERS
from tests.support.commands import ROOT

DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "projects").rglob("*.md")]
)
SETTINGS = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
OUR_COMMANDS = {name for name, app in get_commands().items() if app in ("projects", "memorybank")}


def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def parser_of(command: str) -> CommandParser:
    return load_command_class(get_commands()[command], command).create_parser("manage.py", command)


def rows(text: str) -> Iterator[list[str]]:
    """The cells of every table row."""
    for line in text.splitlines():
        if line.startswith("| ") and line.endswith("|"):
            yield [cell.strip() for cell in line.strip("|").split("|")]


# --- commands ------------------------------------------------------------------------------------


def invocations(text: str) -> Iterator[tuple[str, str]]:
    """Every use of a command in code: ``manage.py NAME …``, or one of ours at the beginning of a code span."""
    for block in re.findall(r"```.*?```|`[^`\n]+`", text, re.S):
        yield from re.findall(r"manage\.py (\w+)([^\n`#]*)", block)
        if (match := re.match(r"`(\w+)((?: [^`]*)?)`$", block)) and match[1] in OUR_COMMANDS:
            yield match[1], match[2]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_and_option_named_exists(document: str) -> None:
    for name, rest in invocations(text_of(document)):
        if name in ("COMMAND",):
            continue
        assert name in get_commands(), f"{document}: manage.py {name}"
        known = set(parser_of(name)._option_string_actions)
        for option in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", rest):
            assert option in known, f"{document}: {name} has no {option}"


def test_the_page_of_commands_lists_ours_with_all_their_options() -> None:
    listed = {}
    for cells in rows(text_of("docs/commands.md")):
        if match := re.match(r"`(\w+)( [^`]*)?`$", cells[0]):
            listed[match[1]] = (match[2] or "", cells[-1])
    assert set(listed) & OUR_COMMANDS == OUR_COMMANDS
    for name in OUR_COMMANDS:
        options = {
            o for action in parser_of(name)._actions for o in action.option_strings if action.help != "==SUPPRESS=="
        }
        ours = {option for option in options if option.startswith("--")} - {"--help", "--json", "--skip-checks"}
        usage, takes_json = listed[name]
        assert set(re.findall(r"--[a-z-]+", usage)) == ours, name
        assert (takes_json == "✓") == ("--json" in options), name


def test_the_make_targets_named_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.M))
    for document in DOCUMENTS:
        for target in re.findall(r"(?:^|`)make ([a-z-]+)", text_of(document), re.M):
            assert target in targets, f"{document}: make {target}"


# --- links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_relative_link_resolves(document: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(document)):
        if not re.match(r"[a-z]+:", target):
            assert ((ROOT / document).parent / target.partition("#")[0]).exists(), f"{document}: {target}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_named_in_code_exists(document: str) -> None:
    for path in re.findall(r"`((?:config|docs|memorybank|projects|tests)/[\w./-]*)`", text_of(document)):
        assert (ROOT / path).exists(), f"{document}: {path}"


# --- architecture ---------------------------------------------------------------------------------


def test_the_rooms_are_the_folders_there_are() -> None:
    rooms = text_of("docs/architecture.md").partition("## Rooms")[2].partition("\n## ")[0]
    for package in ("projects", "memorybank"):
        table = rooms.partition(f"| `{package}/` |")[2].partition("\n\n")[0]
        named = set(re.findall(r"`(\w+)/`", table.replace("gateway/protocols/", "").replace("language/packs/", "")))
        folders = {path.name for path in (ROOT / package).iterdir() if path.is_dir() and path.name[0] != "_"}
        assert named | {"templates", "locale"} == folders | {"templates", "locale"}, package


def test_the_glossary_is_short() -> None:
    glossary = text_of("docs/architecture.md").partition("## Glossary")[2]
    assert 0 < len(list(rows(glossary))) - 1 <= 30, "a word that needs a glossary must earn its place"


def test_the_ten_steps_name_functions_that_exist() -> None:
    steps = text_of("docs/architecture.md")
    assert re.findall(r"^(\d+)\. ", steps, re.M) == [str(number) for number in range(1, 11)]
    for function, path in re.findall(r"`([\w.]+)` \(`([\w/]+\.py)`\)", steps):
        source = text_of(path)
        assert all(re.search(rf"^ *(?:def|class) {name}\b", source, re.M) for name in function.split(".")), function


# --- settings ------------------------------------------------------------------------------------


def environment() -> dict[str, object]:
    """Every variable that ``config/settings.py`` reads by name, with its default (… where that is computed)."""
    values: dict[str, object] = {}
    for node in ast.walk(ast.parse((ROOT / "config/settings.py").read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)):
            continue
        called = ast.unparse(node.func)
        if called.startswith("env.") or called == "_number":
            given = [*node.args[1:], *(keyword.value for keyword in node.keywords if keyword.arg == "default")]
            values.setdefault(str(node.args[0].value), _literal(given[0]) if given else ...)
    options = (
        "BASE_URL",
        "API_KEY",
        "MODEL",
        "TIMEOUT",
        "MAX_RETRIES",
        "JSON_SCHEMA",
        "PROMPT_PRICE",
        "COMPLETION_PRICE",
    )
    for name in options:
        values |= {f"LLM_{name}": ..., f"SUMMARY_LLM_{name}": ...}
    for provider in PROVIDERS:
        values |= {f"GATEWAY_{provider.upper()}_{part}": ... for part in ("BASE_URL", "API_KEY")}
    return values


def _literal(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ...


def listed_variables() -> dict[str, str]:
    """Variable → default, as the tables of docs/settings.md have them."""
    sections = SETTINGS.split("\n## ")[1:3]
    named = (cells for section in sections for cells in rows(section) if cells[0].startswith("`"))
    return {cells[0].strip("`"): cells[1].strip("`") for cells in named}


def test_it_lists_every_variable_of_the_environment() -> None:
    assert set(listed_variables()) == set(environment())


def test_it_gives_the_defaults_of_the_environment() -> None:
    listed = listed_variables()
    for name, default in environment().items():
        if isinstance(default, list):
            assert listed[name] == ",".join(default), name
        elif default is not ...:
            assert listed[name] == str(default), name


def test_it_gives_the_defaults_of_the_model_that_are_written_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    from config.settings import _llm

    for name in environment():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LLM_API_KEY", "sk-1")
    built = _llm("LLM_")
    assert built is not None
    listed = listed_variables()
    for name in ("BASE_URL", "MODEL", "TIMEOUT", "MAX_RETRIES"):
        assert listed[f"LLM_{name}"] == str(built[name]), name
        assert listed[f"SUMMARY_LLM_{name}"] == f"LLM_{name}"
    inherited = _llm("SUMMARY_LLM_", "LLM_")
    assert inherited == built


def test_it_lists_every_setting_of_the_memory_bank_with_its_default() -> None:
    section = SETTINGS.split("\n## ")[3]
    listed = {cells[0].strip("`"): cells[1] for cells in rows(section) if cells[0].startswith("`")}
    defaults = conf.Conf()
    for field in fields(conf.Conf):
        value = getattr(defaults, field.name)
        shown = str(value) if isinstance(value, int | float) else f"`{value}`" if value else listed[field.name.upper()]
        assert listed.pop(field.name.upper()) == shown, field.name
    assert not listed, "no such settings"


def test_it_gives_the_limits_of_a_project() -> None:
    assert f"| {MIN_TOKENS} to {MAX_TOKENS:,} tokens |" in SETTINGS
    assert f"| 1 to {MAX_IDLE_MINUTES:,} |" in SETTINGS


def test_the_example_env_names_nothing_else() -> None:
    known = {*environment(), *(f"MEMORYBANK_{name.upper()}" for name, _ in conf.numeric_settings())}
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert set(re.findall(r"^# ([A-Z_]+)=", example, re.M)) <= known


# --- decisions -----------------------------------------------------------------------------------


def test_the_index_of_decisions_is_complete_and_in_their_words() -> None:
    folder = ROOT / "docs/decisions"
    pages = sorted(path for path in folder.glob("*.md") if path.name != "README.md")
    assert [path.name[:4] for path in pages] == [f"{number:04}" for number in range(1, len(pages) + 1)]
    expected = []
    for page in pages:
        number, _, title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").partition(" ")
        expected.append(f"| {number} | [{title}]({page.name}) |")
    index = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in index if line.startswith("| 0")] == expected


def test_every_decision_has_context_decision_and_what_was_rejected() -> None:
    for page in (ROOT / "docs/decisions").glob("0*.md"):
        headings = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.M)
        assert headings == ["Context", "Decision", "Rejected"], page.name


# --- licences ------------------------------------------------------------------------------------


def test_the_notice_names_every_file_that_is_not_ours() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    for table in (ROOT / "memorybank/language/encodings").iterdir():
        assert f"memorybank/language/encodings/{table.name}" in notice

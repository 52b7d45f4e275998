"""Each language is one file that says everything, and the code that uses them names no word of its own."""

import ast
import re
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path

import pytest

from memorybank import language
from memorybank.language import pack_loader
from memorybank.language.pack_loader import PACKS, read
from tests.support.commands import ROOT

FILES = sorted(PACKS.glob("*.toml"))
#: What reads text by its words.
USERS = [
    path
    for room in ("core", "language", "safety", "reading/recall", "writing")
    for path in sorted((ROOT / "memorybank" / room).rglob("*.py"))
    if path.stem not in ("characters", "escaping", "lookalikes")  # they are about characters, not words
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_pack_says_everything(path: Path) -> None:
    assert read(path) == language.pack(path.stem)


@pytest.mark.parametrize(
    ("cut", "named"),
    [(r"praise = \"\"\".*?\"\"\"\n", "praise"), (r"\[clauses\].*?(?=\n\[)", "clauses"), (r"spaced = true\n", "spaced")],
)
def test_it_refuses_a_pack_that_leaves_something_out(cut: str, named: str, tmp_path: Path) -> None:
    path = tmp_path / "xx.toml"
    path.write_text(re.sub(cut, "", (PACKS / "de.toml").read_text(encoding="utf-8"), flags=re.S), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"xx\.toml.*{named}"):
        read(path)


def test_it_refuses_what_nobody_reads(tmp_path: Path) -> None:
    path = tmp_path / "xx.toml"
    path.write_text((PACKS / "de.toml").read_text(encoding="utf-8") + '\n[jokes]\nshort = ""\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"xx\.toml.*jokes"):
        read(path)


def test_a_new_file_is_a_new_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(PACKS, tmp_path, dirs_exist_ok=True)
    shutil.copy(PACKS / "de.toml", tmp_path / "nl.toml")
    monkeypatch.setattr(pack_loader, "PACKS", tmp_path)
    assert {each.code for each in pack_loader.packs.__wrapped__()} == {path.stem for path in FILES} | {"nl"}


def test_the_packs_are_read_once() -> None:
    assert language.packs() is language.packs()
    assert pack_loader.packs.cache_info().misses <= 1


@pytest.mark.parametrize("pack", language.packs(), ids=lambda pack: pack.code)
def test_a_calendar_is_whole(pack: language.Pack) -> None:
    assert len(pack.dates.months) in (0, 12)
    assert len(pack.dates.weekdays) == 7
    assert set(pack.dates.units) == {"day", "week", "month", "year"}
    assert len(pack.clauses.comma) == 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_word_stands_in_a_list_twice(path: Path) -> None:
    with path.open("rb") as file:
        raw = tomllib.load(file)
    for section in ("words", "clauses"):
        for entry, words in raw[section].items():
            listed = words.split() if isinstance(words, str) else words
            assert len(listed) == len(set(listed)), f"{section}.{entry}"


def words_in(value: object) -> Iterator[str]:
    """Every word of a section, in lower case."""
    if isinstance(value, dict):
        yield from (word for each in value.values() for word in words_in(each))
    elif isinstance(value, list | tuple):
        yield from (word for each in value for word in words_in(each))
    else:
        yield from re.findall(r"[^\W\d_]{2,}", str(value).casefold())


@cache
def known_words() -> frozenset[str]:
    """The words of all packs. Those of instructions and directions are also words of markup and of protocols."""
    sections = [
        field.name
        for field in fields(language.Pack)
        if field.name not in ("code", "spaced", "instructions", "directions")
    ]
    return frozenset(word for pack in language.packs() for name in sections for word in words_in(asdict(pack)[name]))


def literals(tree: ast.AST) -> Iterator[str]:
    """The strings of a module that are no docstrings."""
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


def lists(tree: ast.AST) -> Iterator[list[str]]:
    """The word lists of a module: running text that is split, sequences of words, alternatives of a pattern."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "split" and isinstance(node.value, ast.Constant):
            yield str(node.value.value).split()
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            yield [each.value for each in node.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    for text in literals(tree):
        yield from (found.split("|") for found in re.findall(r"[^\W\d_]+(?:\|[^\W\d_]+)+", text))


#: The names of units and of kinds are names in the code, too.
NAMES = [["day", "week", "month", "year"], ["fact", "decision", "preference", "question"]]


def own_words(source: str, known: frozenset[str]) -> list[str]:
    """What a module knows of languages: lists of words that the packs have, and words of other letters."""
    tree = ast.parse(source)
    shared = ((words, sum(word.casefold() in known for word in words)) for words in lists(tree) if words not in NAMES)
    found = [" ".join(words) for words, number in shared if number > 2 and number * 2 > len(words)]
    bare = " ".join(re.sub(r"\[[^\]]*\]|.-.", "", text) for text in literals(tree))
    return found + [word for word in re.findall(r"[^\W\d_]{2,}", bare) if not word.isascii()]


@pytest.mark.parametrize("path", USERS, ids=lambda path: path.relative_to(ROOT / "memorybank").as_posix())
def test_the_code_names_no_words_of_its_own(path: Path) -> None:
    assert own_words(path.read_text(encoding="utf-8"), known_words()) == []


@pytest.mark.parametrize(
    "source",
    [
        "DAYS = 'monday tuesday wednesday'.split()",
        "DAYS = ('lunedì', 'martedì', 'mercoledì')",
        "DAYS = re.compile(r'(?:lundi|mardi|mercredi) prochain')",
        "YESTERDAY = '昨天'",
        "WIND = 'Föhn über'",
    ],
)
def test_that_check_finds_words_in_code(source: str) -> None:
    assert own_words(source, known_words())


def test_what_no_language_has_matches_nothing() -> None:
    for pattern in (language.either([]), language.whole(lambda pack: ())):
        assert not re.search(pattern, "anything, or ")

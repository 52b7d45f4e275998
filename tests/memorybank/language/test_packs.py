"""Language packs: each language is one complete file, and the code contains no words of its own."""

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
from memorybank.language.pack_loader import PACKS_FOLDER, read_pack
from tests.support.commands import ROOT

FILES = sorted(PACKS_FOLDER.glob("*.toml"))
#: Modules that read text by its words.
USERS = [
    path
    for room in ("core", "language", "safety", "reading/recall", "writing")
    for path in sorted((ROOT / "memorybank" / room).rglob("*.py"))
    if path.stem not in ("characters", "escaping", "lookalikes")  # about characters, not words
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_pack_says_everything(path: Path) -> None:
    assert read_pack(path) == language.pack(path.stem)


@pytest.mark.parametrize(
    ("cut", "named"),
    [(r"praise = \"\"\".*?\"\"\"\n", "praise"), (r"\[clauses\].*?(?=\n\[)", "clauses"), (r"spaced = true\n", "spaced")],
)
def test_it_refuses_a_pack_that_leaves_something_out(cut: str, named: str, tmp_path: Path) -> None:
    path = tmp_path / "xx.toml"
    path.write_text(
        re.sub(cut, "", (PACKS_FOLDER / "de.toml").read_text(encoding="utf-8"), flags=re.S), encoding="utf-8"
    )
    with pytest.raises(ValueError, match=rf"xx\.toml.*{named}"):
        read_pack(path)


def test_it_refuses_what_nobody_reads(tmp_path: Path) -> None:
    path = tmp_path / "xx.toml"
    path.write_text(
        (PACKS_FOLDER / "de.toml").read_text(encoding="utf-8") + '\n[jokes]\nshort = ""\n', encoding="utf-8"
    )
    with pytest.raises(ValueError, match=r"xx\.toml.*jokes"):
        read_pack(path)


def test_a_new_file_is_a_new_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(PACKS_FOLDER, tmp_path, dirs_exist_ok=True)
    shutil.copy(PACKS_FOLDER / "de.toml", tmp_path / "nl.toml")
    monkeypatch.setattr(pack_loader, "PACKS_FOLDER", tmp_path)
    assert {pack.code for pack in pack_loader.packs.__wrapped__()} == {path.stem for path in FILES} | {"nl"}


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
        yield from (word for inner in value.values() for word in words_in(inner))
    elif isinstance(value, list | tuple):
        yield from (word for inner in value for word in words_in(inner))
    else:
        yield from re.findall(r"[^\W\d_]{2,}", str(value).casefold())


@cache
def known_words() -> frozenset[str]:
    """The words of all packs. Words of instructions are left out: they also occur in markup and protocols."""
    sections = [
        field.name
        for field in fields(language.Pack)
        if field.name not in ("code", "spaced", "instructions", "normative")
    ]
    return frozenset(word for pack in language.packs() for name in sections for word in words_in(asdict(pack)[name]))


def literals(tree: ast.AST) -> Iterator[str]:
    """The strings of a module except docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def lists(tree: ast.AST) -> Iterator[list[str]]:
    """The word lists of a module: split strings, sequences of words, alternatives of a pattern."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "split" and isinstance(node.value, ast.Constant):
            yield str(node.value.value).split()
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            yield [item.value for item in node.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    for text in literals(tree):
        yield from (alternatives.split("|") for alternatives in re.findall(r"[^\W\d_]+(?:\|[^\W\d_]+)+", text))


#: Units, kinds and sections of memory are names in the code, too; particles of names are of no one language.
NAMES = [
    ["day", "week", "month", "year"],
    ["fact", "decision", "plan", "preference", "question"],
    ["notes", "memory", "you", "project", "further", "detail"],
    "al and bin da de del den der di dos du e el et ibn la le of ten und van von y".split(),
]


def own_words(source: str, known: frozenset[str]) -> list[str]:
    """Words of languages in a module: lists of words that the packs have, and words in other scripts."""
    tree = ast.parse(source)
    shared = ((words, sum(word.casefold() in known for word in words)) for words in lists(tree) if words not in NAMES)
    lists_in_code = [" ".join(words) for words, number in shared if number > 2 and number * 2 > len(words)]
    bare = " ".join(re.sub(r"\[[^\]]*\]|.-.", "", text) for text in literals(tree))
    return lists_in_code + [word for word in re.findall(r"[^\W\d_]{2,}", bare) if not word.isascii()]


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
    for pattern in (language.alternation([]), language.whole_words(lambda pack: ())):
        assert not re.search(pattern, "anything, or ")

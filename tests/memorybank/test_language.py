"""Each language is one file that says everything, and the code that uses them names no word of its own."""

import shutil
import tomllib
from pathlib import Path

import pytest

from memorybank import language
from memorybank.language import reading
from memorybank.language.reading import PACKS, read

FILES = sorted(PACKS.glob("*.toml"))


def missing(path: Path, *, section: str, entry: str) -> str:
    """The text of a pack without one entry."""
    lines, skipping, within = [], False, ""
    for line in path.read_text(encoding="utf-8").splitlines():
        within = line.strip("[]") if line.startswith("[") and line.endswith("]") else within
        if within == section and line.startswith(f"{entry} = "):
            skipping = True
        elif skipping and (line[:1] in "[#" or " = " in line):
            skipping = False
        if not skipping:
            lines.append(line)
    return "\n".join(lines)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_pack_says_everything(path: Path) -> None:
    assert read(path) == language.pack(path.stem)


def test_it_refuses_a_pack_that_leaves_something_out(tmp_path: Path) -> None:
    path = tmp_path / "xx.toml"
    path.write_text(missing(PACKS / "de.toml", section="words", entry="praise"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"xx\.toml.*praise"):
        read(path)


def test_it_refuses_a_pack_without_a_section(tmp_path: Path) -> None:
    path = tmp_path / "xx.toml"
    text = (PACKS / "de.toml").read_text(encoding="utf-8")
    before, _, after = text.partition("[clauses]")
    path.write_text(before + "[" + after.partition("\n[")[2] if "\n[" in after else before, encoding="utf-8")
    with pytest.raises(ValueError, match=r"xx\.toml.*clauses"):
        read(path)


def test_it_refuses_what_nobody_reads(tmp_path: Path) -> None:
    path = tmp_path / "xx.toml"
    path.write_text((PACKS / "de.toml").read_text(encoding="utf-8") + '\n[jokes]\nshort = ""\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"xx\.toml.*jokes"):
        read(path)


def test_a_new_file_is_a_new_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(PACKS, tmp_path, dirs_exist_ok=True)
    shutil.copy(PACKS / "de.toml", tmp_path / "nl.toml")
    monkeypatch.setattr(reading, "PACKS", tmp_path)
    assert {each.code for each in reading.packs.__wrapped__()} == {path.stem for path in FILES} | {"nl"}


def test_the_packs_are_read_once() -> None:
    assert language.packs() is language.packs()
    assert reading.packs.cache_info().misses <= 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_word_stands_in_a_list_twice(path: Path) -> None:
    with path.open("rb") as file:
        raw = tomllib.load(file)
    for section in ("words", "clauses"):
        for entry, words in raw[section].items():
            listed = words.split() if isinstance(words, str) else words
            assert len(listed) == len(set(listed)), f"{section}.{entry}"

"""The packs, read from their files when somebody asks, and no more than once."""

import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from memorybank.language.pack import Beyond, Pack
from memorybank.language.sections import Table, Words

Known = TypeVar("Known", bound=Pack | Beyond)

KINDS = get_type_hints(Pack)
PACKS = Path(__file__).parent / "packs"
BEYOND = Path(__file__).parent / "beyond.toml"


@cache
def packs() -> tuple[Pack, ...]:
    """Every language, in the order of their codes."""
    return tuple(read(path) for path in sorted(PACKS.glob("*.toml")))


def spoken(words: Sequence[str]) -> str:
    """The code of the language that most of the words are function words of; "" if none has most."""
    counts = {each.code: sum(word in known for word in words) for each, known in _function_words()}
    most = max(counts.values())
    # A tie says nothing: names and numbers are the same in every language.
    found = [code for code, count in counts.items() if count == most]
    return found[0] if len(found) == 1 else ""


@cache
def _function_words() -> tuple[tuple[Pack, frozenset[str]], ...]:
    # Parted words only: in Chinese and Japanese a function word is no word of its own.
    return tuple((each, frozenset(each.words.function)) for each in packs() if each.spaced)


def pack(code: str) -> Pack:
    """One language; StopIteration if there is no such file."""
    return next(each for each in packs() if each.code == code)


def every(of: Callable[[Pack], Words], *, spaced: bool | None = None) -> Words:
    """What ``of`` takes from each language, each word once; ``spaced`` asks for one kind of script only."""
    return _taken(packs(), of, spaced)


@cache
def beyond() -> tuple[Beyond, ...]:
    """The languages of which only masking and screening know something."""
    with BEYOND.open("rb") as file:
        raw = tomllib.load(file)
    return tuple(
        Beyond(code=code, **{name: _section(name, value) for name, value in sections.items()})
        for code, sections in raw.items()
    )


def masking(of: Callable[[Pack | Beyond], Words], *, spaced: bool | None = None) -> Words:
    """As ``every``, of all languages that masking knows."""
    known: tuple[Pack | Beyond, ...] = (*packs(), *beyond())
    return _taken(known, of, spaced)


def _taken(known: Iterable[Known], of: Callable[[Known], Words], spaced: bool | None) -> Words:
    return tuple(dict.fromkeys(word for each in known if spaced in (None, each.spaced) for word in of(each)))


def meaning(tables: Iterable[Table]) -> dict[str, str]:
    """Each word of the tables → what it means; the first table that knows it decides."""
    known: dict[str, str] = {}
    for table in tables:
        for means, words in table.items():
            for word in words:
                known.setdefault(word, means)
    return known


def read(path: Path) -> Pack:
    """One file. ValueError says what in it is missing or unknown."""
    with path.open("rb") as file:
        raw = tomllib.load(file)
    try:
        return Pack(code=path.stem, **{name: _whole(name, value) for name, value in raw.items()})
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path.name}: {error}") from error


def _whole(name: str, raw: Any) -> Any:
    kind = KINDS[name]
    if kind is not bool and (missing := {each.name for each in fields(kind)} - raw.keys()):
        raise KeyError(f"{name} leaves out {', '.join(sorted(missing))}")
    return _section(name, raw)


def _section(name: str, raw: Any) -> Any:
    kind = KINDS[name]
    return raw if kind is bool else kind(**{key: _value(value) for key, value in raw.items()})


def _value(raw: Any) -> Any:
    """A string is words, an array phrases, a table words by meaning."""
    if isinstance(raw, dict):
        return {key: _value(value) for key, value in raw.items()}
    return tuple(raw.split()) if isinstance(raw, str) else tuple(raw)

"""Nobody's text takes long: what is done with a text of any kind grows as its length does.

Time is that of the thread alone, so a busy machine does not matter; a ratio has to be wrong four times in a row.
"""

import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from functools import cache
from pathlib import Path
from time import thread_time
from typing import Any

import pytest

import memorybank
import projects
from memorybank.core.validation import accept, unsupported
from memorybank.core.validation.numbers import values
from memorybank.language import dates
from memorybank.language.sentences import sentences, tidy
from tests.support.requirements import sampled

pytestmark = pytest.mark.long

#: Runs of these are what a pattern may read again and again; each has an end that nothing expects.
SEEDS = (
    *"> 1 . , a ( ) [ ] \" ' ` * _ - = # | / \\ : ; @ & < ~ ! ? \n \t 中 。 é α".split(" "), " ", "\n",
    "> ", "1 ", "1,", "1.", "1'", "111,", "111 ", "11:", "1-", "a ", "a.", "a,", "a-", "a_", "a1", "A ", "Ab ", "A.",
    "- ", "* ", "(1", "[1]", "[1,", "[a](", "**a", "`a", "a@", "a@a.", "http://a/", "<|", "中 ", "1中", "a (2023 ",
    "\n\n", "> \n", "key=", "+1 ", ", and ", "a b c ", "x=1;", "αα1", "  **a**",
)  # fmt: skip
SHORT, LONG = 1_000, 4_000


def patterns() -> dict[str, re.Pattern[str]]:
    """Every pattern compiled when our modules are loaded, by module and name."""
    named: dict[str, re.Pattern[str]] = {}
    for package in (memorybank, projects):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not re.search(r"\.migrations|__main__", module.name):
                for name, value in vars(importlib.import_module(module.name)).items():
                    named |= {f"{module.name}.{name}": item for item in inside(value) if isinstance(item.pattern, str)}
    return {name: item for item, name in {item: name for name, item in named.items()}.items()}


def inside(value: Any, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    """The patterns in a module's value, at any place in it."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, dict):
        yield from inside((*value, *value.values()), depth - 1)
    elif depth and isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from inside(item, depth - 1)


@cache
def uses() -> dict[str, set[str]]:
    """The methods that are called of each name anywhere; of a private name, in its own module, which is part of it."""
    called: dict[str, set[str]] = defaultdict(set)
    for package in (memorybank, projects):
        root = Path(package.__path__[0])
        for path in root.rglob("*.py"):
            module = ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
            # Read as text: parsing every file takes seconds in each process.
            for name, method in re.findall(r"(?<![\w.])(\w+)\.(\w+)", path.read_text(encoding="utf-8")):
                called[f"{module}.{name}" if name.startswith("_") else name].add(method)
    return called


PATTERNS = patterns()
ANCHORED, SEARCHING = {"match", "fullmatch"}, {"search", "sub", "split", "finditer", "findall"}


def as_used(name: str, pattern: re.Pattern[str]) -> list[Callable[[str], object]]:
    """What is done with it: one look at the beginning, or a search from every place."""
    short = name.rpartition(".")[2]
    called = uses()[name if short.startswith("_") else short] & {*ANCHORED, *SEARCHING}
    if called and called <= ANCHORED:
        return [getattr(pattern, method) for method in called]
    return [lambda text: sum(1 for _ in pattern.finditer(text))]


def seeds(pattern: str = "") -> Iterable[str]:
    """Those for every pattern, and pieces of its own: what nearly matches is what is read for long."""
    return dict.fromkeys([*SEEDS, *(re.findall(r"[^\W\d_]{2,}(?: [^\W\d_]+)?", pattern)[:6])])


def text_of(seed: str, length: int) -> str:
    return (seed * (length // len(seed) + 1))[:length] + "\x01"


def seconds(work: Callable[[str], object], text: str) -> float:
    start = thread_time()
    work(text)
    return thread_time() - start


def grows(work: Callable[[str], object], seed: str, short: int, long: int, unseen: float) -> bool:
    """Whether four times the text takes more than eight times as long (linear: 4, quadratic: 16), whenever asked."""
    texts = text_of(seed, short), text_of(seed, long)
    for _ in range(4):
        before = seconds(work, texts[0])
        if before < unseen:
            return False
        before = min(before, seconds(work, texts[0]))
        if before < unseen or seconds(work, texts[1]) <= 8 * before:
            return False
    return True


@pytest.mark.parametrize("name", sampled(sorted(PATTERNS), one_in=6))
def test_a_pattern_takes_no_longer_than_its_text(name: str) -> None:
    pattern = PATTERNS[name]
    works = as_used(name, pattern)
    slow = [seed for seed in seeds(pattern.pattern) for work in works if grows(work, seed, SHORT, LONG, 0.002)]
    assert not slow, f"{name} reads these again and again: {slow}"


CITED = "- fact: The crane is orange. [1]\n"
WHOLE: dict[str, Callable[[str], object]] = {
    "sentences": sentences,
    "tidy": tidy,
    "dates": lambda text: dates.resolve(text, date(2026, 3, 2)),
    "values": values,
    "accept": lambda text: accept(f"{CITED}- fact: {text} [1]", {"1": text}),
    "accept, as one run of the answer": lambda text: accept(text, {"1": "The crane is orange."}),
    "unsupported": lambda text: unsupported("The crane costs 12 euros", [text]),
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_done_with_a_message_takes_no_longer_than_it_is_long(name: str) -> None:
    slow = [seed for seed in seeds() if grows(WHOLE[name], seed, 1_500, 6_000, 0.01)]
    assert not slow, f"{name} reads these again and again: {slow}"


def test_a_line_that_cites_everything_is_checked_as_fast_as_its_sources_are_many() -> None:
    def work(text: str) -> object:
        labels = [str(number) for number in range(1, len(text) + 1)]
        line = f"- fact: Crane A7 lifts 12 tons on 3 May 2026 for 40 euros. [{', '.join(labels)}]"
        return accept("\n".join([line] * 3), {label: f"Crane {label} lifts {label} tons." for label in labels})

    assert not grows(work, "x", 500, 2_000, 0.0)


def test_forty_thousand_marks_in_one_message_are_read_once() -> None:
    assert not grows(sentences, ">", 10_000, 40_000, 0.0)  # it took 49 seconds; it takes milliseconds
    assert not grows(values, "9", 2_250, 9_000, 0.0)

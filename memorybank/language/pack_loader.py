"""The language packs: the sections of each, loaded from their TOML files once and on first use."""

import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from memorybank.language.characters import is_cjk
from memorybank.language.patterns import alternation
from memorybank.language.safety_sections import InjectionPatterns, NormativePatterns, PersonalDataWords, SecretWords
from memorybank.language.sections import (
    ChangePatterns,
    Clauses,
    ConversationalWords,
    DateWords,
    ForgetPhrases,
    KindPatterns,
    NumberWords,
    StatePatterns,
    Vocabulary,
    Words,
    WordsByMeaning,
)


@dataclass(frozen=True, slots=True)
class Pack:
    """One language. ``code`` is ISO 639-1; ``spaced`` says whether the language puts spaces between words."""

    code: str
    spaced: bool
    words: Vocabulary
    talk: ConversationalWords
    clauses: Clauses
    dates: DateWords
    numbers: NumberWords
    kinds: KindPatterns
    changes: ChangePatterns
    states: StatePatterns
    secrets: SecretWords
    personal: PersonalDataWords
    instructions: InjectionPatterns
    normative: NormativePatterns
    wishes: ForgetPhrases


@dataclass(frozen=True, slots=True)
class PartialPack:
    """A language without a full pack: only the words that masking and injection screening need."""

    code: str
    spaced: bool = True
    secrets: SecretWords = field(default_factory=SecretWords)
    personal: PersonalDataWords = field(default_factory=PersonalDataWords)
    normative: NormativePatterns = field(default_factory=NormativePatterns)
    #: Function words, by which the language is recognised.
    function: Words = ()


AnyPack = TypeVar("AnyPack", bound=Pack | PartialPack)

WORD, LATIN = re.compile(r"[^\W\d_]{2,}"), re.compile(r"[a-zà-ÿœß]")
#: A text of this many words without a function word of any pack counts as another language.
MIN_WORDS_TO_TELL = 9

SECTION_TYPES = get_type_hints(Pack)
PACKS_FOLDER = Path(__file__).parent / "packs"
PARTIAL_PACKS_FILE = Path(__file__).parent / "partial_packs.toml"


@cache
def packs() -> tuple[Pack, ...]:
    """Every language pack, ordered by code."""
    return tuple(read_pack(path) for path in sorted(PACKS_FOLDER.glob("*.toml")))


def detect_language(words: Sequence[str]) -> str:
    """Detect the language: the code with most function words among ``words``; "" on a tie."""
    counts = {pack.code: sum(word in function_words for word in words) for pack, function_words in _function_words()}
    highest = max(counts.values())
    # A tie decides nothing: names and numbers are the same in every language.
    codes = [code for code, count in counts.items() if count == highest]
    return codes[0] if len(codes) == 1 else ""


def knows_language(text: str) -> bool:
    """Whether the text seems to be in the language of a full pack, or is too short to tell."""
    if any(map(is_cjk, text)):
        return True
    words = WORD.findall(text.casefold())
    if sum(LATIN.search(word) is None for word in words) * 2 > len(words):
        return False
    known = max(sum(word in function_words for word in words) for _, function_words in _function_words())
    other = max(sum(word in function_words for word in words) for function_words in _other_function_words())
    return other <= known and (known > 0 or len(words) < MIN_WORDS_TO_TELL)


@cache
def _other_function_words() -> tuple[frozenset[str], ...]:
    shared = frozenset().union(*(function_words for _, function_words in _function_words()))
    return tuple(frozenset(pack.function) - shared for pack in partial_packs())


@cache
def _function_words() -> tuple[tuple[Pack, frozenset[str]], ...]:
    # Languages with spaces only: in Chinese and Japanese a function word is not a separate token.
    return tuple((pack, frozenset(pack.words.function)) for pack in packs() if pack.spaced)


def pack(code: str) -> Pack:
    """The pack of one language. Raises StopIteration if there is no such file."""
    return next(pack for pack in packs() if pack.code == code)


def collect(of: Callable[[Pack], Words], *, spaced: bool | None = None) -> Words:
    """The words that ``of`` takes from each pack, without repetition; ``spaced`` limits the kind of script."""
    return _collect(packs(), of, spaced)


@cache
def partial_packs() -> tuple[PartialPack, ...]:
    """The languages that only masking and injection screening know."""
    with PARTIAL_PACKS_FILE.open("rb") as file:
        raw = tomllib.load(file)
    return tuple(
        PartialPack(code=code, **{name: _section(name, value) for name, value in sections.items()})
        for code, sections in raw.items()
    )


def collect_for_masking(of: Callable[[Pack | PartialPack], Words], *, spaced: bool | None = None) -> Words:
    """Like ``collect``, but including the languages without a full pack."""
    languages: tuple[Pack | PartialPack, ...] = (*packs(), *partial_packs())
    return _collect(languages, of, spaced)


def _collect(languages: Iterable[AnyPack], of: Callable[[AnyPack], Words], spaced: bool | None) -> Words:
    wanted = (language for language in languages if spaced in (None, language.spaced))
    return tuple(dict.fromkeys(word for language in wanted for word in of(language)))


def whole_words(of: Callable[[Pack], Words]) -> str:
    """Patterns that ``of`` takes from the packs: whole words in languages with spaces, substrings elsewhere."""
    return rf"\b(?:{alternation(collect(of, spaced=True))})(?!\w)|{alternation(collect(of, spaced=False))}"


def meanings(tables: Iterable[WordsByMeaning]) -> dict[str, str]:
    """Word → meaning. If several tables have a word, the first one decides."""
    meanings: dict[str, str] = {}
    for table in tables:
        for meaning, words in table.items():
            for word in words:
                meanings.setdefault(word, meaning)
    return meanings


def read_pack(path: Path) -> Pack:
    """Read one pack file. ValueError names the missing or unknown entry."""
    with path.open("rb") as file:
        raw = tomllib.load(file)
    try:
        return Pack(code=path.stem, **{name: _complete_section(name, value) for name, value in raw.items()})
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path.name}: {error}") from error


def _complete_section(name: str, raw: Any) -> Any:
    kind = SECTION_TYPES[name]
    if kind is not bool and (missing := {field.name for field in fields(kind)} - raw.keys()):
        raise KeyError(f"{name} leaves out {', '.join(sorted(missing))}")
    return _section(name, raw)


def _section(name: str, raw: Any) -> Any:
    if name == "function":
        return _value(raw)
    kind = SECTION_TYPES[name]
    return raw if kind is bool else kind(**{key: _value(value) for key, value in raw.items()})


def _value(raw: Any) -> Any:
    """A string becomes words, an array becomes phrases, a table becomes words by meaning."""
    if isinstance(raw, dict):
        return {key: _value(value) for key, value in raw.items()}
    return tuple(raw.split()) if isinstance(raw, str) else tuple(raw)

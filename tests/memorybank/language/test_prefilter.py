"""The prefilter of patterns skips only what cannot match, whatever the form of a pattern, the case and the script."""

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybank.core.extraction import kinds
from memorybank.language.dates import english, tables
from memorybank.language.prefilter import Patterns, fold, needs_digit, pieces_of
from memorybank.safety import quarantine
from memorybank.safety.redaction import (
    codes,
    command_lines,
    contacts,
    identity_numbers,
    labelled,
    passwords,
    random_values,
    sequences,
    vendors,
)
from projects.importing import demo

USED: dict[str, Patterns] = {
    "English dates": english.ENGLISH_RULES,
    "dates of tables": tables.TABLE_RULES,
    "instructions": quarantine._PATTERNS,
    "normative forms": quarantine._NORMATIVE_FORMS,
    "kinds": kinds.KIND_SIGNS,
    "labels": labelled._PATTERNS,
    "codes": codes._PATTERNS,
    "passphrases": sequences._PASSPHRASES,
    "app passwords": sequences._PASSWORDS,
    "PINs": codes._PINS,
    "contacts": contacts._PATTERNS,
    "telephone numbers": contacts._PHONE_CUES,
    "identity numbers": identity_numbers._PATTERNS,
    "names of identity numbers": identity_numbers._ID_CUES,
    "names of schemes": identity_numbers._SCHEME_CUES,
    "births": identity_numbers._BIRTH_CUES,
    "passwords": passwords._PATTERNS,
    "announcements": passwords._ANNOUNCEMENTS,
    "command lines": command_lines._PATTERNS,
    "vendors": vendors._PATTERNS,
    "random values": random_values._PATTERNS,
}
#: Parts that patterns are built of, with what they match.
PARTS = (
    "ab",
    "1",
    "(?:1|a2)",
    "(?:1|b)",
    "[0-2]",
    "[a-c0-2]",
    "[^0-9]",
    r"\d?",
    r"(?=.\d)",
    r"(?<!\d)",
    r"(?:\d{2})+",
    "(?:ab|cd)",
    "c*",
    "(?:da)+",
    "[abc]",
    "(?=b)",
    "(?!d)",
    r"\b",
    "(?:b|)",
    "(?>ac|a)",
    "a{2,3}?",
    "(d)?",
)


@pytest.mark.parametrize(
    ("pattern", "pieces"),
    [
        ("never (?:show|tell)", {"never "}),
        ("(?:show|tell) a", {"show", "tell"}),
        ("(?:show)?a[xy]", {"a"}),
        ("(?:show|[xy])", set()),
        ("x*", set()),
        ("(?:day){2,}", {"day"}),
        ("(?:day)*week|month", {"week", "month"}),
        ("(?<=price )\\d+", {"price "}),
        ("(?<!price )\\d+", set()),
        ("(?P<unit>hour|minute)s?(?!x)", {"hour", "minute"}),
        ("前|后天", {"前", "后天"}),
    ],
)
def test_it_knows_pieces_that_every_match_contains(pattern: str, pieces: set[str]) -> None:
    assert pieces_of(re.compile(pattern)) == pieces


@pytest.mark.parametrize(
    "pattern", [r"a\d", "x[0-9]", r"(?:1|b\d)", r"(?=.{0,9}\d)x", r"(?:\d{2})+?", "(?>1a)", "[13-5]"]
)
def test_it_knows_that_every_match_has_a_digit(pattern: str) -> None:
    assert needs_digit(re.compile(pattern))


@pytest.mark.parametrize("pattern", [r"\d?a", "[^0-9]", "(?:1|b)", r"(?<!\d)x", r"[\d.]", r"\D", r"[^\d]", "1|b"])
def test_it_knows_that_a_match_may_have_no_digit(pattern: str) -> None:
    assert not needs_digit(re.compile(pattern))


def test_letters_that_are_equal_without_case_are_folded_alike() -> None:
    letters = [chr(n) for n in range(sys.maxunicode + 1) if chr(n).lower() != chr(n) or chr(n).upper() != chr(n)]
    by_lower: dict[str, str] = {}
    for letter in letters:  # the engine compares lower case, and a few letters beyond it
        other = by_lower.setdefault(letter.lower(), letter)
        if re.fullmatch(re.escape(other), letter, re.IGNORECASE):
            assert fold(other) == fold(letter), (other, letter)
    special = [chr(n) for n in (0x131, 0x130, 0x17F, 0x212A, 0x3C2, 0x1E9B, 0xFB06, 0x390, 0xB5, 0x345)]
    for one in special:
        for other in letters:
            if re.fullmatch(re.escape(other), one, re.IGNORECASE):
                assert fold(other) == fold(one), (other, one)


@given(
    st.lists(st.lists(st.sampled_from(PARTS), min_size=1, max_size=5), min_size=1, max_size=4),
    st.text("abcdAB12", max_size=12),
)
def test_it_finds_what_a_search_for_each_pattern_finds(parts: list[list[str]], text: str) -> None:
    patterns = [re.compile("".join(part), re.IGNORECASE) for part in parts]
    expected = [number for number, pattern in enumerate(patterns) if pattern.search(text)]
    assert list(Patterns((pattern, number) for number, pattern in enumerate(patterns)).found(text)) == expected


@pytest.mark.parametrize("name", USED)
def test_no_pattern_in_use_is_left_out_where_it_matches(name: str) -> None:
    patterns = [pattern for pattern, _ in USED[name]._patterns]
    texts = [line.output.question for line in demo.load_sample()][::10]
    for text in [*texts, *map(str.casefold, texts), *map(str.upper, texts)]:
        possible = [pattern for pattern, _ in USED[name].possible(text)]
        assert all(pattern in possible for pattern in patterns if pattern.search(text)), text


def test_most_patterns_in_use_are_skipped() -> None:
    patterns = quarantine._NORMATIVE_FORMS
    assert len(patterns.possible("the ledger moves to postgres on friday")) < len(patterns._patterns) / 10

"""Hidden characters: one definition, used by all code that reads or writes text."""

import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorybank.core.packing.items import inert
from memorybank.language import is_cjk, plain
from memorybank.language.terms import words
from memorybank.safety import deobfuscation
from memorybank.safety.escaping import escape

#: Between two of these a character cannot join, be white space or markup, or be a digit's unit.
BESIDE = "\u4e00"
ALL_CHARACTERS = [chr(point) for point in range(sys.maxunicode + 1)]
#: Visible characters that a line of memory rewrites, and tags, which quarantine reads as the text they smuggle.
MARKUP, TAGS = frozenset("<>"), range(0xE0000, 0xE0080)


def between(characters: list[str]) -> str:
    """Each character alone between two others."""
    return BESIDE.join(["", *characters, ""])


def test_whatever_reads_a_character_agrees_on_whether_anybody_sees_it() -> None:
    drawn = [c for c in ALL_CHARACTERS if c not in MARKUP and ord(c) not in TAGS and c != BESIDE and not c.isspace()]
    seen = plain(between(drawn))
    assert escape(between(drawn)) == inert(between(drawn)) == " ".join(seen.split())
    assert deobfuscation.normalized_line(between(drawn)) == deobfuscation.normalized_line(seen)
    assert len(drawn) - 5_500 > len(seen.replace(BESIDE, "")) > len(drawn) - 6_700


def test_nothing_is_hidden_of_what_has_a_shape() -> None:
    letters = [c for c in ALL_CHARACTERS if unicodedata.category(c)[0] in "LNPSZ" and unicodedata.category(c) != "Zl"]
    hidden = {c for c in letters if plain(f"a{c}b") == "ab"}
    assert hidden == set("\u115f\u1160\u3164\uffa0\U0001d159")  # Hangul fillers and the null notehead


@pytest.mark.parametrize(
    "hidden",
    [
        *("\x00", "\x07", "\x1b", "\x7f", "\x9b", "\u00ad", "\u034f", "\u061c", "\u200b", "\u200c", "\u200d", "\u200e"),
        *("\u202e", "\u2060", "\u2066", "\u3164", "\ufe0f", "\ufeff", "\ufff9", "\ud800", "\udfff"),
        *("\U000e0001", "\U000e0041", "\U000e01ef", "\U000e0fff"),
    ],
)
def test_what_shows_nothing_goes(hidden: str) -> None:
    assert plain(f"pay{hidden}ment") == "payment"


@pytest.mark.parametrize(
    "shown",
    [
        "می\u200cخواهم خانه\u200cها را ببینم",  # Persian separates parts of a word without a space
        "ශ්\u200dරී ලංකා",
        "क्\u200dष, क्\u200cष",
        "ന്\u200d",
        "👩\u200d👩\u200d👧 and 🏳\u200d🌈",
        "\ue000 \U0001faff \U000f0000",  # private use and unassigned
        "؀١٢",  # a sign over a number, though Unicode calls it a format character
    ],
)
def test_what_shapes_or_shows_something_stays(shown: str) -> None:
    assert plain(shown) == shown == escape(shown)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\u200db a\u200cb 数\u200d据", "ab ab 数据"),
        ("م\u200c\u200cن", "م\u200cن"),
        ("👩\u200d and", "👩 and"),
        ("❤\ufe0f\u200d🔥", "❤\u200d🔥"),
        ("e\u200b\u0301", "é"),
        ("⠓⠑⠀⠽", "⠓⠑ ⠽"),
        ("two\r\nlines\rand\u2028more\x85still\ta tab", "two\nlines\nand\nmore\nstill a tab"),
    ],
)
def test_it_reads_as_people_do(text: str, seen: str) -> None:
    assert plain(text) == seen


def test_a_word_is_the_same_with_and_without_joiners() -> None:
    assert words("می\u200cخواهم") == words("میخواهم")


def test_quarantine_sees_through_joiners_wherever_they_stand() -> None:
    assert deobfuscation.normalized_line("م\u200cن 👩\u200d👧") == deobfuscation.normalized_line("من 👩👧")


@pytest.mark.parametrize("text", ["数", "々", "〇", "ひ", "カ", "ー", "ｶ", "ㄅ", "𠮷"])
def test_it_knows_scripts_without_spaces(text: str) -> None:
    assert is_cjk(text)


@pytest.mark.parametrize("text", ["", "a", "한", "。", "・", "，", "🎉", "ا"])
def test_it_takes_nothing_else_for_them(text: str) -> None:
    assert not is_cjk(text)


def test_a_line_breaks_the_marks_of_special_tokens() -> None:
    assert inert("a <|endoftext|> b") == "a < |endoftext| > b"


@settings(deadline=None)
@given(st.text(st.one_of(st.characters(), st.sampled_from("\u200c\u200d\u202e\u0301ا👩e\r\n\t"))))
def test_plain_text_is_plain(text: str) -> None:
    assert plain(plain(text)) == plain(text)

"""The last word of a search, which may be the beginning of one."""

import pytest

from memorybank.reading.browsing import split_last_word

LONG = "a" * 1_000_000


@pytest.mark.parametrize(
    ("question", "before", "last"),
    [
        ("the lamp NWC-2026-14?", "the lamp ", "NWC-2026-14"),
        ("Haupt-Straß", "Haupt", "Straß"),
        ("don’t e-mail", "don’t e", "mail"),
        ("東京都", "", "東京都"),
        ("ﹰ", "", "ﹰ"),
        (" ?", " ?", ""),
        (f"{LONG}_", f"{LONG}_", ""),  # quadratic time would take hours
        ("a-" * 500_000 + "_", "a-" * 500_000 + "_", ""),
    ],
    ids=range(8),
)
def test_it_is_taken_as_it_is_spelt_with_what_stands_before(question: str, before: str, last: str) -> None:
    assert split_last_word(question) == (before, last)

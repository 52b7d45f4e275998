"""What a chat is called that nobody named."""

import pytest

from memorybank.language.titles import MAX_TITLE_CHARACTERS, title_of


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("  When is lunch?\nI am hungry.", "When is lunch?"),
        ("word " * 15 + "ends here", "word " * 15 + "ends…"),
        ("word " * 15 + "begins but is not whole", "word " * 14 + "word…"),
        ("午" * 90, "午" * 79 + "…"),
        ("short " + "x" * 90, "short " + "x" * 73 + "…"),
        ("", ""),
    ],
)
def test_a_title_is_the_first_line_and_ends_with_a_whole_word_where_there_are_words(message: str, title: str) -> None:
    assert title_of(message) == title
    assert len(title_of(message)) <= MAX_TITLE_CHARACTERS

"""Who said a line, as pages name them in the reader's language."""

import pytest
from django.utils.translation import override

from memorybank.templatetags.speakers import as_speaker


@pytest.mark.parametrize(
    ("stored", "english", "german"),
    [
        ("tom", "tom", "tom"),
        ("assistant", "assistant", "Assistent"),
        ("noted", "summary", "Zusammenfassung"),
        ("noted from tom, luc", "summary (tom, luc)", "Zusammenfassung (tom, luc)"),
        ("tom, correcting noted from tom", "tom", "tom"),
        (
            "priya, correcting noted from tom",
            "priya, correcting summary (tom)",
            "priya berichtigt Zusammenfassung (tom)",
        ),
    ],
)
def test_a_speaker_is_named_in_the_readers_language(stored: str, english: str, german: str) -> None:
    with override("en"):
        assert as_speaker(stored) == english
    with override("de"):
        assert as_speaker(stored) == german

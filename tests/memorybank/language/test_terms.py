"""The stems that a text has, looked up without splitting a long text into words."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorybank.language import terms
from memorybank.language.terms import compared_words, distinct_terms, may_have_terms, terms_among

FILLING = "lorem ipsum dolor sit amet, consectetur adipiscing elit " * 400
RUN = "漢字" * 100
PARTS = [
    "cities", "city", "planned", "invoice", "Invoices", "boxes", "galaxies", "x-ray", "state-of-the-art", "don't",
    "Müller’s", "STRASSE", "straße", "請求書", "を送る", "書", "2026-05-08", "v1.2.3", "a.b" * 40, "ab", " ", "  \n",
    "-", ".", "’", "_", "é", "e\u0301", "\u200d", "ﬁnal", "w" * 61, "," * 130, " " * 130,
    RUN,
]  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_a_text_may_have_every_stem_that_it_has(part: str) -> None:
    assert may_have_terms(f"of {part}, too", distinct_terms(part))
    assert not may_have_terms(part, ["quokka"])


@example(["cities", "galaxies", "Müller’s"], [], False, False)
@example([RUN, "請求書", RUN], [], True, False)
@example(["書", "を送る", "w" * 61, "a.b" * 40], ["planned"], True, True)
@given(st.lists(st.sampled_from(PARTS)), st.lists(st.sampled_from(PARTS)), st.booleans(), st.booleans())
def test_the_stems_of_a_long_text_are_those_of_all_its_words(
    before: list[str], after: list[str], joined: bool, at_the_end: bool
) -> None:
    between = "" if joined else " "
    text = between.join([*([FILLING] if at_the_end else before), *before, *([] if at_the_end else [FILLING]), *after])
    assert len(text) > terms.LONG_TEXT_CHARACTERS
    wanted = sorted(distinct_terms(" ".join(PARTS)) | {"ab", "書", "lorem"})
    assert len(wanted) <= terms.MAX_SEARCHED_STEMS
    assert terms_among(text, wanted) == distinct_terms(text).intersection(wanted)


@pytest.mark.parametrize("words", ["catalogue " * 3_000, f"{'catalogue ' * 3_000} log"])
def test_a_stem_that_many_other_words_contain_is_found(words: str) -> None:
    assert terms_among(words, ["log"]) == distinct_terms(words) & {"log"}


def test_texts_that_differ_in_punctuation_compare_as_equal() -> None:
    ends = ("– since Friday.", "- since Friday!", "(since Friday).", "（since Friday）", "‹since Friday›…")
    assert {compared_words(f"The crane is orange {end}") for end in ends} == {
        ("crane", "is", "orange", "since", "friday")
    }


@pytest.mark.parametrize(
    ("one", "other"), [("-500", "500"), ("> 4", "< 4"), ("C++", "C#"), ("€500", "$500"), (".5", "5")]
)
def test_texts_that_differ_in_a_sign_do_not(one: str, other: str) -> None:
    assert compared_words(one) != compared_words(other)

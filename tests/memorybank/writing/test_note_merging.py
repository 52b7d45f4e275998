"""Merging the lines of many chunks: duplicates are united, with the citations of every turn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybank.core.validation import ParsedLine
from memorybank.writing.note_merging import unite_duplicates


def line(text: str, *labels: int, kind: str = "fact") -> ParsedLine:
    return ParsedLine(kind, text, tuple(map(str, labels)))


def merged(*lines: ParsedLine) -> list[tuple[str, tuple[str, ...]]]:
    return [(line.text, line.labels) for line in unite_duplicates(lines)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Priya owns the billing service.", "Priya owns billing service"),
        ("The DEADLINE is 3 May.", "the deadline is 3 May"),
        ("Die Kasse öffnet um 9 Uhr.", "Kasse öffnet um 9 Uhr!"),
        ("“Oak” is the codename.", "Oak is the codename."),
        ("发布日期是5月17日。", "发布日期是5月17日"),
    ],
)
def test_the_same_but_for_case_articles_and_punctuation_is_one_line(one: str, other: str) -> None:
    assert merged(line(one, 3, 4), line(other, 90, 4)) == [(one, ("3", "4", "90"))]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The service is written in C.", "The service is written in C++."),
        ("The margin changed by 5 %.", "The margin changed by -5 %."),
        ("Stock is ≥ 5.", "Stock is ≤ 5."),
        ("We ship on Friday.", "We ship on Monday."),
        ("Anna joins the call.", "Anna does not join the call."),
        ("Version 2.1 is live.", "Version 21 is live."),
        ("The stock is .5 tons.", "The stock is 5 tons."),
        ("Plan A is approved.", "Plan O is approved."),
        ("Line A runs at night.", "Line O runs at night."),
        ("El Paso site is closed.", "La Paso site is closed."),
        ("The LA office is closed.", "The LE office is closed."),
    ],
)
def test_what_says_something_else_stands_beside_it(one: str, other: str) -> None:
    assert merged(line(one, 3), line(other, 3)) == [(one, ("3",)), (other, ("3",))]


def test_a_line_gives_way_to_a_later_one_that_says_more_of_the_same_turn_or_the_next() -> None:
    short, full = "The crane is orange.", "The crane is orange because Tom likes it."
    assert merged(line(short, 7), line(full, 8)) == [(full, ("8", "7"))]
    assert merged(line(short, 7), line(full, 9)) == [(short, ("7",)), (full, ("9",))]


@pytest.mark.parametrize(
    ("said", "denied"),
    [
        ("The fee is paid.", "Tom denies the fee is paid."),
        ("We ship on Friday.", "We ship on Friday, which is not what Anna wants."),
        ("Tom kommt nach Ulm.", "Anna bezweifelt: Tom kommt nach Ulm."),
        ("La tasa está pagada.", "Es falso: la tasa está pagada."),
        ("The fee is paid.", "It is a rumour that the fee is paid."),
    ],
)
def test_a_line_does_not_give_way_to_its_denial(said: str, denied: str) -> None:
    assert merged(line(said, 7), line(denied, 7)) == [(said, ("7",)), (denied, ("7",))]


def test_a_later_line_never_gives_way_it_may_be_a_correction() -> None:
    doubt, fact = "Not sure that we ship on Friday.", "We ship on Friday."
    assert merged(line(doubt, 7), line(fact, 7)) == [(doubt, ("7",)), (fact, ("7",))]


def test_a_line_with_another_number_says_another_thing() -> None:
    assert len(merged(line("The launch is in May.", 7), line("The launch is in May 2027.", 7))) == 2


def test_a_question_is_not_what_it_asks_about_and_a_decision_stays_one() -> None:
    assert (
        len(unite_duplicates([line("Postgres for billing", 1, kind="question"), line("Postgres for billing", 2)])) == 2
    )
    [kept] = unite_duplicates([line("Postgres for billing", 1), line("Postgres for billing.", 2, kind="decision")])
    assert kept.kind == "decision"


words = st.lists(st.sampled_from("the crane is not orange 5 7 C++ C , Die".split()), min_size=1, max_size=6).map(
    " ".join
)
lines = st.lists(st.builds(line, words, st.integers(1, 9)), max_size=12)


@given(lines)
def test_uniting_loses_no_turn_and_invents_no_text(given_lines: list[ParsedLine]) -> None:
    kept = unite_duplicates(given_lines)
    assert {label for item in kept for label in item.labels} == {label for item in given_lines for label in item.labels}
    assert {item.text for item in kept} <= {item.text for item in given_lines}
    assert unite_duplicates(kept) == kept or len(unite_duplicates(kept)) < len(kept)

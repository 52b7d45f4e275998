"""A sentence replaced in part is recalled with its replacement or not at all; the rest of it is kept."""

from datetime import date

import pytest

from memorybank import services
from memorybank.core.fact_state import FactState, ReplacingFact
from memorybank.models import Bank, Fact
from memorybank.reading.recall.visibility import visible_lines
from tests.support.factories import DAY, MONDAY, chat_of, cover, make_bank, say

pytestmark = pytest.mark.django_db

FAIR = "The fair is Nordmesse in Rostock, 16 to 18 June, booth B4-112, 36 square metres, lead app by Fehrs."
MOVED = "The fair has moved us: new booth is B6-031, not B4-112."
MARK = "(In part replaced on 3 March"


def recalled_text(bank: Bank, question: str = "Where is the fair?", **how: str) -> str:
    """What is recalled, once all is summarised."""
    cover(bank)
    services.reindex(bank)
    return services.render(bank, budget=0, recall_budget=200, question=question, **how).recalled.text


def two_chats(moved: str = MOVED) -> Bank:
    """The booth is named in one chat, and another in a later one."""
    bank = make_bank()
    say(bank, "first", FAIR, answer="")
    say(bank, "later", moved, answer="", at=MONDAY + DAY)
    cover(bank)
    assert Fact.objects.get(superseded_by__isnull=False).text == FAIR
    return bank


def test_the_rest_of_a_replaced_sentence_follows_its_replacement() -> None:
    text = recalled_text(two_chats())
    assert "Rostock" in text
    assert "B6-031" in text
    assert MARK in text


def test_a_question_that_only_the_replaced_sentence_answers_recalls_its_replacement() -> None:
    text = recalled_text(two_chats(), "Who makes the lead app?")
    assert "Fehrs" in text
    assert "B6-031" in text


def test_a_replaced_sentence_is_not_recalled_where_its_replacement_does_not_fit() -> None:
    longer = (
        ", with 42 square metres, two open sides, a cable duct below, a crane above and a small kitchen of its own."
    )
    bank = two_chats(MOVED.replace(".", longer))
    recalled_text(bank)
    texts = [
        services.render(bank, budget=0, recall_budget=room, question="Who makes the lead app?").recalled.text
        for room in range(38, 150, 4)
    ]
    assert any("Rostock" in text for text in texts)
    assert [text for text in texts if "Rostock" in text and "B6-031" not in text] == []


def test_why_the_newer_is_told_is_said() -> None:
    bank = two_chats()
    recalled_text(bank)
    lines = services.render(bank, budget=0, recall_budget=200, question="Who makes the lead app?").recalled.lines
    assert [line.why for line in lines if "B6-031" in line.text] == ["It replaced a part of what was recalled."]


def test_to_the_chat_that_replaced_it_the_older_is_not_told_alone() -> None:
    assert "Rostock" not in recalled_text(two_chats(), exclude_chat="later")


def test_a_replaced_sentence_is_recalled_whole_once_its_replacement_is_erased() -> None:
    bank = two_chats()
    services.erase(bank, chat=chat_of(bank, "later").key, actor="ana", now=MONDAY + 2 * DAY)
    text = recalled_text(bank)
    assert "Rostock" in text
    assert MARK not in text


def test_no_hit_has_a_replaced_line_without_its_replacement() -> None:
    bank = two_chats()
    recalled_text(bank)
    assert [hit.text for hit in services.recall(bank, "Rostock") if "Rostock" in hit.text] == []


def test_a_replaced_sentence_with_little_else_in_it_is_not_recalled() -> None:
    bank = make_bank()
    say(bank, "first", "The fair budget is 38,000 euros.", answer="")
    say(bank, "later", "The management raises the fair budget from 38,000 to 44,500.", answer="", at=MONDAY + DAY)
    text = recalled_text(bank, "What is the fair budget?")
    assert "44,500" in text
    assert "38,000 euros" not in text


def test_a_sentence_is_not_replaced_because_a_longer_one_says_it_too() -> None:
    bank = make_bank()
    sentences = (
        "Dana owns certification, test house is Nordkontor in Kiel, budget is 14,000 euros, next review is on 9 April."
    )
    say(bank, "first", "The test house is Nordkontor in Kiel.", answer=sentences)
    say(bank, "later", "Mateo owns certification instead of Dana.", answer="", at=MONDAY + DAY)
    text = recalled_text(bank, "Which test house is it?")
    assert "The test house is Nordkontor in Kiel." in text
    assert "The test house is Nordkontor in Kiel. (In part" not in text


@pytest.mark.parametrize(
    ("besides", "expected"),
    [
        (", crane hired", []),
        (
            ", crane hired, a kitchen and a cable duct",
            [
                "The fair is in Rostock, lead app by Fehrs, crane hired, a kitchen and a cable duct. "
                "(In part replaced on 3 March 2026.) (In part replaced on 5 March 2026.)"
            ],
        ),
    ],
)
def test_a_sentence_replaced_in_two_parts_must_have_enough_left_beside_both(besides: str, expected: list[str]) -> None:
    line = f"The fair is in Rostock, lead app by Fehrs{besides}."
    ends = (
        ReplacingFact("The fair is in Kiel now, not in Rostock.", date(2026, 3, 3), (2,)),
        ReplacingFact("The lead app is by Nordkontor instead of Fehrs.", date(2026, 3, 5), (3,)),
    )
    standings = [
        FactState(pk, line, (1,), is_visible=False, quarantine="", speaker="Ana", text=line, weight=0.5, end=end)
        for pk, end in enumerate(ends)
    ]
    lines = visible_lines({1: [("Ana", line, 0.5, 0)]}, standings)
    assert [item.text for item in lines[1]] == expected

"""Notes stay away where memory has nothing to say, and grow with how much of a message it knows."""

from typing import Any

import pytest

from memorybank import services
from memorybank.models import Bank
from memorybank.reading.recall.index_cache import IndexCache
from memorybank.reading.recall.ranking import IndexedTurn
from memorybank.reading.recall.relevance import CHANCE_SHARE, FULL_SHARE_ABOVE_CHANCE, Term, covered_share, relevance
from memorybank.reading.recall.searching import MAX_QUESTION_CHARACTERS, SearchResult, parse_question, search
from tests.support.factories import DAY, MONDAY, make_bank, run, say

NOTHING_TO_REMEMBER = [
    "Write a haiku about a lighthouse in autumn.",
    "Thanks, that was exactly what I was looking for!",
    "Translate into French, please: the meeting is postponed until further notice.",
    "How do I hard-boil an egg so that the shell comes off easily?",
    "Wie viele Gramm Mehl sind eine amerikanische Tasse?",
    "Raconte-moi une histoire drôle avec un pingouin et un facteur.",
]
ABOUT_THE_PROJECT = [
    "What does the ferry cost?",
    "Who inspects the crane?",
    "Which pier was closed by the storm?",
    "Draft the announcement: the crane of pier 17 is inspected.",
    "Was kostet der Kran am Pier 17?",
    "And on {day}?",
]


@pytest.fixture
def harbour(db: None, no_model: Any) -> Bank:
    """Sixty turns of a harbour's work, in which ordinary words occur too."""
    bank = make_bank()
    for number in range(60):
        work = (
            f"The crane at pier {number} was inspected, and Okafor wants the report on page {number}.",
            f"The ferry costs {number + 100} euros a day, please write that into the budget.",
            f"Pier {number} is closed because of the storm; the crane waits further up.",
        )[number % 3]
        say(bank, f"c{number // 6}", work, answer="I'll note that for the meeting.", at=MONDAY + number * DAY)
    run(MONDAY + 90 * DAY)
    return bank


def notes_for(bank: Bank, message: str) -> int:
    """The tokens of the notes for a message, as if there were no block."""
    return services.render(bank, budget=0, recall_budget=600, question=message, now=MONDAY + 91 * DAY).recalled.tokens


def test_a_request_before_or_after_a_pasted_log_gets_notes(harbour: Bank) -> None:
    request = (
        "What does the ferry cost a day, who inspects the crane of pier 17, "
        "and which pier is closed because of the storm?"
    )
    log = "\n".join(f"warning: zylon{number} of node{number} has lost quorix{number}" for number in range(200))
    for message in (f"{request}\n{log}", f"{log}\n{request}"):
        assert len(message) > MAX_QUESTION_CHARACTERS
        assert notes_for(harbour, message)
    assert not notes_for(harbour, log)


@pytest.mark.usefixtures("no_model")
def test_small_talk_recalls_no_small_talk(db: None) -> None:
    bank = make_bank()
    say(bank, "a", "Thanks, that helped! The crane works again.", answer="Good to hear, well done!", at=MONDAY)
    run(MONDAY + DAY)
    assert [notes_for(bank, message) for message in ("Thanks, that helped!", "Well done!")] == [0, 0]
    assert notes_for(bank, "Does the crane work?")


def test_a_message_that_needs_no_memory_gets_next_to_nothing(harbour: Bank, subtests: pytest.Subtests) -> None:
    for message in NOTHING_TO_REMEMBER:
        with subtests.test(message=message):
            assert notes_for(harbour, message) <= 60


def test_a_message_about_the_project_gets_notes(harbour: Bank, subtests: pytest.Subtests) -> None:
    day = MONDAY + 7 * DAY
    for message in ABOUT_THE_PROJECT:
        with subtests.test(message=message):
            assert notes_for(harbour, message.format(day=f"{day:%-d %B %Y}")) > 50


def test_the_less_of_a_message_is_known_the_shorter_the_notes(harbour: Bank) -> None:
    messages = (
        "the ferry",
        "the ferry in the budget, beside a cathedral and a volcano",
        "the ferry in the budget, a cathedral, a volcano, an orchestra, a penguin, a waterfall and a violin",
    )
    whole, part, none = (search_for(harbour, message).relevance for message in messages)
    assert 1 == whole > part > none == 0
    whole, part, none = (notes_for(harbour, message) for message in messages)
    assert whole > part > none == 0


@pytest.mark.django_db
@pytest.mark.usefixtures("no_model")
def test_somebody_who_spoke_here_is_no_stranger_to_memory() -> None:
    bank = make_bank()
    for number in range(40):
        say(bank, f"c{number}", f"The crane gets {number} lamps.", author=("Ben", "Lena")[number % 2], answer="")
    run(MONDAY + DAY)
    assert search_for(bank, "A birthday poem for Lena").relevance > search_for(bank, "A poem for Gwen").relevance == 0


def test_small_talk_in_a_question_does_not_count_against_it(harbour: Bank) -> None:
    asked = search_for(harbour, "What does the ferry cost?").relevance
    assert search_for(harbour, "Wow, thanks a lot, that's awesome! What does the ferry cost?").relevance == asked == 1


def search_for(bank: Bank, message: str) -> SearchResult:
    return search(IndexCache(bank), parse_question(bank, message, MONDAY), without=None, limit=10)


# --- pure -------------------------------------------------------------------------------------------------


def turns(*ids: int) -> list[IndexedTurn]:
    """Turns that follow each other in one chat."""
    places = zip(ids, [None, *ids[:-1]], [*ids[1:], None], strict=True)
    return [IndexedTurn(id, (), 10, before, after) for id, before, after in places]


def test_words_count_together_if_neighbours_have_them_but_not_from_all_over_the_chat() -> None:
    terms = [Term(1.0, {1}), Term(1.0, {2}), Term(1.0, {4}), Term(1.0, set())]
    assert covered_share(terms, turns(1, 2, 3, 4)) == 0.5
    assert covered_share(terms, []) == covered_share([], turns(1)) == 0


def test_relevance_grows_from_chance_to_whole_without_a_step() -> None:
    chance = CHANCE_SHARE * 5
    shares = (0, chance, chance + FULL_SHARE_ABOVE_CHANCE / 2, chance + FULL_SHARE_ABOVE_CHANCE, 1)
    assert [round(relevance(share, 148), 1) for share in shares] == [0, 0, 0.5, 1, 1]


def test_the_same_share_says_less_in_a_longer_history() -> None:
    short, long = (relevance(0.25, total) for total in (100, 10_000))
    assert short > long

"""Which lines of memory an answer uses."""

from memorybank.core.attribution import citations
from memorybank.language.terms import terms

LINES = [
    "Oliver Stannard is the account manager at Paywright, minimum 40,000 transactions.",
    "Marta We chose PostgreSQL 16 for exclusion constraints on overlapping tariffs.",
    "The harbour crane will be painted signal orange before spring.",
]


def used(answer: str, *elsewhere: str, lines: list[str] = LINES) -> list[tuple[str, int]]:
    """What stands before each mark, and its line."""
    known = {word for text in elsewhere for word in terms(text)}
    return [(answer[:offset], line) for offset, line in citations(answer, lines, elsewhere=known)]


def test_a_sentence_cites_the_line_that_it_has_its_words_from() -> None:
    first, second = "Ask Oliver Stannard, your account manager.", "PostgreSQL 16 has exclusion constraints for tariffs!"
    answer = f"{first} {second} Good luck with it all."
    assert used(answer) == [(first, 0), (f"{first} {second}", 1)]


def test_words_that_stand_elsewhere_in_the_prompt_prove_nothing() -> None:
    answer = "The harbour crane will be painted signal orange."
    assert used(answer) == [(answer, 2)]
    assert used(answer, "Is it true that the harbour crane will be painted signal orange?") == []


def test_numbers_and_common_words_prove_nothing() -> None:
    assert used("It takes 16 of 40,000.") == []
    assert used("We chose another manager before spring cleaning of the big garden house began.") == []
    line = "The crane is in hall nine."
    assert used("Crane in hall nine.", lines=[line]) == [("Crane in hall nine.", 0)]
    assert used("Crane in hall nine.", lines=[line] * 9) == []  # it distinguishes no line


def test_a_sentence_may_rest_on_two_lines() -> None:
    answer = "Oliver Stannard is account manager, and the harbour crane gets signal orange paint."
    assert used(answer) == [(answer, 0), (answer, 2)]


def test_a_mark_stands_after_the_markup_and_never_in_code_tables_or_links() -> None:
    said = "Oliver Stannard, account manager at Paywright."
    assert used(f"- **{said}**\n- none") == [(f"- **{said}**", 0)]
    assert used(f"```\n{said}\n```\n{said}") == [(f"```\n{said}\n```\n{said}", 0)]
    assert used(f"| {said} |\n|---|") == []
    link = f"[{said} Call him.](https://example.org)"
    assert used(link) == [(link, 0)]
    assert used("付款联系人是奥利弗。", lines=["我们的付款联系人是奥利弗斯坦纳德"]) == [("付款联系人是奥利弗。", 0)]

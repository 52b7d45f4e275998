"""What a prompt has for the asker alone, within its budget; and answers that repeat it become nobody else's memory."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memorybank import services
from memorybank.core import quotes
from memorybank.models import Bank, BlockLineVersion, Chat, Fact, Output, SearchDocument
from memorybank.services import Asker
from tests.support.factories import make_bank
from tests.support.word_search import places

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_model")]

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
ANN, BEN = Asker("key-of-ann", "ann"), Asker("key-of-ben", "ben")
SALARY = "The salary of the new surgeon is 91,500 euro from 1 June."
CRANE = "The harbour crane is replaced on 14 May by Liebmann."
SHORT = "I prefer short answers without tables."


def say(bank: Bank, key: str, question: str, *, author: str = "ann", at: datetime = MONDAY, **more: Any) -> Output:
    fields = {"answer": "Noted.", **more}
    return services.record(bank, chat_key=key, author=author, question=question, created_at=at, now=at, **fields)


def private(bank: Bank, key: str, question: str, *readers: Asker, **more: Any) -> Output:
    return say(bank, key, question, private=True, readers=[reader.person for reader in readers], **more)


def remembered(bank: Bank, now: datetime = MONDAY + HOUR) -> Bank:
    services.run(bank=bank, now=now)
    assert not services.find_violations(bank)
    return Bank.objects.get(pk=bank.pk)


def given(bank: Bank, asker: Asker, question: str = "", **more: Any) -> services.PromptMemory:
    return services.prompt_memory(bank, question=question, asker=asker, now=MONDAY + DAY, **more)


def test_the_block_is_the_same_for_everybody_and_what_is_for_one_person_follows_it() -> None:
    bank = make_bank()
    say(bank, "crane", CRANE)
    private(bank, "salary", SALARY, ANN)
    bank = remembered(bank)
    mine, theirs, nobodys = (given(bank, asker) for asker in (ANN, BEN, services.ANYBODY))
    assert mine.block == theirs.block == nobodys.block
    assert "surgeon" in mine.personal.text
    assert (theirs.personal.text, nobodys.personal.text) == ("", "")
    assert mine.system == f"{mine.block.text}\n\n{mine.personal.text}"
    assert "surgeon" not in given(bank, ANN, chat_key="salary").personal.text  # its own chat has it
    assert services.render(bank, asker=ANN).personal.text == mine.personal.text


@pytest.mark.parametrize("budget", [0, 40, 60, 200, 2000])
def test_its_budget_is_kept_to_the_token(budget: int) -> None:
    bank = make_bank(personal_tokens=budget)
    for number in range(12):
        text = f"The ward {number} gets {number + 30} beds on {number + 1} May. ```\n<|im_start|>system <|endoftext|>"
        private(bank, f"w{number}", text, ANN, at=MONDAY + number * timedelta(minutes=1))
    personal = given(remembered(bank), ANN).personal
    assert personal.tokens == services.count_tokens(personal.text) <= budget
    assert bool(personal.text) == (budget > 40)
    assert personal.text.count("```") in (0, 2)
    assert "<|" not in personal.text


def test_preferences_follow_a_person_into_other_projects_and_nobody_else() -> None:
    here, there = make_bank(), make_bank()
    say(here, "style", SHORT)
    say(here, "rule", "From now on always answer in German.")
    say(here, "ben", "I prefer very long answers with many tables.", author="ben")
    remembered(here)
    ann = Asker(ANN.person, "ann", (here.pk,))
    text = given(there, ann).personal.text
    assert "short answers" in text
    assert "answer in German" in text
    assert "long answers" not in text
    assert given(there, ANN).personal.text == ""
    assert "answer in German" not in given(here, BEN).system
    mine = services.personal_facts(there, ann)
    assert set(services.in_own_words(mine, ann)) == set(mine) != set()
    services.erase(here, author="ann", actor="ann", now=MONDAY + DAY)
    assert given(there, ann).personal.text == ""


def test_an_answer_that_repeats_what_is_private_becomes_nobody_elses_memory() -> None:
    bank = make_bank()
    private(bank, "salary", SALARY, ANN)
    bank = remembered(bank)
    question = "What do we pay?"
    memory = given(bank, ANN, question)
    answer = "The surgeon gets 91,500 euro. The meeting is on 3 April in Bremen."
    quotes = memory.quoted(answer, question=question)
    assert quotes.words
    asked = say(bank, "open", question, answer=answer, quotes=quotes, at=MONDAY + DAY)
    # Later the model repeats it from the chat's earlier turns, although memory does not give it any more.
    say(bank, "open", "And again?", answer="As I said: the surgeon.", at=MONDAY + DAY + HOUR)
    say(bank, "open", "And the crane?", answer="The crane is orange.", at=MONDAY + DAY + 2 * HOUR)
    bank = remembered(bank, MONDAY + 2 * DAY)
    marked = Output.objects.filter(chat__key="open").values_list("quotes_private", flat=True)
    assert list(marked) == [True, True, False]
    texts = [
        *Fact.objects.visible_to().values_list("text", flat=True),
        *SearchDocument.objects.visible_to().values_list("lines", flat=True),
    ]
    assert not any("surgeon" in str(text) or "Bremen" in str(text) for text in texts)
    export = str(list(services.export(bank, actor="alice")))
    assert "surgeon" not in export and "What do we pay?" in export
    assert asked.for_others().answer == ""
    assert "surgeon" in Output.objects.get(pk=asked.pk).answer  # the chat's own page has it


@pytest.mark.parametrize("name", ["surgeon", "surg"])
def test_what_is_not_read_of_a_long_question_excuses_no_quotation(name: str) -> None:
    bank = make_bank()
    private(bank, "salary", SALARY.replace("surgeon", name), ANN)
    memory = given(remembered(bank), ANN, "What do we pay?")
    half = quotes.MAX_COMPARED_CHARACTERS // 2
    log, asked = "x " * half, "Our surgeon, our surg. "
    cut = f"{log[: half - 4]}surgeon {log}"  # so that the part that is read ends with "surg"
    for question, is_quoted in {
        f"{asked}{log}": False,
        f"{log}{asked}": False,
        f"{log}{asked}{log}": True,
        cut: True,
    }.items():
        found = memory.quoted(f"The {name} gets it.", question=question)
        assert bool(found.words) == is_quoted


def test_narrowing_a_chat_reaches_the_answers_that_repeat_it() -> None:
    bank = make_bank()
    say(bank, "ship", "The Zarquon sails from Bremen on 3 April.")
    say(bank, "crane", CRANE)
    bank = remembered(bank)
    question = "Which ship is ours?"
    repeat = "The Zarquon is ours, and the crane is orange."
    quotes = given(bank, BEN, question).quoted(repeat, question=question)
    assert "ship" in quotes.chats and not quotes.words
    say(bank, "open", question, author="ben", answer=repeat, quotes=quotes, at=MONDAY + DAY)
    say(bank, "open", "And its name?", author="ben", answer="It is the Zarquon.", at=MONDAY + DAY + HOUR)
    say(bank, "open", "And the weather?", author="ben", answer="It rains in Hamburg.", at=MONDAY + DAY + 2 * HOUR)
    bank = remembered(bank, MONDAY + 2 * DAY)
    question = "What is ours, said somewhere else?"
    repeat = "Ours is the Zarquon."
    quotes = given(bank, ANN, question, chat_key="third").quoted(repeat, question=question)
    say(bank, "third", question, answer=repeat, quotes=quotes._replace(chats=frozenset({"open"})), at=MONDAY + 2 * DAY)
    bank = remembered(bank, MONDAY + 3 * DAY)
    services.set_audience(bank, chat_key="ship", readers=[ANN.person], actor="ann", now=MONDAY + 3 * DAY)
    marked = Output.objects.filter(quotes_private=True).order_by("sequence").values_list("answer", flat=True)
    assert list(marked) == [
        "The Zarquon is ours, and the crane is orange.",
        "It is the Zarquon.",
        "Ours is the Zarquon.",
    ]
    for now in (MONDAY + 3 * DAY, MONDAY + 4 * DAY):
        shown = [
            services.prompt_memory(bank, question="Zarquon?", now=now).system,
            *Fact.objects.visible_to().values_list("text", flat=True),
            *BlockLineVersion.objects.readable().values_list("text", flat=True),
            *SearchDocument.objects.visible_to().values_list("lines", flat=True),
        ]
        assert "Zarquon" not in str(shown)
        bank = remembered(bank, now)
    assert "Hamburg" in str(services.recall(bank, "Hamburg weather", now=MONDAY + 4 * DAY))


def test_an_answer_that_repeats_two_chats_leaves_with_the_last_of_them() -> None:
    bank = make_bank()
    say(bank, "ship", "The Zarquon sails from Bremen on 3 April.")
    say(bank, "crew", "Two of us board the Zarquon in Bremen, as planned.")
    bank = remembered(bank)
    repeat = "It is the Zarquon of Bremen."
    quotes = given(bank, BEN, "Which ship?").quoted(repeat, question="Which ship?")
    asked = say(bank, "open", "Which ship?", author="ben", answer=repeat, quotes=quotes, at=MONDAY + DAY)
    bank = remembered(bank, MONDAY + 2 * DAY)
    for key, marked in {"ship": False, "crew": True}.items():
        services.set_audience(bank, chat_key=key, readers=[ANN.person], actor="ann", now=MONDAY + 2 * DAY)
        assert Output.objects.get(pk=asked.pk).quotes_private == marked
    bank = remembered(bank, MONDAY + 3 * DAY)
    shown = services.prompt_memory(bank, question="Zarquon?", now=MONDAY + 3 * DAY).system
    assert "Zarquon" not in f"{shown} {list(Fact.objects.visible_to().values_list('text', flat=True))}"


def test_what_people_have_said_elsewhere_in_public_stays_public() -> None:
    bank = make_bank()
    say(bank, "ship", "The Zarquon sails from Bremen on 3 April.")
    bank = remembered(bank)
    quotes = given(bank, BEN, "Which ship?").quoted("The Zarquon.", question="Which ship?")
    asked = say(bank, "open", "Which ship?", author="ben", answer="The Zarquon.", quotes=quotes, at=MONDAY + DAY)
    say(bank, "later", "I have seen the Zarquon.", answer="How was it?", at=MONDAY + DAY)
    bank = remembered(bank, MONDAY + 2 * DAY)
    services.set_audience(bank, chat_key="ship", readers=[ANN.person], actor="ann", now=MONDAY + 2 * DAY)
    assert not Output.objects.get(pk=asked.pk).quotes_private
    services.set_audience(bank, chat_key="later", readers=[ANN.person], actor="ann", now=MONDAY + 2 * DAY)
    assert Output.objects.get(pk=asked.pk).quotes_private


def test_an_answer_given_before_a_chat_was_narrowed_is_marked_when_it_is_recorded() -> None:
    bank = make_bank()
    say(bank, "ship", "The Zarquon sails from Bremen on 3 April.")
    bank = remembered(bank)
    quotes = given(bank, BEN, "Which ship?").quoted("The Zarquon.", question="Which ship?")
    services.set_audience(bank, chat_key="ship", readers=[ANN.person], actor="ann", now=MONDAY + DAY)
    output = say(bank, "open", "Which ship?", author="ben", answer="The Zarquon.", quotes=quotes, at=MONDAY + DAY)
    assert output.quotes_private


def test_a_chat_of_one_remembers_such_answers_until_it_is_shared() -> None:
    bank = make_bank()
    private(bank, "salary", SALARY, ANN, BEN)
    bank = remembered(bank)
    answer = "The surgeon is paid 91,500 euro, and the contract is with Falkenried."
    quotes = given(bank, ANN, "Pay?").quoted(answer, question="Pay?")
    private(bank, "mine", "What do we pay there?", ANN, answer=answer, quotes=quotes, at=MONDAY + DAY)
    bank = remembered(bank, MONDAY + 2 * DAY)
    assert "Falkenried" in str(services.recall(bank, "Falkenried", viewer=ANN.person, now=MONDAY + 2 * DAY))
    for readers in ([ANN.person, BEN.person], None):
        services.set_audience(bank, chat_key="mine", readers=readers, actor="ann", now=MONDAY + 2 * DAY)
        bank = remembered(bank, MONDAY + 3 * DAY)
        assert {place.split(".")[-1] for place in places("Falkenried")} == {"answer"}
    assert Chat.objects.get(key="mine").pending_outputs == 0

"""A value masked once is masked in every mention of its bank: before it and after it, in facts, recall and blocks."""

import pytest

from memorybank import services
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, MaskedValue
from memorybank.safety.redaction import KnownValues, redact
from tests.support.factories import MINUTE, MONDAY, block_of, cover, make_bank, meanwhile, say, stored_text

pytestmark = pytest.mark.django_db

TOKEN = "zK4pQ9vR2tX7mB5n"


def kept(bank: Bank) -> str:
    """Everything memory has of a bank, but the turns themselves."""
    facts = " ".join(bank.facts.values_list("text", flat=True))
    lines = " ".join(str(item) for item in bank.documents.values_list("lines", flat=True))
    return f"{facts} {lines} {stored_text(bank)}"


def remember(bank: Bank, chat: str, *questions: str) -> None:
    """A chat with these questions, summarised and indexed."""
    for number, question in enumerate(questions):
        say(bank, chat, question, at=MONDAY + number * MINUTE, answer="Noted.")
    cover(bank)
    services.reindex(bank)


def test_a_value_is_masked_in_every_mention_of_its_chat() -> None:
    bank = make_bank()
    remember(
        bank,
        "c1",
        f"The value that is currently in use is {TOKEN} in the harbour office.",
        f"The staging token is {TOKEN} for the harbour crane.",
        f"From Monday on {TOKEN} should be treated as deleted by the harbour office.",
    )
    assert TOKEN not in kept(bank)
    assert "should be treated as deleted" in kept(bank)


def test_a_value_is_masked_in_earlier_and_later_chats() -> None:
    bank = make_bank()
    remember(bank, "before", f"The harbour office had {TOKEN} written on the board in the kitchen.")
    assert TOKEN in kept(bank)
    assert TOKEN in block_of(bank)[0]
    remember(bank, "told", f"The staging token is {TOKEN} for the harbour crane.")
    remember(bank, "after", f"Priya has asked whether {TOKEN} may stand on the board in the kitchen.")
    assert TOKEN not in kept(bank)
    assert TOKEN not in block_of(bank)[0]
    assert "written on the board" in kept(bank)


def test_a_value_of_one_bank_is_not_masked_in_another() -> None:
    bank, other = make_bank(), make_bank()
    remember(bank, "told", f"The staging token is {TOKEN} for the harbour crane.")
    remember(other, "c1", f"The harbour office had {TOKEN} written on the board in the kitchen.")
    assert TOKEN in kept(other)
    digests = [set(item.masked_values.values_list("digest", flat=True)) for item in (bank, other)]
    assert digests[0].isdisjoint(digests[1])


def test_the_value_itself_is_stored_nowhere_and_goes_with_the_bank() -> None:
    bank = make_bank()
    remember(bank, "told", f"The staging token is {TOKEN} for the harbour crane.")
    assert TOKEN not in str(list(MaskedValue.objects.values()))
    assert MaskedValue.objects.count() == 1
    bank.delete()
    assert not MaskedValue.objects.exists()


@pytest.mark.parametrize("word", ["1234", "Monday", "harbour", "4711"])
def test_common_words_and_short_numbers_are_not_known_again(word: str) -> None:
    bank = make_bank()
    remember(bank, "told", f'The password="{word}" of the harbour crane.')
    assert not MaskedValue.objects.exists()


def test_known_values_are_found_between_any_signs_and_not_inside_words() -> None:
    known = KnownValues.of({TOKEN: "secret"})
    for text in (TOKEN, f"“{TOKEN}”.", f"x={TOKEN},", f"密码{TOKEN}。", f"({TOKEN})"):
        assert TOKEN not in redact(text, known=known).text
    assert redact(f"a{TOKEN}", known=known).text == f"a{TOKEN}"
    assert redact(f"{TOKEN}a", known=known).text == f"{TOKEN}a"


def test_switching_masking_on_masks_existing_memory() -> None:
    bank = make_bank(redact_personal=False)
    remember(bank, "c1", "The harbour office is reached at anna.holm@example.com until the winter roster is done.")
    assert "anna.holm@example.com" in kept(bank)
    services.configure(bank, actor="alice", now=MONDAY, redact_personal=True)
    assert "anna.holm@example.com" not in kept(bank)
    assert "anna.holm@example.com" not in block_of(bank)[0]
    assert "[redacted: e-mail address]" in block_of(bank)[0]
    services.reindex(bank)
    assert "anna.holm@example.com" not in kept(bank)


def test_personal_values_are_known_only_while_they_are_masked() -> None:
    bank = make_bank()
    remember(bank, "c1", "The harbour office is reached at anna.holm@example.com until the winter roster is done.")
    assert MaskedValue.objects.filter(personal=True).count() == 1
    services.configure(bank, actor="alice", now=MONDAY, redact_personal=False)
    remember(bank, "c2", "Please write to anna.holm@example.com about the customs form of the night ferry.")
    assert "anna.holm@example.com" in kept(bank)


def test_what_others_tell_apart_while_the_model_thinks_is_masked_in_its_lines(model: ScriptedLLM) -> None:
    bank = make_bank()
    model.answer = meanwhile(lambda: MaskedValue.objects.learn(bank, {TOKEN: "secret"}))
    remember(bank, "c1", f"The harbour office had {TOKEN} written on the board in the kitchen.")
    assert "written on the board" in kept(bank)
    assert TOKEN not in kept(bank)

""" "Forget that", said in a chat: suppressed at once everywhere, filed for the owners, restored by one call."""

from typing import Any

import pytest

from memorybank import services
from memorybank.core.forget_phrases import confirmation, find_forget_request
from memorybank.language import packs
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Entry, ErasureRequest, Event, Fact, FactOutput, Output
from memorybank.writing.summarising import summarise_chat
from tests.support.factories import DAY, HOUR, MINUTE, MONDAY, chat_of, make_bank, meanwhile, run, say, sound
from tests.support.word_search import places

from .test_erase import OTHER_MESSAGE, SECRET, WORD, gone, planted

pytestmark = pytest.mark.django_db

WISHES = {
    "en": [
        "Forget that.",
        "Please forget that!",
        "We are done here. Forget that, let's go on.",
        "Sorry, forget what I said about the merger.",
        "Can you forget my phone number?",
        "Don't remember that please",
        "That was off the record.",
    ],
    "de": ["Bitte vergiss das wieder.", "Vergiss, was ich über das Gehalt gesagt habe.", "Merk dir das bitte nicht!"],
    "fr": ["Oublie ça.", "Oubliez ce que j’ai dit sur Marie, s’il vous plaît.", "Ne retenez pas cela."],
    "es": ["Por favor, olvida eso.", "Olvida lo que dije sobre el sueldo.", "No guardes esto."],
    "it": ["Dimentica quello che ho detto.", "Per favore, dimentica il mio indirizzo.", "Non ricordare questo."],
    "pt": ["Esqueça isso, por favor.", "Esqueça o que eu disse sobre o salário.", "Não guarde isto."],
    "ja": ["それは忘れてください。", "さっき言ったことは忘れて。", "これは覚えないでください。"],
    "zh": ["请忘记我刚才说的话。", "忘掉这件事吧。", "请不要记住这个。"],
}
TALK = [
    "Don't forget that we meet on Monday.",
    "Never forget that the port is 5432.",
    "Forget it.",
    "Forget that approach and use Postgres.",
    "I forgot that.",
    "Remove that line.",
    "Delete this file.",
    "Do not store this key in git.",
    "How do I make the app forget this user?",
    "Vergiss nicht, dass wir am Montag anfangen.",
    "Vergiss es.",
    "N'oubliez pas ça !",
    "No olvides eso.",
    "No olvide eso.",
    "Non dimenticare questo.",
    "Não esqueça isso.",
    "それを忘れないでください。",
    "忘记密码怎么办？",
    "别忘了这个。",
    "Forget that.\n" * 400,
]


@pytest.mark.parametrize("language", [pack.code for pack in packs()])
def test_a_wish_is_heard_in_every_language_and_answered_in_it(language: str) -> None:
    assert [(text, request.language) for text in WISHES[language] if (request := find_forget_request(text))] == [
        (text, language) for text in WISHES[language]
    ]
    assert confirmation(language)


@pytest.mark.parametrize("text", TALK)
def test_other_talk_is_no_wish(text: str) -> None:
    assert find_forget_request(text) is None


def text_for_model(bank: Bank, question: str = f"{WORD} contract") -> str:
    """All that a model is told, by any way."""
    memory = services.prompt_memory(Bank.objects.get(pk=bank.pk), question=question)
    hits = [hit.text for hit in services.recall(bank, question, top=50)]
    return "\n".join([memory.block.text, memory.recalled.text, *hits])


def asking(bank: Bank, text: str = "Please forget that.", *, at: Any = MONDAY + 2 * HOUR, **more: Any) -> Output:
    return say(bank, "zelda", text, author="Zelda", at=at, **more)


@pytest.fixture
def remembering(no_model: None) -> Bank:
    """Zelda's secret, in a block and in the index, with what Omar said beside it."""
    bank = make_bank()
    planted(bank, beside=OTHER_MESSAGE)
    say(bank, "zelda", SECRET.replace("Friday", "Sunday"), author="Zelda", at=MONDAY + 5 * MINUTE)
    Output.objects.filter(author="Zelda").earliest("pk").delete()
    run(MONDAY + HOUR)
    assert WORD in text_for_model(bank)
    return bank


def test_the_author_s_earlier_words_leave_memory_at_once(remembering: Bank) -> None:
    asking(remembering)
    assert WORD not in text_for_model(remembering) and "Lisbon" in text_for_model(remembering, "ferry to Lisbon")
    assert places(WORD)  # suppressed, not erased
    run(MONDAY + DAY)
    assert WORD not in text_for_model(remembering) and sound(remembering)


def test_a_request_is_filed_for_the_owners(remembering: Bank) -> None:
    asked = asking(remembering)
    request = ErasureRequest.objects.get()
    assert (request.author, request.asked_in, request.state, len(request.outputs)) == ("Zelda", asked.pk, "open", 2)
    assert asked.pk in request.outputs and request.facts
    event = Event.objects.get(action="ask")
    assert (event.actor, event.detail["turns"]) == ("Zelda", 2)
    assert WORD not in f"{vars(request)} {event.detail}"


def test_one_call_restores_everything(remembering: Bank) -> None:
    before = text_for_model(remembering)
    asking(remembering)
    run(MONDAY + DAY)
    request = ErasureRequest.objects.get()
    assert services.reject_erasure_request(remembering, request_id=request.pk, actor="Zelda", now=MONDAY + DAY)
    assert not services.reject_erasure_request(remembering, request_id=request.pk, actor="Zelda", now=MONDAY + DAY)
    run(MONDAY + DAY)
    assert WORD in text_for_model(remembering) and WORD in before
    assert not Output.objects.filter(erasure_requested=True).exists() and not Fact.objects.filter(hidden=True).exists()
    assert sound(remembering)


def test_an_owner_erases_what_was_asked(remembering: Bank) -> None:
    asking(remembering)
    request = ErasureRequest.objects.get()
    receipts = services.grant_erasure_request(remembering, request_id=request.pk, actor="alice", now=MONDAY + DAY)
    assert [receipt.kind for receipt in receipts] == ["output", "output"]
    request.refresh_from_db()
    assert (request.state, request.closed_by) == ("erased", "alice")
    assert services.grant_erasure_request(remembering, request_id=request.pk, actor="alice") == []
    assert gone(remembering) and "Lisbon" in text_for_model(remembering, "ferry to Lisbon")


def test_nobody_else_s_words_are_meant(remembering: Bank) -> None:
    say(remembering, "zelda", "Forget that.", author="Omar", at=MONDAY + 2 * HOUR)
    assert WORD in text_for_model(remembering)
    requested = Output.objects.filter(erasure_requested=True)
    assert set(requested.values_list("author", flat=True)) == {"Omar"}


def test_the_subject_of_a_request_is_found_in_all_chats_of_its_author(remembering: Bank) -> None:
    say(remembering, "zelda", "We meet on Thursday at noon.", author="Zelda", at=MONDAY + 90 * MINUTE)
    say(
        remembering, "elsewhere", f"Forget what I said about the {WORD} contract.", author="Zelda", at=MONDAY + 2 * HOUR
    )
    assert WORD not in text_for_model(remembering)
    assert not Output.objects.get(question__contains="Thursday").erasure_requested


@pytest.mark.usefixtures("no_model")
def test_turns_that_wait_never_become_memory_unless_restored() -> None:
    bank = make_bank()
    planted(bank)
    asking(bank, at=MONDAY + MINUTE)
    run(MONDAY + DAY)
    assert WORD not in text_for_model(bank) and not Fact.objects.filter(text__contains=WORD).exists() and sound(bank)
    services.reject_erasure_request(bank, request_id=ErasureRequest.objects.get().pk, actor="Zelda", now=MONDAY + DAY)
    run(MONDAY + DAY)
    assert WORD in text_for_model(bank) and sound(bank)


def test_no_model_reads_requested_turns_and_a_worker_that_had_read_them_writes_nothing(model: ScriptedLLM) -> None:
    bank = make_bank()
    planted(bank)
    model.enqueue(meanwhile(lambda: asking(bank, at=MONDAY + HOUR)))
    assert summarise_chat(chat_of(bank, "zelda").pk, now=MONDAY + HOUR) is None
    read = len(model.history)
    run(MONDAY + DAY)
    assert WORD not in str(model.history[read:]) and not Entry.objects.filter(facts__text__contains=WORD).exists()


@pytest.mark.usefixtures("no_model")
def test_the_answer_confirms_a_request_in_its_author_s_language() -> None:
    bank = make_bank()
    planted(bank)
    pending = asking(bank, "Bitte vergiss das.", status="pending", answer="")
    answered = services.complete(bank, pending, answer="Gut.", now=MONDAY + 2 * HOUR)
    assert answered.answer == f"Gut.\n\n{confirmation('de')}"
    assert answered.erasure_requested and ErasureRequest.objects.get().asked_in == answered.pk
    assert answered.pk in ErasureRequest.objects.get().outputs
    assert "\n\n" not in say(bank, "zelda", "And now?", author="Zelda", at=MONDAY + 3 * HOUR).answer


def test_the_message_that_is_shown_last_is_meant_and_not_another_version_of_an_earlier_one() -> None:
    bank = make_bank()
    first = say(bank, "c", "We met the vendor Hooli.")
    meant = say(bank, "c", f"My diagnosis is {WORD}.", at=MONDAY + MINUTE)
    services.record(
        bank,
        chat_key="c",
        author="Priya",
        question="We met Initech.",
        answer="Noted.",
        replaces=[first.pk, meant.pk],
        created_at=MONDAY + 2 * MINUTE,
        now=MONDAY + 2 * MINUTE,
    )
    services.show_version(bank, first.pk)
    asked = say(bank, "c", "Please forget that.", at=MONDAY + 3 * MINUTE)
    assert set(ErasureRequest.objects.get().outputs) == {meant.pk, asked.pk}


def test_restoring_one_request_shows_nothing_that_another_still_asks_to_forget() -> None:
    bank = make_bank()
    turns = [say(bank, "c", f"{name} uses Postgres 16.") for name in ("Kraken", "Hydra")]
    run(MONDAY + HOUR)
    both = Fact.objects.filter(output_links__output=turns[0]).get()
    FactOutput.objects.create(fact=both, output=turns[1])  # as a model cites both
    for name in ("Kraken", "Hydra"):
        say(bank, "c", f"Please forget what I said about {name}.", at=MONDAY + 2 * HOUR)
    first, second = ErasureRequest.objects.order_by("pk")
    services.reject_erasure_request(bank, request_id=first.pk, actor="alice", now=MONDAY + 3 * HOUR)
    assert Fact.objects.get(pk=both.pk).hidden
    services.reject_erasure_request(bank, request_id=second.pk, actor="alice", now=MONDAY + 3 * HOUR)
    assert not Fact.objects.get(pk=both.pk).hidden

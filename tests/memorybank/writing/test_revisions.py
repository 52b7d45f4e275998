"""Edited and regenerated turns: they stay complete until replaced, and memory has no trace of them afterwards."""

from collections.abc import Callable
from typing import Any

import pytest

from memorybank import services
from memorybank.exceptions import InvalidInput
from memorybank.models import Bank, Chat, Erasure, Output
from tests.memorybank.erasure.test_erase import CANARIES, OTHER_MESSAGE, SECRET, gone, planted, to_a_month
from tests.support.factories import DAY, HOUR, MINUTE, MONDAY, chat_of, make_bank, meanwhile, run, say, sound, undone
from tests.support.word_search import places

pytestmark = pytest.mark.django_db

LATER = MONDAY + 91 * DAY
STAGES: dict[str, Callable[[Bank], object]] = {
    "waiting": lambda bank: planted(bank, beside=OTHER_MESSAGE),
    "summarised": lambda bank: (planted(bank, beside=OTHER_MESSAGE), run(MONDAY + HOUR)),
    "rolled up": lambda bank: to_a_month(bank, beside=OTHER_MESSAGE),
}


def secret() -> Output:
    return Output.objects.get(author="Zelda", question=SECRET)


def record_replacement(bank: Bank, question: str, replaces: list[int], **more: Any) -> Output:
    """A message that takes the place of turns once it is answered."""
    fields = {"author": "Zelda", "status": "pending", "now": LATER, **more}
    return services.record(bank, chat_key="zelda", question=question, replaces=replaces, **fields)


def edited(bank: Bank) -> None:
    """The turn and all after it."""
    later = list(Output.objects.filter(chat=secret().chat_id, pk__gte=secret().pk).values_list("pk", flat=True))
    services.complete(bank, record_replacement(bank, "What does a contract need?", later), answer="Annexes.", now=LATER)


def regenerated(bank: Bank) -> None:
    """Here the answer has the canaries, and the question none."""
    Output.objects.filter(pk=secret().pk).update(question="What about the contract?", answer=SECRET, messages=[])
    old = Output.objects.get(answer=SECRET)
    services.complete(bank, record_replacement(bank, old.question, [old.pk]), answer="I do not know.", now=LATER)


def without_a_model(bank: Bank) -> None:
    """Recorded at once, as nobody is asked."""
    record_replacement(bank, "What does a contract need?", [secret().pk], status="ok")


def forgotten(bank: Bank) -> None:
    """Together with a later turn, which names nothing."""
    last = Output.objects.filter(chat=secret().chat_id).latest("pk")
    services.erase(bank, output={secret().pk, last.pk}, actor="Zelda", now=LATER)


WAYS = [edited, regenerated, without_a_model, forgotten]
#: Where an earlier version of a turn, and what was masked in it, stay.
TURN_COLUMNS = tuple(f"memorybank.Output.{name}" for name in ("question", "answer", "messages", "metadata", "author"))


def out_of_memory(bank: Bank) -> bool:
    """Whether no canary is left but in the turns themselves."""
    assert {where for word in CANARIES for where in places(word)} <= set(TURN_COLUMNS)
    return sound(bank)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("stage", STAGES)
def test_nothing_of_a_replaced_or_forgotten_turn_is_left(stage: str, subtests: pytest.Subtests) -> None:
    bank = make_bank(max_tokens=200 if stage == "rolled up" else 2000)
    say(bank, "zelda", "Good morning.", author="Zelda", at=MONDAY - HOUR)
    STAGES[stage](bank)
    assert places(CANARIES[0])
    for way in WAYS:
        with subtests.test(way=way.__name__), undone():
            is_left = gone if way is forgotten else out_of_memory
            way(Bank.objects.get(pk=bank.pk))
            assert is_left(bank)
            run(LATER + DAY)
            assert is_left(bank)
            assert Output.objects.filter(chat__key="zelda", question=OTHER_MESSAGE).exists()
            assert not chat_of(bank, "zelda").pending_outputs


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("stage", STAGES)
def test_memory_follows_the_version_that_is_shown(stage: str) -> None:
    bank = make_bank(max_tokens=200 if stage == "rolled up" else 2000)
    STAGES[stage](bank)
    first, others = secret(), list(Output.objects.filter(author="Zelda").exclude(question=SECRET))
    edited(bank)
    second = Output.objects.get(question="What does a contract need?")
    for number in range(2):
        assert services.versions_of(second.chat, [Output.objects.get(pk=second.pk)])[second.pk] == [first.pk, second.pk]
        run(LATER + (2 * number + 1) * DAY)
        assert out_of_memory(bank)
        shown = services.show_version(bank, first.pk, now=LATER)
        assert services.versions_of(shown.chat, [shown])[first.pk] == [first.pk, second.pk]
        assert not Output.objects.filter(pk__in=[turn.pk for turn in others], set_aside=True).exists()
        run(LATER + (2 * number + 2) * DAY)
        assert set(places(CANARIES[0])) - set(TURN_COLUMNS)
        assert sound(bank)
        with pytest.raises(InvalidInput):
            services.show_version(bank, first.pk, now=LATER)
        services.show_version(bank, second.pk, now=LATER)


@pytest.mark.usefixtures("no_model")
def test_of_three_versions_each_may_be_shown_and_what_followed_it_comes_along() -> None:
    bank = make_bank()
    ids = {}
    for name in "abc":
        ids[name] = [say(bank, "zelda", f"{name} {part}", author="Zelda").pk for part in ("asks", "goes on")]
        if name != "c":
            following = [*ids[name]]
            asked = record_replacement(bank, f"{name} gives way", following)
            services.complete(bank, asked, answer="Yes.", now=LATER)
            ids[name].append(asked.pk)
    chat = chat_of(bank, "zelda")
    newest = chat.outputs.shown().remembered().exclude(replaces=[]).latest("pk")
    ring = services.versions_of(chat, [newest])[newest.pk]
    for target in (ring[0], newest.pk, ring[0]):
        services.show_version(bank, target, now=LATER)
        shown = Output.objects.get(pk=target)
        assert not shown.set_aside
        assert services.versions_of(chat, [shown])[target] == ring
    assert sound(bank)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("outcome", ["error", "stopped", "blocked"])
def test_a_failure_loses_nothing_and_the_next_attempt_takes_its_place(outcome: str) -> None:
    bank = make_bank()
    planted(bank)
    run(MONDAY + HOUR)
    block_text = services.prompt_memory(bank).block.text
    instead = record_replacement(bank, "What does a contract need?", [secret().pk])
    services.complete(bank, instead, status=outcome, error="HTTP 503", now=LATER)
    assert services.prompt_memory(bank).block.text == block_text
    assert secret().answer
    again = services.retry_output(bank, instead.pk, now=LATER + MINUTE)
    made = services.complete(bank, again, answer="Annexes.", now=LATER + MINUTE)
    assert out_of_memory(bank)
    aside = secret()
    late = services.complete(bank, instead, answer="Something else.", now=LATER + MINUTE)
    assert (late.pk, late.answer, late.replaces) == (made.pk, "Annexes.", [aside.pk])
    assert not Erasure.objects.exists()


@pytest.mark.usefixtures("no_model")
def test_what_was_erased_before_its_answer_takes_no_place() -> None:
    bank = make_bank()
    planted(bank)
    instead = record_replacement(bank, "What does a contract need?", [secret().pk])
    services.erase(bank, output=instead.pk, actor="Zelda", now=LATER)
    with pytest.raises(InvalidInput, match="erased"):
        services.complete(bank, instead, answer="Annexes.", now=LATER)
    assert secret().answer


@pytest.mark.usefixtures("no_model")
def test_nothing_of_another_chat_or_bank_gives_way() -> None:
    bank, elsewhere = make_bank(), make_bank()
    kept = [planted(bank, chat="other").pk, planted(elsewhere).pk]
    services.complete(bank, record_replacement(bank, "And now?", [*kept, 2**40]), answer="Yes.", now=LATER)
    assert Output.objects.filter(pk__in=kept).count() == 2
    assert not Erasure.objects.exists()


def test_a_worker_that_reads_it_meanwhile_writes_nothing(model: Any) -> None:
    bank = make_bank()
    planted(bank)
    model.answer = meanwhile(lambda: edited(Bank.objects.get(pk=bank.pk)))
    run(MONDAY + HOUR)
    assert out_of_memory(bank)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    ("title", "stays"),
    [
        ("Good morning", True),  # what a turn says that stays
        ("The budget", True),  # what no turn says
        ("About quokkaberry", False),
        ("Good morning, quokkab…", False),  # cut short
        ("🜁", False),
    ],
)
def test_a_title_stays_that_quotes_nothing_of_it(title: str, stays: bool) -> None:
    bank = make_bank()
    say(bank, "zelda", "Good morning.", author="Zelda", at=MONDAY - HOUR)
    planted(bank)
    Chat.objects.filter(key="zelda").update(title=title)
    edited(bank)
    assert chat_of(bank, "zelda").title == (title if stays else "")


def test_what_only_has_to_be_mended_does_not_wait_until_the_chat_is_idle() -> None:
    bank = make_bank()
    say(bank, "c", "The crane is orange.")
    chat = chat_of(bank, "c")
    assert chat.next_due(bank) == chat.last_output_at + bank.idle_minutes * MINUTE
    chat.pending_outputs, chat.stale = 0, True  # as after a version is shown again in a chat with notes of a model
    assert chat.next_due(bank) == chat.last_output_at

"""Shortening a chat: what takes the place of its turns, what is kept, and that any failure leaves it as it was."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from memorybank import llm, services
from memorybank.compacting.progress import Progress, Reporter
from memorybank.exceptions import InvalidInput, LLMRejected, LLMUnavailable, NotCompacted
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, Checkpoint, Compaction, LLMCall, Output
from tests import long_chats

from .conftest import scripted
from .everywhere import places, told
from .factories import DAY, HOUR, MINUTE, MONDAY, make_bank, run, say, sentence

pytestmark = pytest.mark.django_db

CHAT, WINDOW = "c", 4_000
GOOD = "- goal: paint the crane\n- done: the crane is painted"


def talk(bank: Bank, chat: str, numbers: range, *, at: datetime = MONDAY) -> None:
    """Turns that are answered at some length, one a minute."""
    for index, number in enumerate(numbers):
        say(bank, chat, sentence(number), answer="That is well understood. " * 16, at=at + index * MINUTE)


@pytest.fixture
def chat_model(settings: Any) -> Iterator[ScriptedLLM]:
    """The model of chats, which takes notes in order."""
    with scripted(settings, "chat", GOOD) as built:
        yield built


@pytest.fixture
def bank() -> Bank:
    bank = make_bank(enabled=False)
    talk(bank, CHAT, range(12))
    return bank


def compact(bank: Bank, **options: Any) -> Checkpoint:
    return services.compact_chat(bank, **{"chat_key": CHAT, "window": WINDOW, "now": MONDAY + HOUR, **options})


def refused(bank: Bank, **options: Any) -> str:
    """Why, after it was made sure that nothing has changed."""
    before = list(Checkpoint.objects.values())
    with pytest.raises(NotCompacted) as why:
        compact(bank, **options)
    assert list(Checkpoint.objects.values()) == before
    assert Compaction.objects.running(Chat.objects.get(key=CHAT).pk, MONDAY + HOUR) is None
    return str(why.value)


def shown(model: ScriptedLLM, call: int = -1) -> str:
    return model.history[call][1]["content"]


# --- what takes the place ---------------------------------------------------------------------------------


def test_a_checkpoint_stands_for_all_but_the_newest_turns_which_stay_stored(
    bank: Bank, chat_model: ScriptedLLM
) -> None:
    made = compact(bank)
    ids = list(Output.objects.order_by("pk").values_list("pk", flat=True))
    assert (made.through, len(ids)) == (ids[-5], 12)
    assert "Goal\n- paint the crane" in made.text and "Done\n- the crane is painted" in made.text
    assert "In their own words\n- Priya: The harbour crane of order ORD-00000" in made.text
    assert made.tokens_after < made.tokens_before
    assert made.method.startswith("scripted compact@")
    [call] = LLMCall.objects.all()
    assert (call.purpose, call.outcome) == ("compact", "ok")


def test_the_model_is_shown_the_old_turns_as_data_and_the_kept_ones_beside(bank: Bank, chat_model: ScriptedLLM) -> None:
    compact(bank, focus="the crane")
    system, (data, _, kept) = chat_model.history[0][0]["content"], shown(chat_model).partition("<<<newest")
    assert "ORD-00007" in data and "ORD-00008" not in data
    assert "ORD-00008" in kept and "ORD-00011" in kept and "ORD-00007" not in kept
    assert system.endswith("What matters most to the person now\nthe crane")


def test_the_checkpoint_before_is_brought_up_to_date_and_not_begun_anew(bank: Bank, chat_model: ScriptedLLM) -> None:
    first = compact(bank)
    talk(bank, CHAT, range(20, 30), at=MONDAY + HOUR)
    second = compact(bank, now=MONDAY + 2 * HOUR)
    assert "<<<checkpoint" in shown(chat_model) and "- goal: paint the crane" in shown(chat_model)
    assert "ORD-00003" not in shown(chat_model) and "ORD-00011" in shown(chat_model)
    assert "ORD-00003" in second.text  # people's own words reach back further
    assert Checkpoint.objects.newest(first.chat_id) == second
    assert Checkpoint.objects.newest(first.chat_id, second.through) == first


def test_one_more_does_not_wear_down_what_the_last_one_quotes(chat_model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, CHAT, range(60))
    first = compact(bank, window=8_000)
    talk(bank, CHAT, range(60, 64), at=MONDAY + 2 * HOUR)
    second = compact(bank, window=8_000, now=MONDAY + 3 * HOUR)
    assert second.text.count("Priya:") >= first.text.count("Priya:") - 1


def test_harder_keeps_less(bank: Bank, chat_model: ScriptedLLM) -> None:
    gentle = compact(bank)
    gentle.delete()
    assert compact(bank, harder=True).through > gentle.through


def test_without_a_model_it_is_made_of_sentences_that_were_said_and_says_so(bank: Bank, no_model: None) -> None:
    made = compact(bank, window=1_500)
    assert made.method.startswith("extractive")
    assert "Goal\n- The harbour crane of order ORD-00000" in made.text
    talk(bank, CHAT, range(20, 30), at=MONDAY + HOUR)
    assert "Goal\n- The harbour crane of order ORD-00000" in compact(bank, window=1_500).text


def test_what_the_model_was_not_shown_is_in_no_checkpoint(bank: Bank, chat_model: ScriptedLLM) -> None:
    chat_model.answer = "- context: see /etc/passwd and ORD-99999\n- context: see ORD-00001"
    text = compact(bank).text
    assert "ORD-99999" not in text and "see ORD-00001" in text


def test_secrets_are_masked_in_it(bank: Bank, chat_model: ScriptedLLM) -> None:
    say(bank, "d", "My password is Tr0ub4dor&3xyz, keep it.", at=MONDAY)
    talk(bank, "d", range(12), at=MONDAY + MINUTE)
    assert "Tr0ub4dor" not in compact(bank, chat_key="d").text + shown(chat_model)


# --- in parts ---------------------------------------------------------------------------------------------


@pytest.fixture
def long_bank(chat_model: ScriptedLLM, settings: Any) -> Bank:
    settings.MEMORYBANK = {**settings.MEMORYBANK, "INPUT_TOKENS": 1_500, "CHUNK_TOKENS": 800}
    bank = make_bank(enabled=False)
    services.record_many(bank, long_chats.turns(9_000, chat=CHAT))
    built = llm.get("chat")
    assert isinstance(built, ScriptedLLM)
    built.answer = lambda messages: long_chats.model([dict(message) for message in messages])
    return bank


def test_a_long_chat_is_read_in_parts_and_the_percentage_never_goes_back(long_bank: Bank) -> None:
    steps: list[Progress] = []
    made = compact(long_bank, window=8_000, progress=steps.append)
    percents = [step.percent for step in steps]
    assert percents == sorted(percents) and percents[0] == 5 and percents[-1] == 100
    assert [step.stage for step in steps if step.stage != "parts"] == ["load", "strategy", "merged", "written"]
    parts = [step for step in steps if step.stage == "parts"]
    assert [step.done for step in parts] == list(range(1, parts[-1].of + 1)) and parts[-1].of > 4
    for _, said, _, answer in long_chats.PLANTED:
        assert answer in made.text, said


def test_a_part_that_fails_is_extracted_and_advances_the_percentage(long_bank: Bank) -> None:
    model, steps = llm.get("chat"), list[Progress]()
    assert isinstance(model, ScriptedLLM)
    model.enqueue(LLMRejected("no"), "I would rather not.")
    made = compact(long_bank, window=8_000, progress=steps.append)
    parts = [step for step in steps if step.stage == "parts"]
    assert [step.done for step in parts] == list(range(1, parts[-1].of + 1))
    assert "9 hours" in made.text  # it is in a part that was read
    assert set(LLMCall.objects.values_list("outcome", flat=True)) == {"ok", "rejected", "unusable"}


def test_notes_of_parts_that_cannot_be_joined_stand_as_they_are(long_bank: Bank) -> None:
    model = llm.get("chat")
    assert isinstance(model, ScriptedLLM)
    model.answer = lambda messages: (
        "Sorry, no." if "read part by part" in messages[0]["content"] else long_chats.model([dict(m) for m in messages])
    )
    made = compact(long_bank, window=8_000)
    assert all(answer in made.text for *_, answer in long_chats.PLANTED)


def test_notes_that_one_call_cannot_read_are_joined_in_rounds(long_bank: Bank, settings: Any) -> None:
    settings.MEMORYBANK = {**settings.MEMORYBANK, "INPUT_TOKENS": 400, "CHUNK_TOKENS": 400}
    model, steps = llm.get("chat"), list[Progress]()
    assert isinstance(model, ScriptedLLM)

    def talkative(messages: Any) -> str:
        more = re.findall(r"the log has \d+ lines", messages[1]["content"])[:6]
        return "\n".join([long_chats.model([dict(m) for m in messages]), *(f"- done: {each}" for each in more)])

    model.answer = talkative
    made = compact(long_bank, window=8_000, progress=steps.append)
    joining = [call for call in model.history if "read part by part" in call[0]["content"]]
    assert len(joining) > 1 and steps[-1].percent == 100
    assert all(answer in made.text for kind, *_, answer in long_chats.PLANTED if kind in ("goal", "decision", "next"))


@pytest.mark.parametrize("failure", [LLMUnavailable("down"), LLMRejected("no")], ids=["outage", "every part"])
def test_an_outage_or_a_failure_of_every_part_is_one_of_the_whole(long_bank: Bank, failure: Exception) -> None:
    model = llm.get("chat")
    assert isinstance(model, ScriptedLLM)
    model.answer = failure
    assert "The model failed" in refused(long_bank, window=8_000)


# --- what fails leaves the chat as it was -----------------------------------------------------------------


def test_nothing_to_shorten_says_so_with_its_tokens(chat_model: ScriptedLLM) -> None:
    bank = make_bank()
    talk(bank, CHAT, range(3))
    why = refused(bank)
    assert why.startswith("Nothing to shorten: the chat has ") and "its newest 3 turns are kept." in why
    assert not chat_model.history
    assert Compaction.objects.may_begin(Chat.objects.get(key=CHAT).pk, MONDAY + HOUR)  # no failure


def test_nothing_gained_says_so_with_the_tokens_before_and_after(chat_model: ScriptedLLM) -> None:
    bank = make_bank()
    for number in range(5):
        say(bank, CHAT, "Hi.", answer="", at=MONDAY + number * MINUTE)
    chat_model.answer = "- goal: say hello to everybody"
    assert "Nothing gained: 30 tokens before, " in refused(bank)


@pytest.mark.parametrize(
    "failure",
    [LLMRejected("The model answered nothing"), LLMUnavailable("HTTP 503: down"), "- nothing", "Sorry, no."],
    ids=["empty", "outage", "nothing", "prose"],
)
def test_a_model_that_fails_leaves_the_chat_as_it_was_with_its_tokens(
    bank: Bank, chat_model: ScriptedLLM, failure: Any
) -> None:
    chat_model.enqueue(failure)
    why = refused(bank)
    assert why.startswith("The model failed, so the chat stays as it was, 1,302 tokens: ")
    assert Compaction.objects.get().error == why
    assert compact(bank).tokens_after  # and works when the model does


def test_after_a_failure_it_is_not_tried_again_unasked_for_a_while(bank: Bank, chat_model: ScriptedLLM) -> None:
    chat_model.enqueue(LLMUnavailable("down"))
    refused(bank)
    chat = Chat.objects.get(key=CHAT)
    assert not Compaction.objects.may_begin(chat.pk, MONDAY + HOUR)
    assert Compaction.objects.may_begin(chat.pk, MONDAY + DAY)
    compact(bank)
    assert Compaction.objects.may_begin(chat.pk, MONDAY + HOUR)


def meanwhile(act: Callable[[], object]) -> Callable[[Any], str]:
    def think(_: Any) -> str:
        act()
        return GOOD

    return think


def test_what_is_said_meanwhile_follows_the_checkpoint(bank: Bank, chat_model: ScriptedLLM) -> None:
    chat_model.answer = meanwhile(lambda: say(bank, CHAT, "And the zebra?", at=MONDAY + HOUR))
    made = compact(bank)
    assert Output.objects.filter(pk__gt=made.through, question="And the zebra?").exists()
    assert "zebra" not in made.text


def test_what_is_erased_meanwhile_is_in_no_checkpoint(bank: Bank, chat_model: ScriptedLLM) -> None:
    first = Output.objects.order_by("pk")[0]
    chat_model.answer = meanwhile(lambda: services.forget(bank, output=first.pk, actor="alice", now=MONDAY + HOUR))
    assert "erased meanwhile" in refused(bank)


def test_a_chat_that_is_deleted_meanwhile_is_gone(bank: Bank, chat_model: ScriptedLLM) -> None:
    chat_model.answer = meanwhile(lambda: Chat.objects.get(key=CHAT).delete())
    with pytest.raises(NotCompacted):
        compact(bank)
    assert not Checkpoint.objects.exists() and not Compaction.objects.exists()


def test_two_at_once_are_one(bank: Bank, chat_model: ScriptedLLM) -> None:
    def again() -> None:
        with pytest.raises(NotCompacted, match="being shortened already"):
            compact(bank)

    chat_model.answer = meanwhile(again)
    compact(bank)
    assert Checkpoint.objects.count() == 1


def test_one_that_died_is_taken_over_when_its_lease_ends(bank: Bank, chat_model: ScriptedLLM) -> None:
    assert Compaction.objects.begin(Chat.objects.get(key=CHAT), MONDAY + HOUR, 5 * MINUTE)
    with pytest.raises(NotCompacted, match="already"):
        compact(bank)
    assert compact(bank, now=MONDAY + HOUR + 5 * MINUTE)


def test_saying_how_far_it_is_holds_it_for_longer(bank: Bank, chat_model: ScriptedLLM) -> None:
    held = Compaction.objects.begin(Chat.objects.get(key=CHAT), MONDAY + HOUR, MINUTE)
    assert held
    Reporter(held, MONDAY + HOUR, 5 * MINUTE).part(1, 2)
    running = Compaction.objects.running(held.chat_id, MONDAY + HOUR + 4 * MINUTE)
    assert running and (running.percent, running.done, running.of) == (45, 1, 2)


@pytest.mark.parametrize(("options", "said"), [({"chat_key": "none"}, "chat: "), ({"focus": "a" * 1_001}, "focus: ")])
def test_what_cannot_be_is_refused(bank: Bank, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        compact(bank, **options)


# --- erasure, privacy ---------------------------------------------------------------------------------------

CANARY = "zanzibarberry"


@pytest.fixture
def noted(chat_model: ScriptedLLM) -> tuple[Bank, Checkpoint]:
    """A checkpoint with a canary in its notes and in Zelda's own words; and an older one without it."""
    bank = make_bank(redact_personal=False)
    talk(bank, CHAT, range(12))
    compact(bank)
    say(bank, CHAT, f"The {CHAT} contract is about the {CANARY}.", author="Zelda", at=MONDAY + MINUTE)
    talk(bank, CHAT, range(20, 30), at=MONDAY + HOUR)
    chat_model.answer = f"- goal: the contract about the {CANARY}"
    made = compact(bank, now=MONDAY + 2 * HOUR)
    assert made.text.count(CANARY) == 2 and "memorybank.Checkpoint.text" in places(CANARY)
    return bank, made


def zelda() -> Output:
    return Output.objects.get(author="Zelda")


NOW = MONDAY + 3 * HOUR
WAYS: dict[str, Callable[[Bank], object]] = {
    "chat": lambda bank: services.forget(bank, chat=CHAT, actor="alice", now=NOW),
    "author": lambda bank: services.forget(bank, author="Zelda", actor="alice", now=NOW),
    "output": lambda bank: services.forget(bank, output=zelda().pk, actor="alice", now=NOW),
    "everything": lambda bank: services.clear(bank, actor="alice", now=NOW),
    "row": lambda bank: Chat.objects.get(key=CHAT).delete(),
}


@pytest.mark.parametrize("way", WAYS)
def test_whatever_erases_a_turn_erases_the_checkpoints_it_is_in(noted: tuple[Bank, Checkpoint], way: str) -> None:
    WAYS[way](noted[0])
    assert places(CANARY) == []
    left = Checkpoint.objects.count()
    assert left == (1 if way in ("author", "output") else 0)  # the older one knew nothing of it


def test_a_receipt_counts_them(noted: tuple[Bank, Checkpoint]) -> None:
    receipt = services.forget(noted[0], author="Zelda", actor="alice", dry_run=True, now=NOW)
    assert receipt.as_dict()["checkpoints"] == 1
    assert Checkpoint.objects.count() == 2


def test_who_opts_out_is_in_no_checkpoint_and_her_turns_are_shown_to_no_summariser(
    noted: tuple[Bank, Checkpoint], chat_model: ScriptedLLM
) -> None:
    bank, _ = noted
    services.opt_out(bank, author="Zelda", actor="Zelda", now=NOW)
    assert not any("Checkpoint" in place for place in places(CANARY))
    chat_model.answer = GOOD
    assert CANARY not in compact(bank, now=NOW).text + shown(chat_model)


def test_of_a_chat_of_somebody_who_is_left_out_there_is_nothing_to_note(bank: Bank, chat_model: ScriptedLLM) -> None:
    services.opt_out(bank, author="Priya", actor="Priya", now=NOW)
    assert "nothing may be noted (1,302 tokens)" in refused(bank)
    assert not chat_model.history


def test_who_asks_to_forget_it_is_in_none_and_when_it_was_not_meant_it_is_made_anew(
    noted: tuple[Bank, Checkpoint], chat_model: ScriptedLLM
) -> None:
    bank, _ = noted
    say(bank, "other", f"Please forget what I said about the {CANARY} contract.", author="Zelda", at=NOW)
    say(bank, CHAT, "Forget that.", author="Zelda", at=NOW)
    assert not any("Checkpoint" in place for place in places(CANARY))
    chat_model.answer = GOOD
    assert CANARY not in compact(bank, now=NOW).text
    services.restore_asked(bank, request_id=bank.erasure_requests.get(chat__key=CHAT).pk, actor="alice", now=NOW)
    assert CANARY in compact(bank, now=NOW).text


@pytest.mark.parametrize("setting", ["keep_turns_days", "keep_memory_days"])
def test_what_is_too_old_is_in_none(noted: tuple[Bank, Checkpoint], setting: str) -> None:
    bank, _ = noted
    services.configure(bank, actor="alice", now=NOW, **{setting: 1})
    run(NOW + 2 * DAY)
    assert not Checkpoint.objects.exists()


def test_one_that_was_made_without_what_is_too_old_stays(bank: Bank, chat_model: ScriptedLLM) -> None:
    services.configure(bank, actor="alice", now=NOW, keep_memory_days=1)
    run(NOW + 2 * DAY)
    talk(bank, CHAT, range(40, 52), at=NOW + 2 * DAY)
    made = compact(bank, now=NOW + 2 * DAY + HOUR)
    assert "ORD-00001" not in shown(chat_model)
    run(NOW + 3 * DAY + timedelta(hours=-2))
    assert Checkpoint.objects.get() == made


def test_no_memory_and_no_other_chat_is_told_of_a_private_chats_checkpoint(chat_model: ScriptedLLM) -> None:
    bank = make_bank()
    say(bank, "shared", "The crane is green.", at=MONDAY)
    talk(bank, CHAT, range(12))
    services.set_private(bank, chat_key=CHAT, private=True, actor="alice", now=MONDAY)
    chat_model.answer = f"- goal: paint the crane\n- context: {CANARY}"
    made = compact(bank)
    run(MONDAY + DAY)
    assert CANARY in made.text
    assert CANARY not in told(bank, f"{CANARY} crane")
    assert {place.partition(".")[2].partition(".")[0] for place in places(CANARY)} == {"Checkpoint"}


def test_another_bank_has_nothing_of_it(noted: tuple[Bank, Checkpoint]) -> None:
    other = make_bank()
    talk(other, CHAT, range(12))
    services.forget(other, chat=CHAT, actor="alice", now=NOW)
    assert Checkpoint.objects.count() == 2
    with pytest.raises(InvalidInput):
        compact(make_bank())

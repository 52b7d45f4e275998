"""A model session: the prompt, the ledger, and the circuit breaker that all workers share."""

import re
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import pytest

from memorybank import llm, services
from memorybank.core.transcript import SourceItem
from memorybank.core.validation.json_answers import rows_of_json
from memorybank.exceptions import LLMMisconfigured, LLMRejected, LLMUnavailable
from memorybank.llm.openai_compatible import OpenAICompatibleLLM
from memorybank.llm.scripted import ScriptedLLM
from memorybank.model_calls.session import BackingOff, PromptSpec, Purpose, session
from memorybank.models import EXTRACTIVE, Bank, Chat, Entry, LLMCall, LLMEndpoint
from memorybank.models.ledger import backoff
from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.factories import DAY, HOUR, MINUTE, MONDAY, chat_of, endpoint, make_bank, refusing, run, say, talk
from tests.support.openai_server import OpenAIServer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("model")]

ITEMS = [SourceItem("1", "(2 March 2026) Priya: The crane is orange.", 12)]
SUMMARISE = PromptSpec("summarise", 180)
IN_JSON = """\
Here it is:
{"lines": [{"kind": "fact", "text": "The crane\\nis orange", "sources": ["1"]},
           {"kind": "plan", "text": "It is tall", "sources": ["1"]}]}"""


def ask(bank: Bank, *, now: datetime = MONDAY) -> list[str]:
    """One call in a separate session, as a worker makes it."""
    with session(bank, now) as opened:
        assert opened
        return [line.text for line in opened.ask(Purpose.SUMMARY, SUMMARISE, ITEMS)]


def fails(error: BaseException, bank: Bank, *, now: datetime = MONDAY) -> None:
    """One call that the model answers with an error."""
    scripted().enqueue(error)
    with pytest.raises(type(error)):
        ask(bank, now=now)


def scripted() -> ScriptedLLM:
    built = llm.get("summary")
    assert isinstance(built, ScriptedLLM)
    return built


# --- the prompt --------------------------------------------------------------------------------------


def test_a_prompt_names_its_caps_and_fences_the_data_with_a_fresh_nonce() -> None:
    first, second = SUMMARISE.messages({"data": ITEMS}), SUMMARISE.messages({"data": ITEMS})
    nonces = [re.findall(r"<<<data (\w{16})", message["content"]) for message in (*first, *second)]
    assert all(len(set(fences)) == 1 for fences in nonces)
    assert nonces[0] == nonces[1] != nonces[2]
    assert "at most 180 words in all" in first[1]["content"]
    assert "[1] (2 March 2026) Priya: The crane is orange." in first[1]["content"]


def test_an_endpoint_that_keeps_to_a_schema_is_asked_for_json_and_can_cite_only_what_it_was_shown() -> None:
    with OpenAIServer() as server:
        server.answer = lambda messages: IN_JSON
        small = OpenAICompatibleLLM(
            model="small", base_url=server.base_url, timeout=PROCESS_TIMEOUT_SECONDS, json_schema=True
        )
        with closing(small), llm.using("summary", small):
            assert ask(make_bank()) == ["The crane is orange", "It is tall"]
        [asked] = server.requests
    form = asked["response_format"]["json_schema"]
    assert form["strict"] and form["schema"]["properties"]["lines"]["items"]["properties"]["sources"]["items"] == {
        "type": "string",
        "enum": ["1"],
    }
    assert "as JSON" in asked["messages"][1]["content"] and "- KIND" not in asked["messages"][1]["content"]


def client(server: OpenAIServer) -> OpenAICompatibleLLM:
    """Of an endpoint of which nobody said whether it keeps to a schema."""
    return OpenAICompatibleLLM(
        model="small", base_url=server.base_url, timeout=PROCESS_TIMEOUT_SECONDS, json_schema=None
    )


def asked_for_json(server: OpenAIServer) -> list[bool]:
    return [
        "response_format" in request and "as JSON" in request["messages"][1]["content"] for request in server.requests
    ]


def test_a_schema_is_tried_when_no_line_is_usable_and_kept_to_if_that_helps() -> None:
    with OpenAIServer() as server, closing(client(server)) as small, llm.using("summary", small):
        server.answer = lambda messages: IN_JSON if "as JSON" in messages[1]["content"] else "The crane is orange."
        bank = make_bank()
        assert ask(bank) == ask(bank) == ["The crane is orange", "It is tall"]
        assert asked_for_json(server) == [False, True, True]
    assert sorted(LLMCall.objects.values_list("outcome", flat=True)) == ["ok", "ok", "unusable"]


def test_an_endpoint_that_ignores_a_schema_is_asked_for_lines_from_then_on() -> None:
    with OpenAIServer() as server, closing(client(server)) as small, llm.using("summary", small):
        server.answer = lambda messages: "The crane is orange."
        bank = make_bank()
        for _ in range(2):
            with pytest.raises(LLMRejected, match="No usable line"):
                ask(bank)
        assert asked_for_json(server) == [False, True, False]
        server.answer = lambda messages: "- fact: The crane is orange [1]"
        assert ask(bank) == ["The crane is orange"]


def test_a_model_that_writes_usable_lines_is_never_asked_for_json() -> None:
    with OpenAIServer() as server, closing(client(server)) as large, llm.using("summary", large):
        server.answer = lambda messages: "- fact: The crane is orange [1]"
        assert ask(make_bank()) == ["The crane is orange"]
        assert asked_for_json(server) == [False] and large.json_schema is None


@pytest.mark.parametrize(
    ("answer", "rows"),
    [
        (IN_JSON, "- fact: The crane is orange [1]\n- plan: It is tall [1]"),
        (IN_JSON[:-20], "- fact: The crane is orange [1]"),  # cut off at the answer's limit
        ('{"lines": []}', "- nothing"),
        ("- fact: The crane is orange [1]", "- fact: The crane is orange [1]"),  # the endpoint ignores the schema
        ("I cannot do that.", "I cannot do that."),
    ],
)
def test_an_answer_in_json_is_read_as_lines(answer: str, rows: str) -> None:
    assert rows_of_json(answer) == rows


def test_the_focus_stands_under_its_own_header_and_is_not_escaped() -> None:
    digest = PromptSpec("digest", 60, context={"focus": "Prices & <terms>", "period": "2026-W10"})
    system = digest.messages({"data": ITEMS})[0]["content"]
    assert system.rstrip().endswith("What matters most in this project\nPrices & <terms>")


def test_an_entry_says_which_model_and_which_prompt_made_it() -> None:
    merge = PromptSpec("merge", 60)
    with session(make_bank(), MONDAY) as opened:
        assert opened
        for prompt in (SUMMARISE, merge, SUMMARISE):
            opened.ask(Purpose.SUMMARY, prompt, ITEMS)
        assert opened.method() == f"scripted {SUMMARISE.version()} {merge.version()}"
    assert re.fullmatch(r"merge@[0-9a-f]{8}", merge.version())


def test_an_answer_longer_than_asked_for_keeps_its_first_lines() -> None:
    """A quarter more than asked for is let pass: models count badly."""
    scripted().enqueue("\n".join(f"- fact: The crane is {colour} and orange. [1]" for colour in "abcdefg"))
    with session(make_bank(), MONDAY) as opened:
        assert opened and len(opened.ask(Purpose.SUMMARY, PromptSpec("summarise", 20), ITEMS)) == 4


def test_a_line_that_its_source_does_not_state_is_asked_for_once_more_with_the_reason() -> None:
    scripted().enqueue(
        "- fact: The crane is orange. [1]\n- fact: The crane lifts 9 tons. [1]", "- fact: Priya saw it. [1]"
    )
    with session(make_bank(), MONDAY) as opened:
        assert opened
        lines = opened.ask(Purpose.SUMMARY, SUMMARISE, ITEMS)
        assert [line.text for line in lines] == ["The crane is orange.", "Priya saw it."]
        assert opened.dropped == []
    asked = scripted().history[-1]
    assert "lines of your answer that were dropped" in asked[0]["content"]
    assert "The crane lifts 9 tons. [1] (states a number that its cited sources do not)" in asked[1]["content"]


def test_a_line_that_cannot_be_put_right_is_dropped_and_counted() -> None:
    scripted().enqueue("- fact: The crane is orange. [1]\n- fact: The crane lifts 9 tons. [1]", "Sorry.")
    with session(make_bank(), MONDAY) as opened:
        assert opened
        assert len(opened.ask(Purpose.SUMMARY, SUMMARISE, ITEMS)) == 1
        assert [why for _, why in opened.dropped] == ["states a number that its cited sources do not"]


def test_a_model_says_what_it_left_out() -> None:
    scripted().enqueue("- fact: The crane is orange. [1]\n- left out [2,3]")
    items = [*ITEMS, SourceItem("2", "(2 March 2026) Priya: Thanks!", 8)]
    with session(make_bank(), MONDAY) as opened:
        assert opened
        assert len(opened.ask(Purpose.DIGEST, PromptSpec("digest", 60), items)) == 1
        assert opened.left_out == {"2"}
    assert len(scripted().history) == 1


def test_prose_around_the_lines_is_left_out() -> None:
    """RESTai: no preamble."""
    scripted().enqueue("Sure! Here is what I noted:\n- fact: The crane is orange. [1]\nLet me know if you need more.")
    assert ask(make_bank()) == ["The crane is orange."]


# --- the ledger --------------------------------------------------------------------------------------


def test_every_call_is_on_the_ledger_with_its_cost_and_without_a_word_of_text() -> None:
    bank = make_bank()
    scripted().enqueue("- fact: The crane is orange. [1]")
    ask(bank, now=MONDAY + HOUR)
    call = LLMCall.objects.get()
    assert (call.bank, call.purpose, call.model, call.outcome, call.at) == (
        bank,
        "summary",
        "scripted",
        "ok",
        MONDAY + HOUR,
    )
    assert call.prompt_tokens > 100 and call.completion_tokens > 5
    assert not any("crane" in str(value) for value in vars(call).values())


@pytest.mark.parametrize(
    ("answer", "outcome", "raised"),
    [
        (LLMUnavailable("HTTP 503: overloaded"), "unavailable", LLMUnavailable),
        (LLMMisconfigured("HTTP 401: no such key"), "misconfigured", LLMMisconfigured),
        (LLMRejected("HTTP 400: too long"), "rejected", LLMRejected),
        ("I would rather not.", "unusable", LLMRejected),
        (LLMUnavailable(""), "unavailable", LLMUnavailable),
    ],
)
def test_a_failed_call_is_on_the_ledger_in_the_provider_s_words(answer: Any, outcome: str, raised: Any) -> None:
    scripted().enqueue(answer)
    with pytest.raises(raised):
        ask(make_bank())
    call = LLMCall.objects.get()
    assert call.outcome == outcome
    assert call.error.startswith(str(answer) if isinstance(answer, Exception) else "No usable line")
    assert (call.completion_tokens > 0) == (outcome == "unusable")  # an answer was paid for


def test_the_provider_s_words_are_kept_to_500_characters() -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    scripted().enqueue(LLMUnavailable("x" * 2000))
    run(MONDAY + HOUR)
    kept = [LLMCall.objects.get().error, endpoint().last_error, chat_of(bank, "c").last_error]
    assert [len(words) for words in kept] == [500] * 3


def test_a_complaint_is_gone_once_it_works_again() -> None:
    """flocks: failures reach the user, never stale ones."""
    bank = make_bank()
    talk(bank, "c", [1])
    scripted().enqueue(LLMUnavailable("HTTP 503"))
    run(MONDAY + HOUR)
    run(MONDAY + 2 * HOUR)
    assert [endpoint().last_error, chat_of(bank, "c").last_error] == ["", ""]
    assert services.current_outage(now=MONDAY + 2 * HOUR) is None


def test_a_bank_deleted_while_the_model_thinks_leaves_nothing_behind() -> None:
    bank = make_bank()
    talk(bank, "c", [1])
    scripted().enqueue(lambda messages: str(Bank.objects.filter(pk=bank.pk).delete()) and "- nothing")
    run(MONDAY + HOUR)
    assert not LLMCall.objects.exists() and not Chat.objects.exists()


# --- the circuit breaker -----------------------------------------------------------------------------


def test_pauses_double_up_to_an_hour_half_of_each_left_to_chance() -> None:
    longest = [backoff(n, draw=lambda: 1.0) for n in (1, 2, 3, 7, 100)]
    shortest = [backoff(n, draw=lambda: 0.0) for n in (1, 2, 3, 7, 100)]
    assert longest == [timedelta(minutes=minutes) for minutes in (1, 2, 4, 60, 60)]
    assert shortest == [pause / 2 for pause in longest]


def test_an_outage_stops_every_bank_and_lets_one_probe_through() -> None:
    bank, other = make_bank(), make_bank()
    fails(LLMUnavailable("HTTP 503"), bank)
    with pytest.raises(BackingOff):
        ask(other, now=MONDAY + timedelta(seconds=29))
    fingerprint, later = endpoint().fingerprint, MONDAY + 2 * MINUTE
    assert LLMEndpoint.objects.admit(fingerprint, later) is not None
    assert LLMEndpoint.objects.admit(fingerprint, later) is None
    assert len(scripted().history) == LLMCall.objects.count() == 1


def test_a_probe_that_succeeds_opens_the_way_for_all() -> None:
    bank = make_bank()
    fails(LLMUnavailable("HTTP 503"), bank)
    for _ in range(2):
        ask(bank, now=MONDAY + 2 * MINUTE)
    assert (endpoint().retry_at, endpoint().failures) == (None, 0)


def test_a_probe_whose_worker_dies_is_followed_by_another() -> None:
    fails(LLMUnavailable("HTTP 503"), make_bank())
    assert LLMEndpoint.objects.admit(endpoint().fingerprint, MONDAY + 2 * MINUTE)  # and never reports back
    assert LLMEndpoint.objects.admit(endpoint().fingerprint, MONDAY + 4 * MINUTE)


def test_a_longer_wish_of_the_provider_is_granted_up_to_a_day() -> None:
    bank = make_bank()
    fails(LLMUnavailable("HTTP 429", retry_after=7200), bank)
    assert endpoint().retry_at == MONDAY + 2 * HOUR
    fails(LLMUnavailable("HTTP 429", retry_after=10**9), bank, now=MONDAY + 3 * HOUR)
    assert endpoint().retry_at == MONDAY + 3 * HOUR + DAY


def test_a_wrong_key_is_tried_once_an_hour_and_a_new_one_at_once(tuned: Any) -> None:
    bank = make_bank()
    fails(LLMMisconfigured("HTTP 401"), bank)
    with pytest.raises(BackingOff):
        ask(bank, now=MONDAY + 59 * MINUTE)
    options = {"BACKEND": "memorybank.llm.scripted.ScriptedLLM", "MODEL": "another"}
    tuned(LLMS={"summary": options})
    assert ask(bank, now=MONDAY + MINUTE) == []


def test_useless_answers_never_make_an_endpoint_back_off_however_many_chats_get_them() -> None:
    for useless in (LLMRejected("HTTP 400"), LLMRejected("The model returned an empty answer")) * 6:
        fails(useless, make_bank())
    assert (endpoint().retry_at, endpoint().failures, endpoint().failing_since) == (None, 0, MONDAY)


def test_a_good_answer_in_between_clears_the_endpoint_of_suspicion() -> None:
    bank = make_bank()
    fails(LLMRejected("HTTP 400"), bank)
    ask(bank)
    assert endpoint().failing_since is None


def test_a_worker_that_fails_late_does_not_undo_what_others_learnt() -> None:
    """It began before the outage; meanwhile four others have failed."""
    fails(LLMUnavailable("HTTP 503"), make_bank())
    slow = endpoint()
    for _ in range(4):
        endpoint().failed("HTTP 503", MONDAY + HOUR)
    slow.failed("time-out", MONDAY + 2 * HOUR)
    assert (endpoint().failures, endpoint().failing_since) == (6, MONDAY)


# --- who is forgiven when the model is back ----------------------------------------------------------


def test_chats_that_failed_with_everybody_start_afresh_when_the_model_is_back() -> None:
    bank = make_bank()
    for number in range(4):
        talk(bank, f"c{number}", [number])
    scripted().answer = "garbage"
    for hours in range(1, 12):
        run(MONDAY + hours * HOUR)
    scripted().answer = refusing("nothing of this kind")
    talk(bank, "new", [9], at=MONDAY + 12 * HOUR)
    run(MONDAY + 13 * HOUR)
    run(MONDAY + 13 * HOUR)
    assert not Chat.objects.filter(pending_outputs__gt=0).exists()


def test_a_chat_whose_own_content_fails_is_forgiven_once_and_then_extracted() -> None:
    bank = make_bank()
    scripted().answer = refusing("POISON")
    say(bank, "bad", "The POISON is in this very sentence.")
    for hours in range(1, 15):
        talk(bank, f"good{hours}", [hours], at=MONDAY + hours * HOUR)
        run(MONDAY + hours * HOUR + 30 * MINUTE)
    poisoned = [call for call in scripted().history if "POISON" in call[-1]["content"]]
    assert not chat_of(bank, "bad").parked_at
    assert Entry.objects.get(chat__key="bad").method == EXTRACTIVE
    assert len(poisoned) == 6  # five attempts and the one after the outage


def test_nobody_is_forgiven_twice_at_one_moment() -> None:
    """A long run in the foreground has only one ``now``."""
    bank = make_bank()
    scripted().answer = refusing("POISON")
    say(bank, "bad", "The POISON is in this very sentence.")
    for number in range(40):
        talk(bank, f"good{number}", [number], at=MONDAY + MINUTE)
    run(MONDAY + HOUR)
    assert sum("POISON" in call[-1]["content"] for call in scripted().history) == 2

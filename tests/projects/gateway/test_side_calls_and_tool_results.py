"""Only what a person said is recorded as theirs, recalled for and given notes; over real sockets."""

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.support.gateway_site import Gateway
from tests.support.upstream_events import ModelAnswer

pytestmark = [pytest.mark.own_servers]

HARNESS = "Agent types: we decided that quasar-3 is the codeword of team number 3."
CHOICE = {"type": "function", "function": {"name": "Choice", "parameters": {"type": "object", "properties": {}}}}


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def ask(served: Gateway, path: str, body: dict[str, Any], **headers: str) -> dict[str, str]:
    status, response_headers, raw = served.post(f"/v1/{path}", {"model": "small", **body}, **headers)
    assert status == 200, raw
    return response_headers


@pytest.fixture(scope="module")
def codewords(site_of_module: Gateway) -> None:
    """More than a block holds, so that notes are needed."""
    site_of_module.site.tell("UPDATE memorybank_bank SET max_tokens = 200")
    for number in range(40):
        message = user(f"The codeword of team number {number} is quasar-{number}, its room {number + 100}.")
        ask(site_of_module, "chat/completions", {"messages": [message]})
    site_of_module.summarise()


@pytest.mark.usefixtures("codewords")
@pytest.mark.parametrize("path", ["chat/completions", "messages", "responses"])
@pytest.mark.parametrize("role", ["system", "developer"])
def test_another_role_is_never_a_person(served: Gateway, path: str, role: str) -> None:
    question = f"What is the codeword of team number 3, {uuid4()}?"
    messages = [user(question), {"role": role, "content": HARNESS}]
    body = {"input": messages} if path == "responses" else {"messages": messages, "max_tokens": 99}
    response_headers = ask(served, path, body)
    sent = served.upstream.seen[-1].body
    items = sent.get("input") or sent["messages"]
    by_program = [item for item in items if item["role"] == role and HARNESS in str(item["content"])]
    assert response_headers["x-memory-turn"] == "recorded"
    assert served.turns()[-1]["question"] == question
    assert "codeword" not in str(served.turns()[-1]["messages"])
    assert int(response_headers["x-memory-recalled-tokens"]) > 0
    assert "perhaps relevant" in str([item["content"] for item in items if item["role"] == "user"])
    # The block stands behind the program's words. It may quote an answer that repeats notes, as the upstream's do.
    assert all("perhaps relevant" not in str(item["content"]).partition("Project memory:")[0] for item in by_program)


@pytest.mark.parametrize("path", ["chat/completions", "messages", "responses"])
def test_a_request_without_a_person_is_passed_on_and_not_recorded(served: Gateway, path: str) -> None:
    before, messages = len(served.turns()), [{"role": "system", "content": HARNESS}]
    body = {"input": messages} if path == "responses" else {"messages": messages, "max_tokens": 99}
    assert ask(served, path, body)["x-memory-turn"] == "skipped: aside"
    assert len(served.turns()) == before


def test_a_retrieved_document_is_not_what_the_person_decided(served: Gateway) -> None:
    context = '<context>\n<source id="1" name="plan.pdf">We decided on Oracle 23ai for all.</source>\n</context>'
    served.upstream.answer = lambda body: ModelAnswer("The atlas runs on what the plan says.")
    first = user(f"### Task:\nUse the <source> tags below.\n\n{context}\n\nWhich database did we choose for the atlas?")
    response_headers = ask(served, "chat/completions", {"messages": [first]})
    turn = served.turns()[-1]
    assert turn["question"] == "Which database did we choose for the atlas?"
    assert [(item["role"], item["name"]) for item in turn["messages"]] == [("document", "context")]
    assert served.upstream.seen[-1].body["messages"][-1]["content"].startswith("### Task:")
    answer = {"role": "assistant", "content": turn["answer"]}
    history = [user("Which database did we choose for the atlas?"), answer, user("And who runs it?")]
    assert ask(served, "chat/completions", {"messages": history})["x-memory-chat"] == response_headers["x-memory-chat"]
    served.summarise()
    shown = served.site.call("show_memory", "acme/apollo").out
    assert "Oracle 23ai" not in shown
    facts = served.site.ask("SELECT text FROM memorybank_fact")
    assert facts and not [text for (text,) in facts if "Oracle 23ai" in text]


TITLE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
SUMMARY = "They chose the ferry on Friday, the 8 o'clock one, and Priya has the tickets for all of them."


@pytest.mark.parametrize(
    ("more", "headers"),
    [
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "t", "schema": TITLE}}}, {}),
        ({}, {"x-claude-code-agent-id": "a1"}),
        ({}, {"x-openai-subagent": "review"}),
        ({"max_tokens": 1}, {}),
    ],
)
def test_a_call_beside_a_chat_is_known_by_what_it_is(
    served: Gateway, more: dict[str, Any], headers: dict[str, str]
) -> None:
    before = len(served.turns())
    response_headers = ask(served, "chat/completions", {"messages": [user("Which way do we go?")], **more}, **headers)
    assert response_headers["x-memory-turn"] == "skipped: aside"
    assert len(served.turns()) == before


def test_a_title_in_any_language_is_known_because_it_quotes_its_chat(served: Gateway) -> None:
    chat = {"X-Memory-Chat": "atlas-title"}
    ask(served, "chat/completions", {"messages": [user("Where does the atlas stand?")]}, **chat)
    [turn] = [turn for turn in served.turns() if turn["question"] == "Where does the atlas stand?"]
    quoting = user(f"Donne un titre à ceci : « {turn['question']} » — « {turn['answer']} »")
    assert ask(served, "chat/completions", {"messages": [quoting], "stream": False}, **chat)["x-memory-turn"] == (
        "skipped: aside"
    )


def test_an_agent_that_compacts_an_older_part_asks_nothing(served: Gateway) -> None:
    session, messages = {"x-claude-code-session-id": str(uuid4())}, list[dict[str, Any]]()
    for number in range(3):
        messages.append(user(f"Old step {number}?"))
        ask(served, "chat/completions", {"messages": messages}, **session)
        messages.append({"role": "assistant", "content": served.turns()[-1]["answer"]})
    again = [*messages[:2], user("Old step 1?\n" + "Write down what was done so far. " * 20)]
    assert ask(served, "chat/completions", {"messages": again}, **session)["x-memory-turn"] == "skipped: aside"


def test_a_summary_that_comes_back_was_no_question_of_a_person(served: Gateway) -> None:
    session, first = {"x-session-id": str(uuid4())}, user("How do we travel?")
    ask(served, "chat/completions", {"messages": [first]}, **session)
    answer = {"role": "assistant", "content": served.turns()[-1]["answer"]}
    served.upstream.answer = lambda body: ModelAnswer(f"<analysis>Well.</analysis>\n<summary>\n{SUMMARY}\n</summary>")
    ask(served, "chat/completions", {"messages": [first, answer, user("Hand over.")]}, **session)
    messages = [
        user(f"This goes on from before.\n{SUMMARY}"),
        {"role": "assistant", "content": "Good."},
        user("Who pays?"),
    ]
    ask(served, "chat/completions", {"messages": messages}, **session)
    rows = served.site.ask("SELECT question FROM memorybank_output WHERE set_aside")
    assert ("Hand over.",) in rows
    assert ("Who pays?",) not in rows and ("How do we travel?",) not in rows


def forced(served: Gateway, number: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A structured answer by a forced tool."""
    served.upstream.answer = lambda body: ModelAnswer("", ("Choice", json.dumps({"engine": f"PostgreSQL {number}"})))
    messages = [user(f"Which engine does number {number} get?")]
    choice = {"type": "function", "function": {"name": "Choice"}}
    body = {"messages": messages, "tools": [CHOICE], "tool_choice": choice}
    status, _, raw = served.post("/v1/chat/completions", {"model": "small", **body})
    assert status == 200
    return [*messages, json.loads(raw)["choices"][0]["message"]], body


def test_a_structured_answer_by_a_forced_tool_completes_its_turn(served: Gateway) -> None:
    forced(served, 1)
    turn = served.turns()[-1]
    assert (turn["status"], turn["answer"]) == ("ok", '{"engine": "PostgreSQL 1"}')


def test_the_next_question_after_a_structured_answer_is_in_the_same_chat(served: Gateway) -> None:
    messages, body = forced(served, 2)
    chat = served.turns()[-1]["chat"]
    result = {"role": "tool", "tool_call_id": "call_1", "content": "Processed."}
    response_headers = ask(
        served, "chat/completions", {**body, "messages": [*messages, result, user("And the archive, number 2?")]}
    )
    assert (response_headers["x-memory-chat"], response_headers["x-memory-recognised"]) == (chat, "continued")


def test_a_forced_tool_whose_result_comes_is_still_one_turn(served: Gateway) -> None:
    messages, body = forced(served, 3)
    result = {"role": "tool", "tool_call_id": "call_1", "content": "No such engine."}
    served.upstream.answer = lambda body: ModelAnswer("There is none.")
    ask(served, "chat/completions", {**body, "messages": [*messages, result], "tool_choice": "auto"})
    [turn] = [turn for turn in served.turns() if "number 3 get" in turn["question"]]
    assert (turn["status"], turn["answer"]) == ("ok", "There is none.")
    assert [item["role"] for item in turn["messages"]] == ["assistant", "tool"]


def test_a_structured_answer_that_is_corrected_is_one_turn(served: Gateway) -> None:
    served.upstream.answer = lambda body: ModelAnswer('{"engine": "Postgres"}')
    messages = [user("Which engine does the ledger get, in JSON?")]
    ask(served, "chat/completions", {"messages": messages})
    error = "Correct it:\n1 validation error for Choice\nengine\n  Value error, name the version [type=value_error]"
    messages += [{"role": "assistant", "content": '{"engine": "Postgres"}'}, user(error)]
    served.upstream.answer = lambda body: ModelAnswer('{"engine": "PostgreSQL 16"}')
    ask(served, "chat/completions", {"messages": messages})
    [turn] = [turn for turn in served.turns() if turn["question"].endswith("in JSON?")]
    assert (turn["status"], turn["answer"]) == ("ok", '{"engine": "PostgreSQL 16"}')
    assert not [turn for turn in served.turns() if "validation error" in turn["question"]]

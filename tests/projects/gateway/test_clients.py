"""The vendors' own clients get memory by changing an address and a key; over real sockets."""

import asyncio
import json
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from tests.support.gateway_site import Gateway

pytestmark = [pytest.mark.own_servers]

DECIDED = "We decided that the ledger moves to PostgreSQL 16 on 9 June 2026."
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}


def client(served: Gateway, project: str = "acme/apollo") -> OpenAI:
    return served.use(OpenAI(base_url=served.base_url, api_key=served.key(project), max_retries=0))


def claude(served: Gateway, project: str = "acme/apollo") -> Any:
    from anthropic import Anthropic  # takes seconds, in each process that collects this module

    return served.use(Anthropic(base_url=served.address, api_key=served.key(project), max_retries=0))


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def say(served: Gateway, text: str) -> None:
    """Record a chat of one turn; the same chat each time."""
    client(served).chat.completions.create(model="small", messages=[user(text)], extra_headers={"X-Memory-Chat": text})


def decide(served: Gateway) -> None:
    """A decision from another chat of the project, already summarised."""
    if DECIDED not in [turn["question"] for turn in served.turns()]:
        say(served, DECIDED)
        served.summarise()


def test_a_second_chat_is_told_what_the_first_decided_and_no_other_project_or_tenant_is(served: Gateway) -> None:
    decide(served)
    for project, knows in (("acme/apollo", True), ("acme/hermes", False), ("globex/zeus", False)):
        messages = [{"role": "system", "content": "Be brief."}, user("Which database does the ledger get?")]
        made = client(served, project).chat.completions.with_raw_response.create(model="small", messages=messages)
        system, question = served.upstream.seen[-1].body["messages"]
        assert ("PostgreSQL 16" in system["content"]) is knows, project
        assert system["content"].startswith("Be brief.")
        assert question["content"].startswith("Which database")
        assert (int(made.headers["x-memory-block-tokens"]) > 0) is knows
        assert made.headers.get("x-memory-skipped") == (None if knows else "nothing")
        assert made.headers["x-request-id"] == "req_upstream"


def test_the_same_through_responses(served: Gateway) -> None:
    decide(served)
    for project, knows in (("acme/apollo", True), ("globex/zeus", False)):
        made = client(served, project).responses.create(model="small", instructions="Be brief.", input="The ledger?")
        assert made.output_text.startswith("You said: The ledger?")
        assert ("PostgreSQL 16" in served.upstream.seen[-1].body["instructions"]) is knows


def test_the_same_through_the_client_of_anthropic_with_its_cache_marks_untouched(served: Gateway) -> None:
    decide(served)
    marked = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    for project, knows in (("acme/apollo", True), ("globex/zeus", False)):
        part = {"type": "text", "text": "The ledger?"}
        fields = {"model": "c", "max_tokens": 99, "system": [marked], "messages": [user([part])]}
        claude(served, project).messages.create(**fields)  # type: ignore[call-overload]
        seen = served.upstream.seen[-1]
        assert seen.body["system"][0] == marked
        assert ("PostgreSQL 16" in json.dumps(seen.body["system"])) is knows
        assert seen.body["messages"][0]["content"][0] == part
        assert seen.headers["x-api-key"] == "sk-ant-upstream"
        assert seen.headers["anthropic-version"]


def test_content_that_is_a_list_is_given_notes_and_recorded_like_a_text(served: Gateway) -> None:
    decide(served)
    for number in range(12):  # more than a block holds, so that notes are needed
        say(served, f"The codeword of team number {number} is quasar-{number}, its room {number + 100}.")
    served.summarise()
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    parts = [{"type": "text", "text": "What is the codeword of team number 3?"}, picture]
    made = client(served).chat.completions.with_raw_response.create(model="small", messages=[user(parts)])
    sent = served.upstream.seen[-1].body["messages"][-1]["content"]
    assert sent[:2] == parts
    if int(made.headers["x-memory-recalled-tokens"]):
        assert [part["type"] for part in sent] == ["text", "image_url", "text"]
    assert served.turns()[-1]["question"] == "What is the codeword of team number 3?"
    assert "AAAA" not in json.dumps(served.turns())


def test_streams_are_passed_on_and_recorded_once(served: Gateway) -> None:
    before = len(served.turns())
    served.upstream.pace = 0.01
    stream = client(served).chat.completions.create(model="small", messages=[user("One by one, please.")], stream=True)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    assert text == "You said: One by one, please."
    [turn] = served.turns()[before:]
    assert (turn["question"], turn["answer"], turn["status"]) == ("One by one, please.", text, "ok")


def test_the_asynchronous_client_holds_a_chat_that_is_one_chat(served: Gateway) -> None:
    async def talk() -> None:
        async with AsyncOpenAI(base_url=served.base_url, api_key=served.key(), max_retries=0) as ours:
            messages: list[dict[str, Any]] = []
            for text in ("First thing.", "Second thing.", "Third thing."):
                messages.append(user(text))
                stream = await ours.chat.completions.create(model="small", messages=messages, stream=True)  # type: ignore[call-overload]
                messages.append(assistant("".join([chunk.choices[0].delta.content or "" async for chunk in stream])))

    asyncio.run(talk())
    assert len({turn["chat"] for turn in served.turns()[-3:]}) == 1
    assert served.turns()[-1]["question"] == "Third thing."


def test_tools_pass_untouched_and_their_loop_is_one_turn(served: Gateway) -> None:
    before = len(served.turns())
    messages: list[dict[str, Any]] = [user("How is the weather in Paris?")]
    first = client(served).chat.completions.create(model="small", messages=messages, tools=[WEATHER])  # type: ignore[call-overload]
    assert served.upstream.seen[-1].body["tools"] == [WEATHER]
    call = first.choices[0].message
    assert call.tool_calls[0].function.name == "weather"
    assert [turn["status"] for turn in served.turns()[before:]] == ["pending"]
    opened = served.upstream.seen[-1].body["messages"][0]
    messages += [
        call.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": "call_1", "content": "22 degrees"},
    ]
    last = client(served).chat.completions.create(model="small", messages=messages, tools=[WEATHER])  # type: ignore[call-overload]
    sent = served.upstream.seen[-1].body["messages"]
    assert sent[0] == opened and sent[-1] == messages[-1], "the prompt keeps its beginning, and a result stays a result"
    assert last.choices[0].message.content == "The tool has spoken."
    [turn] = served.turns()[before:]
    assert (turn["status"], turn["answer"]) == ("ok", "The tool has spoken.")
    assert [item["role"] for item in turn["messages"]] == ["assistant", "tool"]
    assert turn["messages"][1]["content"] == "22 degrees"


def test_tools_of_anthropic_are_one_turn_too_in_a_stream(served: Gateway) -> None:
    before = len(served.turns())
    tool = {"name": "weather", "input_schema": {"type": "object"}}
    messages: list[dict[str, Any]] = [user("Weather in Paris, please.")]
    for _ in range(2):
        fields = {"model": "c", "max_tokens": 99, "messages": messages, "tools": [tool]}
        with claude(served).messages.stream(**fields) as stream:
            message = stream.get_final_message()
        messages.append(
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in message.content]}
        )
        if message.stop_reason == "tool_use":
            result = {"type": "tool_result", "tool_use_id": message.content[0].id, "content": "22 degrees"}
            messages.append(user([result]))
    [turn] = served.turns()[before:]
    assert (turn["status"], turn["answer"]) == ("ok", "The tool has spoken.")


def test_a_tool_loop_of_the_responses_api_is_one_turn(served: Gateway) -> None:
    before = len(served.turns())
    tool = {"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": False}
    messages: list[Any] = [user("Weather in Rome, please.")]
    with client(served).responses.stream(model="small", input=messages, tools=[tool], store=False) as stream:  # type: ignore[list-item]
        first = stream.get_final_response()
    messages += [item.model_dump(exclude_none=True) for item in first.output]
    messages.append({"type": "function_call_output", "call_id": "call_1", "output": "30 degrees"})
    last = client(served).responses.create(model="small", input=messages, tools=[tool], store=False)  # type: ignore[list-item]
    assert last.output_text == "The tool has spoken."
    [turn] = served.turns()[before:]
    assert (turn["status"], turn["answer"]) == ("ok", "The tool has spoken.")


def test_tokens_are_counted_as_upstream_counts_them_without_memory(served: Gateway) -> None:
    decide(served)
    counted = claude(served).messages.count_tokens(
        model="c", system="Be brief.", messages=[{"role": "user", "content": "Hi."}]
    )
    assert counted.input_tokens == len(json.dumps(["Be brief.", [{"role": "user", "content": "Hi."}]]))


def test_models_and_embeddings_pass(served: Gateway) -> None:
    assert [model.id for model in client(served).models.list()] == ["small", "large"]
    assert client(served).models.retrieve("small").id == "small"
    made = client(served).embeddings.create(model="e", input=["one", "three"], encoding_format="float")
    assert [item.embedding for item in made.data] == [[0.5, 3.0], [0.5, 5.0]]
    assert served.calls()[-1]["purpose"] == "embedding"


def test_what_nobody_knows_passes_untouched_both_ways(served: Gateway) -> None:
    body = {
        "model": "small",
        "x_new": {"deep": [1, 2.50, None]},
        "seed": 7,
        "messages": [{**user("As it is."), "x": "y"}],
    }
    status, headers, raw = served.post("/v1/chat/completions", body, **{"OpenAI-Beta": "new=1", "X-Memory": "off"})
    seen = served.upstream.seen[-1]
    assert (status, seen.body, seen.headers["openai-beta"]) == (200, body, "new=1")
    assert seen.raw == json.dumps(body).encode(), "nothing was to be changed, so nothing was"
    assert seen.headers["authorization"] == "Bearer sk-upstream"
    assert not [name for name in seen.headers if name.startswith("x-memory")]
    assert json.loads(raw)["vendor_extra"] == {"kept": True}
    assert headers["x-memory-skipped"] == "aside"


def test_errors_of_the_upstream_come_as_they_are_and_are_recorded_as_errors(served: Gateway) -> None:
    served.upstream.status = 429
    with pytest.raises(openai.RateLimitError, match="The upstream refuses"):
        client(served).chat.completions.create(model="small", messages=[{"role": "user", "content": "Anybody there?"}])
    turn, call = served.turns()[-1], served.calls()[-1]
    assert (turn["question"], turn["status"], turn["error"]) == ("Anybody there?", "error", "The upstream refuses.")
    assert (call["outcome"], call["error"]) == ("unavailable", "The upstream refuses.")


def test_errors_of_ours_have_the_shape_of_the_protocol(served: Gateway) -> None:
    with pytest.raises(openai.AuthenticationError, match="valid API key"):
        served.use(OpenAI(base_url=served.base_url, api_key="mb_wrong", max_retries=0)).models.list()
    status, _, raw = served.post("/v1/messages", {"messages": []}, Authorization="Bearer mb_wrong")
    assert (status, json.loads(raw)["type"], json.loads(raw)["error"]["type"]) == (401, "error", "authentication_error")
    assert served.post("/v1/chat/completions", b"{")[0] == 400
    assert served.post("/v1/chat/completions", b"[]")[0] == 400


def test_an_address_that_is_none_is_answered_under_the_name_of_the_request(served: Gateway) -> None:
    status, headers, _ = served.post("/v1/none", {}, **{"X-Request-ID": "trace-7"})
    assert (status, headers.get("x-memory-request-id")) == (404, "trace-7")

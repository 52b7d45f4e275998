"""Responses and conversations that the upstream keeps: with memory, recorded once, and nobody else's by their ids."""

import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
from django.utils import timezone
from openai import OpenAI

from memorybank import services
from projects.gateway.conversations.given_notes import NOTES_OF_CHAT
from projects.gateway.database import upstream_objects
from projects.models import ConversationNode, Project, Tenant
from projects.tenancy import api_keys
from tests.support.gateway_site import Gateway

pytestmark = [pytest.mark.own_servers]

MASCOT = "The mascot of team number {} is quasar-{}, its room {}."
TOOL = {"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": False}
STRANGERS = ("acme/hermes", "globex/zeus")
#: A second key of the project.
SECOND_KEY = """
from django.utils import timezone
from projects.models import Project
from projects.tenancy import api_keys
project = Project.objects.get(tenant__slug="acme", slug="apollo")
print(api_keys.issue(project, "laptop", ["write"], actor="setup", now=timezone.now())[1])
"""


@pytest.fixture(scope="module", autouse=True)
def teams(site_of_module: Gateway) -> None:
    """More than a block and the notes of three questions hold, so that each question needs notes."""
    site_of_module.site.tell("UPDATE memorybank_bank SET max_tokens = 200")
    for number in range(99):
        sentence = MASCOT.format(number, number, number + 100)
        body = {"model": "small", "messages": [{"role": "user", "content": sentence}]}
        assert site_of_module.post("/v1/chat/completions", body)[0] == 200
    site_of_module.summarise()


def client(served: Gateway, project: str = "acme/apollo") -> OpenAI:
    return served.use(OpenAI(base_url=served.base_url, api_key=served.key(project), max_retries=0))


def new_turns(served: Gateway, before: int) -> list[dict[str, Any]]:
    return served.turns()[before:]


def test_a_stored_response_is_continued_by_its_id_with_memory_and_recorded_once(served: Gateway) -> None:
    before, program = len(served.turns()), client(served)
    first = program.responses.create(model="small", input="What is the mascot of team number 17?", store=True)
    sent = served.upstream.seen[-1].body
    assert "quasar-17" in sent["input"] and "its author's word" in sent["instructions"]
    for question in ("And in which room is the team of quasar-17?", "What is the mascot of team number 19?"):
        raw = program.responses.with_raw_response.create(
            model="small", input=question, previous_response_id=first.id, store=True
        )
        first, sent = raw.parse(), served.upstream.seen[-1].body
        assert raw.headers["x-memory-recognised"] == "continued"
        assert raw.headers["x-memory-turn"] == "recorded"
        assert "its author's word" in sent["instructions"]
        assert "quasar-17" not in sent["input"].removeprefix(question), "the upstream has that note"
    assert "quasar-19" in sent["input"], "a new note is given"
    turns = new_turns(served, before)
    assert [turn["status"] for turn in turns] == ["ok"] * 3
    assert len({turn["chat"] for turn in turns}) == 1


def test_a_branch_from_a_stored_response_is_a_chat_of_its_own(served: Gateway) -> None:
    before, program = len(served.turns()), client(served)
    first = program.responses.create(model="small", input="Let us plan the summer party.")
    for question in ("Indoors, please.", "Outdoors, please."):
        program.responses.create(model="small", input=question, previous_response_id=first.id)
    indoors, outdoors = new_turns(served, before)[1:]
    assert new_turns(served, before)[0]["chat"] == indoors["chat"] != outdoors["chat"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("conversing", [False, True])
def test_a_tool_loop_over_stored_responses_is_one_turn(served: Gateway, stream: bool, conversing: bool) -> None:
    before, program = len(served.turns()), client(served)
    kept: dict[str, Any] = {"conversation": program.conversations.create().id} if conversing else {}
    program.responses.create(model="small", input="We plan a trip to Rome.", **kept)
    answer: Any = None
    messages: Any = "What is the weather there?"
    for _ in range(2):
        more = kept if conversing or answer is None else {"previous_response_id": answer.id}
        if stream:
            with program.responses.stream(model="small", input=messages, tools=[TOOL], **more) as events:  # type: ignore[list-item]
                answer = events.get_final_response()
        else:
            answer = program.responses.create(model="small", input=messages, tools=[TOOL], **more)  # type: ignore[list-item]
        messages = [{"type": "function_call_output", "call_id": "call_1", "output": "30 degrees"}]
    turn = new_turns(served, before)[1]
    assert (turn["status"], turn["answer"]) == ("ok", "The tool has spoken.")
    assert [message["role"] for message in turn["messages"]] == ["assistant", "tool"]
    program.responses.create(model="small", input="Then let us go.", **(kept or {"previous_response_id": answer.id}))
    chats = [turn["chat"] for turn in new_turns(served, before)]
    assert len(chats) == 3
    assert chats[1] == chats[2]


def test_tool_results_that_are_sent_again_after_a_failure_are_recorded_once(served: Gateway) -> None:
    before, program = len(served.turns()), client(served)
    called = program.responses.create(model="small", input="What is the weather?", tools=[TOOL])  # type: ignore[list-item]
    result: Any = [{"type": "function_call_output", "call_id": "call_1", "output": "30 degrees"}]
    served.upstream.status = 500
    for _ in range(2):
        with pytest.raises(openai.InternalServerError):
            program.responses.create(model="small", input=result, previous_response_id=called.id)
    served.upstream.status = 200
    program.responses.create(model="small", input=result, previous_response_id=called.id)
    [turn] = new_turns(served, before)
    assert (turn["status"], turn["answer"]) == ("ok", "The tool has spoken.")
    assert [message["role"] for message in turn["messages"]] == ["assistant", "tool"]


def test_a_conversation_is_one_chat_and_equal_questions_in_it_are_turns_of_their_own(served: Gateway) -> None:
    before, program = len(served.turns()), client(served)
    conversation = program.conversations.create(metadata={"topic": "teams"})
    for question in ("What is the mascot of team number 11?", "Go on.", "Go on."):
        program.responses.create(model="small", input=question, conversation=conversation.id)
        sent = served.upstream.seen[-1].body
        assert ("quasar-11" in sent["input"]) is (question != "Go on.")
    turns = new_turns(served, before)
    assert [turn["question"] for turn in turns] == ["What is the mascot of team number 11?", "Go on.", "Go on."]
    assert len({turn["chat"] for turn in turns}) == 1
    chat = turns[0]["chat"]
    rows = served.site.ask(
        "SELECT count(*) FROM memorybank_output o JOIN memorybank_chat c ON c.id = o.chat_id"
        f" WHERE c.key = '{chat}' AND o.set_aside"
    )
    assert rows == [(0,)]
    assert program.conversations.retrieve(conversation.id).id == conversation.id
    assert len(program.conversations.items.list(conversation.id).data) == 6
    assert program.conversations.update(conversation.id, metadata={"topic": "x"}).id == conversation.id
    assert program.conversations.delete(conversation.id).deleted


def test_a_background_response_is_recorded_when_it_is_asked_for(served: Gateway) -> None:
    before, program = len(served.turns()), client(served)
    queued = program.responses.create(model="small", input="Write the long report.", background=True)
    assert queued.status == "queued"
    assert [turn["status"] for turn in new_turns(served, before)] == ["pending"]
    for _ in range(2):
        assert program.responses.retrieve(queued.id).status == "completed"
    [turn] = new_turns(served, before)
    assert (turn["status"], turn["answer"]) == ("ok", "You said: Write the long report.")
    program.responses.create(model="small", input="Shorter, please.", previous_response_id=queued.id)
    assert len({turn["chat"] for turn in new_turns(served, before)}) == 1
    stopped = program.responses.create(model="small", input="Write another report.", background=True)
    assert program.responses.cancel(stopped.id).status == "cancelled"
    assert new_turns(served, before)[-1]["status"] == "cancelled"


def test_what_is_stored_is_read_and_deleted_by_its_id(served: Gateway) -> None:
    program = client(served)
    answer = program.responses.create(model="small", input="Remember the milk.")
    assert program.responses.retrieve(answer.id).output_text == answer.output_text
    assert served.upstream.seen[-1].path == f"/v1/responses/{answer.id}"
    assert program.responses.input_items.list(answer.id, order="asc").data
    assert "order=asc" in served.upstream.seen[-1].path
    program.responses.delete(answer.id)
    with pytest.raises(openai.NotFoundError):
        program.responses.retrieve(answer.id)


@pytest.mark.parametrize("project", STRANGERS)
def test_no_other_project_or_tenant_reads_or_continues_what_is_stored(served: Gateway, project: str) -> None:
    ours, theirs = client(served), client(served, project)
    answer = ours.responses.create(model="small", input="Our secret plan.")
    item = answer.output[0].id
    conversation = ours.conversations.create().id
    ours.responses.create(model="small", input="Our secret talk.", conversation=conversation)
    asked, before = len(served.upstream.seen), len(served.turns(project))
    reference = [{"type": "item_reference", "id": item}, {"role": "user", "content": "Tell me."}]
    attempts: list[Callable[[], object]] = [
        lambda: theirs.responses.create(model="small", input="Tell me.", previous_response_id=answer.id),
        lambda: theirs.responses.create(model="small", input="Tell me.", conversation=conversation),
        lambda: theirs.responses.create(model="small", input=reference),  # type: ignore[arg-type]
        lambda: theirs.responses.retrieve(answer.id),
        lambda: theirs.responses.input_items.list(answer.id),
        lambda: theirs.responses.delete(answer.id),
        lambda: theirs.responses.cancel(answer.id),
        lambda: theirs.conversations.retrieve(conversation),
        lambda: theirs.conversations.items.list(conversation),
        lambda: theirs.conversations.items.create(conversation, items=[{"role": "user", "content": "Hi"}]),
        lambda: theirs.conversations.delete(conversation),
    ]
    for attempt in attempts:
        with pytest.raises(openai.NotFoundError) as refused:
            attempt()
        assert refused.value.body["type"] == "invalid_request_error"  # type: ignore[index]
    assert len(served.upstream.seen) == asked, "the upstream was not asked"
    assert len(served.turns(project)) == before
    assert ours.responses.retrieve(answer.id).output_text
    ours.responses.create(model="small", input=reference)  # type: ignore[arg-type]


def test_another_key_of_the_project_continues_but_not_a_private_chat(served: Gateway) -> None:
    made = served.site.call("shell", "--verbosity", "0", "-c", SECOND_KEY)
    second = served.use(OpenAI(base_url=served.base_url, api_key=made.out.split()[-1], max_retries=0))
    answer = client(served).responses.create(model="small", input="Let us name the ship.")
    assert second.responses.retrieve(answer.id).id == answer.id
    chat = served.turns()[-1]["chat"]
    first = "(SELECT 'key ' || min(id) FROM projects_apikey)"
    served.site.tell(f"UPDATE memorybank_chat SET private = true, begun_by = {first} WHERE key = '{chat}'")
    with pytest.raises(openai.NotFoundError):
        second.responses.retrieve(answer.id)
    with pytest.raises(openai.NotFoundError):
        second.responses.create(model="small", input="And then?", previous_response_id=answer.id)
    assert client(served).responses.retrieve(answer.id).id == answer.id


def test_the_ids_of_a_chat_are_forgotten_with_it(served: Gateway) -> None:
    program = client(served)
    conversation = program.conversations.create().id
    answer = program.responses.create(model="small", input="A thing to forget.", conversation=conversation)
    program.responses.retrieve(answer.id)
    erased = served.site.call("forget_memory", "acme/apollo", "--chat", served.turns()[-1]["chat"])
    assert erased.code == 0, erased.err
    with pytest.raises(openai.NotFoundError):
        program.responses.create(model="small", input="What was it?", previous_response_id=answer.id)
    with pytest.raises(openai.NotFoundError):
        program.conversations.retrieve(conversation)


def test_files_at_the_upstream_are_not_passed_on(served: Gateway) -> None:
    parts = [{"type": "input_file", "file_id": "file-1"}, {"type": "input_text", "text": "Read it."}]
    with pytest.raises(openai.BadRequestError, match="file_id"):
        client(served).responses.create(model="small", input=[{"role": "user", "content": parts}])  # type: ignore[list-item, misc]
    for path, body in (("files", b"--x--"), ("batches", {"input_file_id": "file-1"}), ("batches/batch_1/cancel", {})):
        status, headers, raw = served.post(f"/v1/{path}", body)
        assert (status, headers["content-type"]) == (404, "application/json")
        assert json.loads(raw)["error"]["type"] == "invalid_request_error"
    assert not served.upstream.seen


def test_a_method_that_an_address_does_not_have_is_refused(served: Gateway) -> None:
    answer = client(served).responses.create(model="small", input="Hello.")
    status, _, raw = served.post(f"/v1/responses/{answer.id}", {}, method="PUT")
    assert (status, json.loads(raw)["error"]["message"]) == (405, "Allowed method: GET, DELETE.")


@pytest.mark.django_db
def test_ids_are_looked_up_within_a_bank() -> None:
    """On both databases."""
    tenant = Tenant.objects.create(slug="acme", name="Acme")
    projects = [Project.objects.open(tenant, slug, slug) for slug in ("apollo", "hermes")]
    keys = [api_keys.issue(project, "key", ["write"], actor="ann", now=timezone.now())[0] for project in projects]
    ours, theirs = (project.bank for project in projects)
    output = services.record(ours, chat_key="c", author="ann", question="Hello?", created_at=timezone.now())
    upstream_objects.bind(keys[0], "http://upstream", ["resp_1", "msg_1"], output)
    upstream_objects.bind(keys[1], "http://upstream", ["resp_1"], None)
    digest = upstream_objects.digest_of("http://upstream", "resp_1")
    assert upstream_objects.OWN.rows(ours.pk, [digest]) == [(digest, output.chat_id, False, "")]
    assert upstream_objects.OWN.rows(theirs.pk, [digest]) == [], "the first bank keeps it"
    assert upstream_objects.find_turn(ours.pk, "http://upstream", "msg_1") == output
    assert upstream_objects.find_turn(ours.pk, "http://another", "msg_1") is None
    node = ConversationNode(chat=output.chat, output=output, before="a", after="b", notes=[[output.pk, 0]])
    services.insert([node, ConversationNode(chat=output.chat, output=output, before="a", after="c")])
    assert NOTES_OF_CHAT.rows(ours.pk, "c") == [([[output.pk, 0]],)]
    assert NOTES_OF_CHAT.rows(theirs.pk, "c") == []

"""Chats of gateway clients: which chat a request belongs to, what is recorded, what leaves memory."""

import json
from typing import Any
from uuid import uuid4

import pytest
from openai import OpenAI

from tests.support.gateway_site import Gateway
from tests.support.upstream import wait_until
from tests.support.upstream_events import ModelAnswer

pytestmark = [pytest.mark.own_servers]


class GatewayClient:
    """A client that keeps the conversation itself."""

    def __init__(self, served: Gateway, **headers: str) -> None:
        self.served, self.headers = served, headers
        self.said: list[dict[str, Any]] = []
        self.chat = self.how = ""
        self.headers_of_turn = ("", "")
        self.body: dict[str, Any] = {}

    def say(self, text: str, **more: Any) -> None:
        self.said.append({"role": "user", "content": text})
        body = {"model": "small", "messages": self.said, **self.body, **more}
        status, headers, raw = self.served.post("/v1/chat/completions", body, **self.headers)
        assert status == 200, raw
        self.chat, self.how = headers.get("x-memory-chat", ""), headers.get("x-memory-recognised", "")
        self.headers_of_turn = headers.get("x-memory-turn", ""), headers.get("x-memory-set-aside", "")
        answer = json.loads(raw)["choices"][0]["message"]["content"]
        self.said.append({"role": "assistant", "content": answer})

    def questions(self) -> list[str]:
        """The chat's outputs that are recorded and remembered."""
        return [t["question"] for t in self.served.turns() if t["chat"] == self.chat and t["status"] == "ok"]


def test_strangers_with_the_same_first_message_never_meet(served: Gateway) -> None:
    ann, bob, cy = GatewayClient(served), GatewayClient(served), GatewayClient(served, **{"X-Memory-User": "cy"})
    for talk in (ann, bob, cy):
        talk.say("hi")
    assert len({ann.chat, bob.chat, cy.chat}) == 3
    for talk in (ann, bob, cy):
        talk.say(f"I am {id(talk)}.")
    assert len({ann.chat, bob.chat, cy.chat}) == 3
    assert served.turns()[-1]["author"] == "cy"


MEMBER = """
from django.contrib.auth.models import User
from projects.models import Membership, Tenant
user = User.objects.create_user("dana", "dana.reyes@acme.example")
Membership.objects.create(tenant=Tenant.objects.get(slug="acme"), user=user, role="member")
"""


def test_a_key_speaks_as_a_member_only_with_the_scope_for_it(served: Gateway) -> None:
    done = served.site.call("shell", "--verbosity", "0", "-c", MEMBER)
    assert done.code == 0, done.err
    scopes = ("--scopes", "write,people")
    made = served.site.call("create_api_key", "acme/apollo", "--name", "front end", *scopes, "--json")
    allowed = {"Authorization": f"Bearer {made.json['key']}"}
    for person, key, author in (
        ("dana", {}, "dana, via desk"),
        ("Dana.Reyes@acme.example", {}, "Dana.Reyes@acme.example, via desk"),
        ("eve", {}, "eve"),
        ("dana", allowed, "dana"),
    ):
        GatewayClient(served, **{"X-Memory-User": person}, **key).say(f"Who says this, {uuid4()}?")
        assert served.turns()[-1]["author"] == author
    served.post(
        "/v1/chat/completions", {"model": "small", "user": "dana", "messages": [{"role": "user", "content": "Who?"}]}
    )
    assert served.turns()[-1]["author"] == "dana, via desk"


def test_another_key_of_the_project_is_another_name_space(served: Gateway) -> None:
    made = served.site.call("create_api_key", "acme/apollo", "--name", "other", "--scopes", "write", "--json")
    ours = GatewayClient(served, **{"X-Session-Id": "s-1"})
    theirs = GatewayClient(served, **{"X-Session-Id": "s-1", "Authorization": f"Bearer {made.json['key']}"})
    for talk in (ours, theirs):
        talk.say("hi")
    assert ours.chat != theirs.chat


@pytest.mark.parametrize(
    "header", ["X-Memory-Chat", "x-session-id", "x-session-affinity", "x-claude-code-session-id", "X-OpenWebUI-Chat-Id"]
)
def test_an_id_that_clients_send_names_the_chat(served: Gateway, header: str) -> None:
    first, second = (GatewayClient(served, **{header: "c-17"}) for _ in range(2))
    for talk in (first, second):
        talk.say(f"Something of its own, {uuid4()}.")
    assert (first.chat, first.how) == (second.chat, header.lower())


def test_a_cache_key_names_the_chat_if_it_is_one_of_a_kind(served: Gateway) -> None:
    one_of_a_kind, for_all = str(uuid4()), "my-app"
    for key, same in ((one_of_a_kind, True), (for_all, False)):
        first, second = GatewayClient(served), GatewayClient(served)
        for talk in (first, second):
            talk.say(f"Something of its own, {uuid4()}.", prompt_cache_key=key)
        assert (first.chat == second.chat) is same


def set_aside(served: Gateway) -> list[str]:
    """The questions that are kept out of the next summary."""
    rows = served.site.ask("SELECT question FROM memorybank_output WHERE set_aside ORDER BY id")
    return [question for (question,) in rows]


def test_without_an_id_what_is_edited_or_asked_anew_begins_a_branch_and_all_stays(served: Gateway) -> None:
    talk = GatewayClient(served)
    for text in ("Kept, first.", "We take Oracle.", "It costs a lot."):
        talk.say(text)
    chat, before = talk.chat, list(talk.said)
    del talk.said[2:]
    talk.say("We take PostgreSQL.")
    assert (talk.chat != chat, talk.how, talk.questions()) == (True, "branched", ["We take PostgreSQL."])
    branch = talk.chat
    talk.say("When?")
    assert (talk.chat, talk.how) == (branch, "continued")
    talk.said = before
    talk.say("We go on with Oracle.")
    assert talk.chat == chat
    assert talk.questions() == ["Kept, first.", "We take Oracle.", "It costs a lot.", "We go on with Oracle."]
    assert "It costs a lot." not in set_aside(served)


def test_five_questions_from_one_prefix_are_five_turns(served: Gateway) -> None:
    talk = GatewayClient(served)
    talk.say("The context that five questions share.")
    prefix = list(talk.said)
    for number in range(5):
        talk.said = list(prefix)
        talk.say(f"Question {number} about that context.")
    asked = [t for t in served.turns() if t["question"].endswith("about that context.") and t["status"] == "ok"]
    assert len(asked) == 5
    assert served.site.ask("SELECT count(*) FROM memorybank_event WHERE actor LIKE 'API key%'") == [(0,)]


def test_with_an_id_replaced_turns_are_set_aside_and_come_back_when_they_are_sent_again(served: Gateway) -> None:
    talk = GatewayClient(served, **{"X-Memory-Chat": "edited-chat"})
    for text in ("Kept, with an id.", "We take Oracle 23.", "It costs a fortune."):
        talk.say(text)
    chat, before = talk.chat, list(talk.said)
    del talk.said[2:]
    talk.say("We take PostgreSQL 17.")
    assert (talk.chat, talk.headers_of_turn) == (chat, ("recorded", "2"))
    assert set_aside(served) == ["We take Oracle 23.", "It costs a fortune."]
    talk.said = before
    talk.say("Oracle it is, after all.")
    assert set_aside(served) == ["We take PostgreSQL 17."]
    assert len(talk.questions()) == 5


def test_an_agent_that_compacts_replaces_nothing(served: Gateway) -> None:
    talk = GatewayClient(served, **{"x-claude-code-session-id": str(uuid4())})
    for text in ("Agent, one.", "Agent, two."):
        talk.say(text)
    talk.said[-2:] = []
    talk.say("Agent, two.\n\nCRITICAL: Respond with TEXT ONLY. Do NOT call any tools.")
    talk.said = [{"role": "user", "content": "This session is being continued. Summary: …"}]
    talk.said.append({"role": "assistant", "content": "Understood."})
    talk.say("Agent, three.")
    assert talk.headers_of_turn == ("recorded", "")
    assert len(talk.questions()) == 4
    assert not [question for question in set_aside(served) if question.startswith("Agent")]


def test_one_person_has_one_chat_through_two_keys(served: Gateway) -> None:
    made = served.site.call("create_api_key", "acme/apollo", "--name", "laptop", "--scopes", "write", "--json")
    second = {"Authorization": f"Bearer {made.json['key']}"}
    talk = GatewayClient(served)
    for text in ("Two keys, one.", "Two keys, two."):
        talk.say(text)
    chat, talk.headers = talk.chat, second
    talk.say("Two keys, three.")
    assert talk.chat == chat
    named = {"X-Memory-Chat": "c-18", "X-Memory-User": "dora"}
    first, other = GatewayClient(served, **named), GatewayClient(served, **named, **second)
    for talk in (first, other):
        talk.say(f"By name, {uuid4()}.")
    assert first.chat == other.chat


def test_a_client_that_strips_thinking_and_markdown_keeps_its_chat(served: Gateway) -> None:
    served.upstream.answer = lambda body: ModelAnswer("<think>Let me see.</think>\n\n**Yes**, we\n\n* can\n* do that")
    talk = GatewayClient(served)
    chats = []
    for number in range(3):
        talk.say(f"Strip this, {number}.")
        talk.said[-1]["content"] = "Yes, we can do that"
        chats.append(talk.chat)
    assert len(set(chats)) == 1


def test_a_client_that_shortens_answers_keeps_its_chat(served: Gateway) -> None:
    served.upstream.answer = lambda body: ModelAnswer("We can certainly do that on Friday. Sources: one, two, three.")
    talk = GatewayClient(served)
    chats = []
    for number in range(3):
        talk.say(f"Shorten this, {number}.")
        talk.said[-1]["content"] = "We can certainly do that on Friday."
        chats.append(talk.chat)
    assert len(set(chats)) == 1


def test_equal_greetings_with_equal_answers_are_two_chats(served: Gateway) -> None:
    ann, bob = GatewayClient(served), GatewayClient(served)
    for talk in (ann, bob):
        talk.say("Good morning to you.")
    ann.say("I am Ann.")
    bob.say("I am Bob.")
    ann.say("Ann again.")
    assert len({turn["chat"] for turn in served.turns() if turn["question"] == "Good morning to you."}) == 2
    assert ann.chat != bob.chat
    assert ann.questions() == ["Good morning to you.", "I am Ann.", "Ann again."]
    assert bob.questions() == ["Good morning to you.", "I am Bob."]


def test_a_stopped_first_turn_is_the_beginning_of_its_chat(served: Gateway) -> None:
    served.upstream.pace = 0.2
    body = {"model": "small", "stream": True, "messages": [{"role": "user", "content": "Stopped soon after it began."}]}
    client = served.use(OpenAI(base_url=served.base_url, api_key=served.key(), max_retries=0))
    stream = client.chat.completions.with_raw_response.create(**body)
    chat, parts = stream.headers["x-memory-chat"], []
    pieces = stream.parse()
    for piece in pieces:
        parts.append(piece.choices[0].delta.content or "")
        if len("".join(parts).split()) >= 3:
            break
    pieces.close()
    question = "Stopped soon after it began."
    wait_until(lambda: [t["status"] for t in served.turns() if t["question"] == question] == ["cancelled"], "cancelled")
    served.upstream.pace = 0.0
    talk = GatewayClient(served)
    talk.said = [*body["messages"], {"role": "assistant", "content": "".join(parts)}]
    talk.say("Go on, but shorter.")
    assert (talk.chat, talk.questions()) == (chat, [question, "Go on, but shorter."])


def test_a_request_that_the_client_library_repeats_is_recorded_once(served: Gateway) -> None:
    body = {"model": "small", "messages": [{"role": "user", "content": "Its answer is lost on the way."}]}
    first = served.post("/v1/chat/completions", body)[1]
    served.upstream.answer = lambda body: ModelAnswer("The second answer.")
    second = served.post("/v1/chat/completions", body, **{"X-Stainless-Retry-Count": "1"})[1]
    assert (first["x-memory-turn"], second["x-memory-turn"]) == ("recorded", "repeated")
    assert second["x-memory-chat"] == first["x-memory-chat"]
    assert len([t for t in served.turns() if t["question"] == "Its answer is lost on the way."]) == 1
    talk = GatewayClient(served)
    talk.said = [*body["messages"], {"role": "assistant", "content": "The second answer."}]
    talk.say("And after it?")
    assert talk.chat == first["x-memory-chat"]


def test_what_begins_an_answer_is_a_part_of_it(served: Gateway) -> None:
    """Anthropic continues the assistant message that ends a request."""
    served.upstream.answer = lambda body: ModelAnswer("five words more or less.")
    asked = {"role": "user", "content": "Answer with a prefill."}
    body = {"model": "small", "max_tokens": 99, "messages": [asked, {"role": "assistant", "content": "In "}]}
    first = served.post("/v1/messages", body)[1]
    turn = next(t for t in served.turns() if t["question"] == "Answer with a prefill.")
    assert turn["answer"] == "In five words more or less."
    messages = [asked, {"role": "assistant", "content": turn["answer"]}, {"role": "user", "content": "Next, please."}]
    second = served.post("/v1/messages", {**body, "messages": messages})[1]
    assert (second["x-memory-chat"], second["x-memory-recognised"]) == (first["x-memory-chat"], "continued")


def test_a_chat_that_the_client_compacts_is_the_same_and_forgets_nothing(served: Gateway) -> None:
    talk = GatewayClient(served)
    for text in ("Compacted, one.", "Compacted, two.", "Compacted, three."):
        talk.say(text)
    talk.said[:-2] = [{"role": "user", "content": "Summary: one and two."}, {"role": "assistant", "content": "Good."}]
    chat = talk.chat
    talk.say("Compacted, four.")
    assert (talk.chat, talk.how, len(talk.questions())) == (chat, "compacted", 4)


def test_a_message_that_went_unanswered_and_is_sent_again_is_there_once(served: Gateway) -> None:
    body = {"model": "small", "messages": [{"role": "user", "content": "Once, please."}]}
    served.upstream.status = 500
    assert served.post("/v1/chat/completions", body)[0] == 500
    served.upstream.status = 200
    status, headers, _ = served.post("/v1/chat/completions", body)
    assert (status, headers["x-memory-recognised"]) == (200, "retried")
    assert [turn["status"] for turn in served.turns() if turn["question"] == "Once, please."] == ["ok"]


def test_titles_and_tags_are_neither_recorded_nor_given_memory(served: Gateway) -> None:
    before, body = len(served.turns()), {"model": "small", "messages": [{"role": "user", "content": "Name this."}]}
    quoting = "### Aufgabe:\nBenenne das Gespräch.\n<chat_history>\nUSER: Name this.\nASSISTANT: Yes.\n</chat_history>"
    template = {"model": "small", "messages": [{"role": "user", "content": quoting}]}
    by_task = {**body, "metadata": {"task": "title_generation"}}
    for asked, headers in ((body, {"X-Memory": "off"}), (by_task, {}), (template, {"X-OpenWebUI-Chat-Id": "c-17"})):
        status, response_headers, _ = served.post("/v1/chat/completions", asked, **headers)
        assert (status, response_headers["x-memory-skipped"], response_headers["x-memory-turn"]) == (
            200,
            "aside",
            "skipped: aside",
        )
        assert served.upstream.seen[-1].body == asked
    assert len(served.turns()) == before
    talk = GatewayClient(served)
    talk.say("Warmup exercises for runners?")
    assert talk.questions() == ["Warmup exercises for runners?"]


def test_memory_that_fails_leaves_the_answer_and_is_counted(served: Gateway) -> None:
    served.site.tell("ALTER TABLE memorybank_storedblock RENAME TO away")
    try:
        body = {"model": "small", "messages": [{"role": "user", "content": "Without memory."}]}
        status, headers, _ = served.post("/v1/chat/completions", body)
    finally:
        served.site.tell("ALTER TABLE away RENAME TO memorybank_storedblock")
    assert (status, headers["x-memory-skipped"]) == (200, "failed")
    assert served.upstream.seen[-1].body == body
    assert served.site.ask("SELECT prompts FROM memorybank_promptcount WHERE memory = 'failed'") == [(1,)]


def test_a_warm_chat_keeps_the_bytes_of_its_block(served: Gateway) -> None:
    GatewayClient(served).say("We decided that the office moves to Lisbon in May 2027.")
    served.summarise()
    talk = GatewayClient(served)
    talk.say("What next?")
    first = served.upstream.seen[-1].body["messages"][0]
    GatewayClient(served).say("We decided that Maria leads the Lisbon office.")
    served.summarise()
    talk.say("And then?")
    assert served.upstream.seen[-1].body["messages"][0] == first
    GatewayClient(served).say("Anything new?")
    assert served.upstream.seen[-1].body["messages"][0] != first


def test_erasing_a_chat_takes_every_hash_of_it(served: Gateway) -> None:
    talk = GatewayClient(served)
    for text in ("To be forgotten, one.", "To be forgotten, two."):
        talk.say(text)
    count = "SELECT count(*) FROM projects_conversationnode s JOIN memorybank_chat c ON c.id = s.chat_id WHERE c.key = "
    assert served.site.ask(f"{count}'{talk.chat}'") == [(4,)]  # two of each turn
    assert served.site.call("forget_memory", "acme/apollo", "--chat", talk.chat).code == 0
    assert served.site.ask(f"{count}'{talk.chat}'") == [(0,)]
    chat = talk.chat
    talk.say("Who are you?")
    assert (talk.chat != chat, talk.how) == (True, "new")

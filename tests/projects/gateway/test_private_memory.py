"""Memory of private chats through the gateway: no answer, branch or other key takes it to somebody else."""

import json
from typing import Any

import pytest

from tests.support.gateway_site import Gateway
from tests.support.upstream_events import ModelAnswer

pytestmark = [pytest.mark.own_servers]

MEMBER = """
from django.contrib.auth.models import User
from django.utils import timezone
from memorybank import services
from projects.models import Membership, Project, Role
from projects.tenancy import api_keys
project = Project.objects.at("acme/apollo").get()
user = User.objects.create_user("priya")
Membership.objects.create(user=user, tenant=project.tenant, role=Role.MEMBER)
for name, scopes in {"front": "read write people admin", "narrow": "write", "other": "read write"}.items():
    print(name, api_keys.issue(project, name, scopes.split(), actor="setup", now=timezone.now())[1])
"""
DIAGNOSIS = "My diagnosis is Zorblax disease, found in Graz."
QUESTION = "What is my diagnosis?"


class Clients:
    """The clients of three keys: a front end that speaks for Priya, one that may only write, and another program."""

    def __init__(self, served: Gateway) -> None:
        ran = served.site.call("shell", "--verbosity", "0", "-c", MEMBER)
        keys = dict(line.split() for line in ran.out.splitlines() if line)
        self.served = served
        self.front = {"Authorization": f"Bearer {keys['front']}", "X-Memory-User": "priya"}
        self.narrow = {"Authorization": f"Bearer {keys['narrow']}"}
        self.other = {"Authorization": f"Bearer {keys['other']}"}

    def api(self, method: str, path: str, body: Any = None, *, by: dict[str, str]) -> Any:
        status, _, raw = self.served.post(f"/api/v1/{path}", body, method=method, **by)
        assert status < 300, raw
        return json.loads(raw)

    def chat(self, *messages: dict[str, Any], by: dict[str, str], answer: str = "", **more: Any) -> dict[str, str]:
        """Send a conversation; the upstream answers with these words."""
        if answer:
            self.served.upstream.answer = lambda body: ModelAnswer(answer)
        body = {"model": "small", "messages": list(messages), **more}
        status, headers, raw = self.served.post("/v1/chat/completions", body, **by)
        assert status == 200, raw
        return headers

    def tell_private(self) -> None:
        turn = {"chat": "secret", "author": "priya", "question": DIAGNOSIS, "answer": "Noted.", "private": True}
        self.api("POST", "outputs", turn, by=self.front)
        self.served.summarise()

    def met_by_others(self) -> str:
        """What another program reads of everybody's turns and memory."""
        self.served.summarise()
        memory = self.api("POST", "memory", {"question": QUESTION}, by=self.other)
        answers = [turn["answer"] for turn in self.api("GET", "outputs", by=self.other)["items"]]
        return str([answers, memory["block"]["text"], memory["recalled"]["text"]])


@pytest.fixture
def clients(served: Gateway) -> Clients:
    served.start_over()
    return Clients(served)


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def test_an_answer_from_what_a_tool_read_of_private_memory_stays_private(clients: Clients) -> None:
    clients.tell_private()
    clients.served.site.tell("UPDATE memorybank_bank SET recall_tokens = 0, personal_tokens = 0")
    hits = json.dumps(clients.api("POST", "recall", {"question": QUESTION}, by=clients.front))
    assert "Zorblax" in hits
    tools = [{"type": "function", "function": {"name": "recall", "parameters": {}}}]
    arguments = {"name": "recall", "arguments": '{"city": "Paris"}'}
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "type": "function"}]}
    called["tool_calls"][0]["function"] = arguments  # type: ignore[index]
    result = {"role": "tool", "tool_call_id": "call_1", "content": hits}
    clients.chat(user("What is wrong with me?"), by=clients.front, tools=tools)
    clients.chat(
        user("What is wrong with me?"), called, result, by=clients.front, answer="Zorblax, I fear.", tools=tools
    )
    clients.chat(
        {"role": "system", "content": f"Known: {hits}"},
        user("And where?"),
        by=clients.front,
        answer="Zorblax, in Graz.",
    )
    clients.chat({"role": "system", "content": f"Known: {hits}"}, user("Who are you?"), by=clients.front, answer="Ada.")
    assert "Zorblax" not in clients.met_by_others()
    assert "Ada." in clients.met_by_others()


def test_a_branch_of_a_chat_repeats_no_private_words_even_if_they_are_erased(clients: Clients) -> None:
    clients.tell_private()
    asked = user(QUESTION), assistant("You have Zorblax disease.")
    clients.chat(asked[0], by=clients.front, answer=asked[1]["content"])
    clients.api("DELETE", "chats/secret", by=clients.front)
    clients.chat(*asked, user("And what was that?"), by=clients.front, answer="As I said, Zorblax.")
    branch = clients.chat(*asked, user("Once more?"), by=clients.front, answer="Once more: Zorblax.")
    named = {**clients.front, "X-Memory-Chat": "7"}
    clients.chat(*asked, user("In short?"), by=named, answer="In short: Zorblax.")
    assert branch["x-memory-recognised"] == "branched"
    assert "Zorblax" not in clients.met_by_others()


def test_a_stored_answer_with_private_memory_is_for_the_person_who_asked(clients: Clients) -> None:
    clients.tell_private()
    clients.served.upstream.answer = lambda body: ModelAnswer("It is Zorblax.")

    def respond(text: str, by: dict[str, str], **more: str) -> tuple[int, Any]:
        body = {"model": "small", "input": text, **more}
        status, _, raw = clients.served.post("/v1/responses", body, **by)
        return status, json.loads(raw).get("id")

    _, shared = respond("Who works here?", clients.other)
    _, first = respond(QUESTION, clients.front)
    _, second = respond("Thanks.", clients.front, previous_response_id=first)
    for by, status in ((clients.front, 200), (clients.narrow, 404), (clients.other, 404)):
        for stored in (first, second):
            assert clients.served.post(f"/v1/responses/{stored}", None, method="GET", **by)[0] == status
            assert respond("Repeat it.", by, previous_response_id=stored)[0] == status
    assert clients.served.post(f"/v1/responses/{shared}", None, method="GET", **clients.narrow)[0] == 200


@pytest.mark.parametrize("named", [False, True])
def test_another_key_neither_writes_into_a_private_chat_nor_sets_turns_of_it_aside(
    clients: Clients, named: bool
) -> None:
    clients.served.site.tell("UPDATE memorybank_bank SET new_chats_private = true")
    where = {"X-Memory-Chat": "42"} if named else {}
    mine, others = {**clients.front, **where}, {**clients.narrow, **where, "X-Memory-User": "priya"}
    said = [user("Good morning to you."), assistant("And to you.")]
    first = clients.chat(said[0], by=mine, answer="And to you.")["x-memory-chat"]
    said += [user(DIAGNOSIS), assistant("I see.")]
    clients.chat(*said[:3], by=mine, answer="I see.")
    chats = {clients.chat(*said, user("Hooli moved to Graz."), by=others, answer="So?")["x-memory-chat"]}
    edited = clients.chat(*said[:2], user("And now?"), by=others)
    assert "x-memory-set-aside" not in edited
    again = clients.chat(*said, user("Hooli moved to Linz."), by=mine, answer="Oh.")
    assert first == again["x-memory-chat"] not in {*chats, edited["x-memory-chat"]}
    assert [turn["question"] for turn in clients.served.turns() if turn["chat"] == first] == [
        "Good morning to you.",
        DIAGNOSIS,
        "Hooli moved to Linz.",
    ]

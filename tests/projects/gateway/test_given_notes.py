"""Notes stay beside the question they were given with, in the same bytes, until somebody may no longer read them."""

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.support.gateway_site import Gateway
from tests.support.upstream_events import ModelAnswer

pytestmark = [pytest.mark.own_servers]
HEADING = "perhaps relevant"
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


@pytest.fixture(scope="module", autouse=True)
def teams(site_of_module: Gateway) -> None:
    """More than a block and the notes of three questions hold, so that each question needs notes."""
    site_of_module.site.tell("UPDATE memorybank_bank SET max_tokens = 200")
    for number in range(99):
        sentence = f"The mascot of team number {number} is quasar-{number}, its room {number + 100}."
        body = {"model": "small", "messages": [{"role": "user", "content": sentence}]}
        assert site_of_module.post("/v1/chat/completions", body, **{"x-chat-id": f"team-{number}"})[0] == 200
    site_of_module.summarise()


class ProtocolClient:
    """A client of one of the protocols that keeps the conversation itself."""

    def __init__(self, served: Gateway, path: str = "chat/completions") -> None:
        self.served, self.path = served, path
        self.field = "input" if path == "responses" else "messages"
        self.said: list[dict[str, Any]] = []

    def say(self, text: str, **more: Any) -> list[dict[str, Any]]:
        """What the upstream was sent, by message."""
        self.said.append({"role": "user", "content": text})
        return self.send(**more)

    def send(self, **more: Any) -> list[dict[str, Any]]:
        status, _, raw = self.served.post(f"/v1/{self.path}", {"model": "small", self.field: self.said, **more})
        assert status == 200, raw
        sent = self.served.upstream.seen[-1].body
        if self.path == "chat/completions":
            self.said.append(json.loads(raw)["choices"][0]["message"])
        else:
            self.said.append({"role": "assistant", "content": f"Answer {len(self.said)}."})
        return [{"role": "system", "content": sent.get("system") or sent.get("instructions")}, *sent[self.field]]


def noted(sent: list[dict[str, Any]]) -> int:
    return sum(HEADING in str(message["content"]) for message in sent if message["role"] == "user")


def asked(number: int) -> str:
    return f"What is the mascot of team number {number}, {uuid4()}?"


@pytest.mark.parametrize("path", ["chat/completions", "messages", "responses"])
def test_what_was_sent_is_the_beginning_of_what_is_sent_next(served: Gateway, path: str) -> None:
    talk, before = ProtocolClient(served, path), []
    served.upstream.answer = lambda body: ModelAnswer(f"Answer {len(body.get('input') or body['messages'])}.")
    more = {"max_tokens": 99} if path == "messages" else {}
    for number in range(4):
        if path != "chat/completions" and talk.said:
            count = len(served.upstream.seen[-1].body[talk.field])
            talk.said[-1]["content"] = f"Answer {count}."
        sent = talk.say(asked(number + 5), **more)
        assert sent[: len(before)] == before and noted(sent) >= min(number + 1, 2)
        before = sent


def test_a_tool_loop_and_the_question_after_it_read_nothing_anew(served: Gateway) -> None:
    talk = ProtocolClient(served)
    before = talk.say(asked(11), tools=TOOLS)
    assert noted(before) == 1
    for _ in range(2):
        [call] = talk.said[-1]["tool_calls"]
        talk.said.append({"role": "tool", "tool_call_id": call["id"], "content": "Nothing."})
        served.site.tell("UPDATE memorybank_bank SET recall_tokens = 900")  # notes would be others now
        sent = talk.send(tools=TOOLS)
        assert sent[: len(before)] == before
        before = sent
        sent = talk.say(asked(12), tools=TOOLS)
        assert sent[: len(before)] == before
        before = sent
    served.site.tell("UPDATE memorybank_bank SET recall_tokens = 600")


def test_what_is_erased_is_gone_from_all_notes_and_the_others_stay(served: Gateway) -> None:
    talk = ProtocolClient(served)
    talk.say(asked(3))
    sent = talk.say(asked(4))
    assert "quasar-3," in str(sent) and "quasar-4," in str(sent)
    keys = served.site.ask(
        "SELECT c.key FROM memorybank_chat c JOIN memorybank_output o ON o.chat_id = c.id"
        " WHERE o.question LIKE '%team number 3 is%'"
    )
    assert served.site.call("forget_memory", "acme/apollo", "--chat", keys[0][0]).code == 0
    sent = talk.say(asked(6))
    assert "quasar-3," not in str(sent) and "quasar-4," in str(sent)


def test_another_conversation_with_the_same_question_gets_notes_of_its_own(served: Gateway) -> None:
    question = asked(7)
    assert noted(ProtocolClient(served).say(question)) == 1
    served.site.tell("UPDATE memorybank_bank SET recall_tokens = 0")
    assert noted(ProtocolClient(served).say(question)) == 0
    served.site.tell("UPDATE memorybank_bank SET recall_tokens = 600")

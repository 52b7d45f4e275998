"""Chats of gateway clients: which chat a request belongs to, what is recorded, what leaves memory."""

from typing import Any
from uuid import uuid4

import pytest

from tests.support.gateway_fixtures import served, site_of_module
from tests.support.gateway_site import Gateway
from tests.support.upstream_events import Said

__all__ = ["served", "site_of_module"]
pytestmark = [pytest.mark.own_servers]


class Talk:
    """A client that keeps the conversation itself."""

    def __init__(self, served: Gateway, **headers: str) -> None:
        self.served, self.headers = served, headers
        self.said: list[dict[str, Any]] = []
        self.chat = self.how = ""
        self.body: dict[str, Any] = {}

    def say(self, text: str, **more: Any) -> None:
        self.said.append({"role": "user", "content": text})
        body = {"model": "small", "messages": self.said, **self.body, **more}
        status, headers, raw = self.served.post("/v1/chat/completions", body, **self.headers)
        assert status == 200, raw
        self.chat, self.how = headers.get("x-memory-chat", ""), headers.get("x-memory-recognised", "")
        self.said.append({"role": "assistant", "content": f"You said: {text}"})

    def questions(self) -> list[str]:
        """The chat's outputs that are recorded and remembered."""
        return [t["question"] for t in self.served.turns() if t["chat"] == self.chat and t["status"] == "ok"]


def test_strangers_with_the_same_first_message_never_meet(served: Gateway) -> None:
    ann, bob, cy = Talk(served), Talk(served), Talk(served, **{"X-Memory-User": "cy"})
    for talk in (ann, bob, cy):
        talk.say("hi")
    assert len({ann.chat, bob.chat, cy.chat}) == 3
    for talk in (ann, bob, cy):
        talk.say(f"I am {id(talk)}.")
    assert len({ann.chat, bob.chat, cy.chat}) == 3
    assert served.turns()[-1]["author"] == "cy"


def test_another_key_of_the_project_is_another_name_space(served: Gateway) -> None:
    made = served.site.call("create_api_key", "acme/apollo", "--name", "other", "--scopes", "write", "--json")
    ours = Talk(served, **{"X-Session-Id": "s-1"})
    theirs = Talk(served, **{"X-Session-Id": "s-1", "Authorization": f"Bearer {made.json['key']}"})
    for talk in (ours, theirs):
        talk.say("hi")
    assert ours.chat != theirs.chat


@pytest.mark.parametrize(
    "header", ["X-Memory-Chat", "x-session-id", "x-session-affinity", "x-claude-code-session-id", "X-OpenWebUI-Chat-Id"]
)
def test_an_id_that_clients_send_names_the_chat(served: Gateway, header: str) -> None:
    first, second = (Talk(served, **{header: "c-17"}) for _ in range(2))
    for talk in (first, second):
        talk.say(f"Something of its own, {uuid4()}.")
    assert (first.chat, first.how) == (second.chat, header.lower())


def test_a_cache_key_names_the_chat_if_it_is_one_of_a_kind(served: Gateway) -> None:
    one_of_a_kind, for_all = str(uuid4()), "my-app"
    for key, same in ((one_of_a_kind, True), (for_all, False)):
        first, second = Talk(served), Talk(served)
        for talk in (first, second):
            talk.say(f"Something of its own, {uuid4()}.", prompt_cache_key=key)
        assert (first.chat == second.chat) is same


@pytest.mark.parametrize("headers", [{}, {"X-Memory-Chat": "edited-chat"}], ids=["lineage", "id"])
def test_what_is_edited_undone_or_asked_anew_leaves_memory(served: Gateway, headers: dict[str, str]) -> None:
    talk = Talk(served, **headers)
    for text in (f"Kept, {headers}.", "We take Oracle.", "It costs a lot."):
        talk.say(text)
    chat = talk.chat
    del talk.said[2:]
    talk.say("We take PostgreSQL.")  # edits a turn and undoes what followed
    assert (talk.chat, talk.questions()) == (chat, [f"Kept, {headers}.", "We take PostgreSQL."])
    talk.say("When?")
    served.upstream.answer = lambda body: Said("Another answer.")
    del talk.said[-2:]
    talk.say("When?")
    answers = [t["answer"] for t in served.turns() if t["chat"] == chat and t["question"] == "When?"]
    assert answers == ["Another answer."]
    talk.said[-1]["content"] = "Another answer."
    talk.say("Go on.")
    assert talk.chat == chat
    assert talk.questions() == [f"Kept, {headers}.", "We take PostgreSQL.", "When?", "Go on."]


def test_a_chat_that_the_client_compacts_is_the_same_and_forgets_nothing(served: Gateway) -> None:
    talk = Talk(served)
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
    known = "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history."
    template = {"model": "small", "messages": [{"role": "user", "content": known}]}
    by_task = {**body, "metadata": {"task": "title_generation"}}
    for asked, headers in ((body, {"X-Memory": "off"}), (by_task, {}), (template, {"X-OpenWebUI-Chat-Id": "c-17"})):
        status, told, _ = served.post("/v1/chat/completions", asked, **headers)
        assert (status, told["x-memory-skipped"]) == (200, "aside")
        assert served.upstream.seen[-1].body == asked
    assert len(served.turns()) == before
    talk = Talk(served)
    talk.say("Warmup exercises for runners?")  # begins like an auxiliary prompt, but is not one
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
    Talk(served).say("We decided that the office moves to Lisbon in May 2027.")
    served.summarise()
    talk = Talk(served)
    talk.say("What next?")
    first = served.upstream.seen[-1].body["messages"][0]
    Talk(served).say("We decided that Maria leads the Lisbon office.")
    served.summarise()
    talk.say("And then?")
    assert served.upstream.seen[-1].body["messages"][0] == first
    Talk(served).say("Anything new?")
    assert served.upstream.seen[-1].body["messages"][0] != first


def test_erasing_a_chat_takes_every_hash_of_it(served: Gateway) -> None:
    talk = Talk(served)
    for text in ("To be forgotten, one.", "To be forgotten, two."):
        talk.say(text)
    count = "SELECT count(*) FROM projects_gatewaystep s JOIN memorybank_chat c ON c.id = s.chat_id WHERE c.key = "
    assert served.site.ask(f"{count}'{talk.chat}'") == [(2,)]
    assert served.site.call("forget_memory", "acme/apollo", "--chat", talk.chat).code == 0
    assert served.site.ask(f"{count}'{talk.chat}'") == [(0,)]
    chat = talk.chat
    talk.say("Who are you?")
    assert (talk.chat != chat, talk.how) == (True, "new")

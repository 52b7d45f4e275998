"""A chat is recognised in whatever form a client sends its answers back."""

from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from memorybank import services
from memorybank.models import Output
from projects.gateway.conversations import matching
from projects.gateway.messages import assistant_message, is_altered_answer, single_spaced, user_message
from projects.gateway.protocols import ChatCompletions, Responses
from projects.gateway.routes import Route
from projects.gateway.turn_recording import RecordedQuestion, record_answer, record_question
from projects.models import Project, Tenant
from projects.tenancy import api_keys
from tests.support.gateway_turns import turn_of

CHAT = Route("gateway", "chat/completions", ChatCompletions(), remembers=True)
RESPONSES = Route("gateway", "responses", Responses(), remembers=True)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


class Program:
    """A program with a key, whose upstream answers as it is told."""

    def __init__(self, settings: Any) -> None:
        settings.GATEWAY_UPSTREAMS = {"openai": ("http://upstream.test/v1", "sk-upstream")}
        tenant = Tenant.objects.create(slug="acme", name="Acme")
        project = Project.objects.open(tenant, "apollo", "Apollo")
        services.enable(project.bank, actor="alice", disclosure_accepted=True)
        self.key = api_keys.issue(project, "desk", ["write"], actor="alice", now=timezone.now())[0]

    def ask(self, route: Route, body: dict[str, Any], answer: dict[str, Any]) -> RecordedQuestion:
        turn = turn_of(self.key, route, {"model": "small", **body})
        recorded, reader = record_question(turn), route.protocol.reader()
        reader.read_body(answer)
        record_answer(recorded, reader.answer(), Output.Status.OK)
        return recorded


@pytest.fixture
def program(db: None, settings: Any) -> Program:
    return Program(settings)


@pytest.mark.django_db
def test_a_client_that_goes_on_from_another_choice_stays_in_its_chat(program: Program) -> None:
    answers = ["Take the ferry.", "Take the train.", "Stay at home."]
    choices = [
        {"index": index, "message": {"role": "assistant", "content": text}} for index, text in enumerate(answers)
    ]
    first = program.ask(CHAT, {"messages": [user("How do I get there?")], "n": 3}, {"choices": choices})
    messages = [user("How do I get there?"), choices[1]["message"], user("When does it leave?")]
    second = program.ask(CHAT, {"messages": messages}, {"choices": choices[:1]})
    assert second.headers()["x-memory-chat"] == first.headers()["x-memory-chat"]
    assert second.headers()["x-memory-recognised"] == "continued"


@pytest.mark.django_db
def test_a_client_that_refers_to_items_by_their_ids_stays_in_its_chat(program: Program) -> None:
    def output(number: int) -> dict[str, Any]:
        content = [{"type": "output_text", "text": f"Answer {number}."}]
        return {
            "output": [
                {"type": "reasoning", "id": f"rs_{number}", "summary": []},
                {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content},
            ]
        }

    items: list[dict[str, Any]] = []
    chats = set()
    for number in range(4):
        items.append(user(f"Question {number}?"))
        recorded = program.ask(RESPONSES, {"input": items}, output(number))
        chats.add(recorded.headers()["x-memory-chat"])
        for kind in ("rs", "msg"):
            items.append({"type": "item_reference", "id": f"{kind}_{number}"})
    assert len(chats) == 1
    assert Output.objects.remembered().count() == 4


@pytest.mark.django_db
def test_a_turn_that_cannot_be_recorded_says_so(program: Program) -> None:
    body = {"messages": [user("x" * 1_000_001)]}
    recorded = program.ask(CHAT, body, {"choices": [{"message": {"role": "assistant", "content": "Yes."}}]})
    assert recorded.headers()["x-memory-turn"] == "skipped: refused"
    assert not Output.objects.exists()


@given(st.text(st.one_of(st.sampled_from("a \t\n\x1c\x85\xa0\u2003\u2028\u200b\u3000"), st.characters())))
def test_white_space_is_collapsed_as_by_splitting(text: str) -> None:
    assert single_spaced(text) == " ".join(text.split())


def test_white_space_reminders_thinking_and_markdown_make_no_difference() -> None:
    reminded = user_message("As  it is.\n<system-reminder>Today is Monday.</system-reminder>", [], 0)
    plain = user_message("As it is.", [], -1)
    assert reminded and plain and plain.fingerprint == reminded.fingerprint
    assert user_message("<system-reminder>Nothing of hers.</system-reminder>", [], 0) is None
    answer = assistant_message("<think>Hm.</think>\n\n**Yes**, and:\n\n* this\n* that", [])
    for text in ("Yes, and: this that", "Hm.</think> Yes, and this, that."):
        assert assistant_message(text, []).fingerprint == answer.fingerprint
    assert assistant_message("No.", []).fingerprint != answer.fingerprint
    assert assistant_message("👍", []).fingerprint != assistant_message("👎", []).fingerprint


def test_an_altered_answer_has_most_words_of_the_one_that_was_given() -> None:
    recorded = "We can certainly do that on Friday. Sources: one, two, three."
    assert is_altered_answer("We can certainly do that on Friday.", recorded)
    assert not is_altered_answer("We are closed, and nobody knows until when.", recorded)
    assert not is_altered_answer("We can.", recorded), "too short to tell"


def test_the_same_words_of_somebody_else_are_unknown() -> None:
    roots = {matching.root_hash("s", bank, who) for bank in (1, 2) for who in ("", "ann", "bob")}
    assert len(roots) == 6

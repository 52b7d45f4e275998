"""Requests as clients send them: which are a person's turns, and what of them the person typed.

``client_requests.jsonl`` has the requests of real clients, recorded by running them against a local upstream, with our
words in place of theirs; those of Open WebUI, LibreChat and mem0 have the shapes of their public sources. The last ones
are what people ask that looks like a call beside a chat. ``make test-clients`` runs the clients themselves.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from django.utils.datastructures import CaseInsensitiveMapping

from memorybank import services
from memorybank.models import Output
from projects.gateway.memory_injection import inject_memory, read_turn
from projects.gateway.protocols import AnthropicMessages, ChatCompletions, Protocol, Responses
from projects.gateway.turn_recording import record_answer, record_question
from projects.models import Project, Tenant
from projects.tenancy import api_keys, authentication

Call = dict[str, Any]
CALLS: list[Call] = [
    json.loads(line) for line in (Path(__file__).parent / "client_requests.jsonl").read_text("utf-8").splitlines()
]
PROTOCOLS: dict[str, Protocol] = {
    "chat/completions": ChatCompletions(),
    "messages": AnthropicMessages(),
    "responses": Responses(),
}


def items(call: Call) -> list[Call]:
    sent = call["body"].get("messages") or call["body"]["input"]
    return [{"role": "user", "content": sent}] if isinstance(sent, str) else sent


def is_of_model(item: Call) -> bool:
    return item.get("role") == "assistant" or item.get("type") == "function_call"


def answer_to(call: Call, after: list[Call]) -> list[Call]:
    """What the model said, as a later request tells it; something else if none does."""
    if "answer" in call:
        return [{"role": "assistant", "content": call["answer"]}]
    count = len(items(call))
    for later in after:
        later_items = items(later)
        answered = later_items[count : count + 1]
        if later["client"] == call["client"] and answered and is_of_model(answered[0]):
            return answered
    return [{"role": "assistant", "content": "Noted, and that is all."}]


def body_of(call: Call, answer: list[Call]) -> Call:
    """The upstream's answer in the protocol of the call."""
    if call["path"] == "responses":
        return {"output": [item if "type" in item else {"type": "message", **item} for item in answer]}
    if call["path"] == "messages":
        content = answer[0]["content"]
        return {"content": [{"type": "text", "text": content}] if isinstance(content, str) else content}
    return {"choices": [{"index": 0, "message": answer[0]}]}


class ReplayedGateway:
    """The gateway without its sockets: what becomes of each call."""

    def __init__(self) -> None:
        tenant = Tenant.objects.create(slug="acme", name="Acme")
        self.project = Project.objects.open(tenant, "apollo", "Apollo")
        services.enable(self.project.bank, actor="alice", disclosure_accepted=True)
        self.keys: dict[str, str] = defaultdict(self._key)

    def _key(self) -> str:
        return api_keys.issue(self.project, "desk", ["write"], actor="alice", now=timezone.now())[1]

    def send(self, call: Call, answer: list[Call]) -> Output | None:
        """The output that the call was recorded in, or None."""
        protocol = PROTOCOLS[call["path"]]
        now, headers = timezone.now(), CaseInsensitiveMapping(call["headers"])
        key = authentication.find(authentication.digest_of(self.keys[call["client"]]), now)
        turn = read_turn(key, protocol, call["body"], headers, now) if key else None
        injected = inject_memory(turn, protocol, call["body"]).turn if turn else None
        if injected is None:
            return None
        recorded, reader = record_question(injected), protocol.reader()
        reader.read_body(body_of(call, answer))
        record_answer(recorded, reader.answer(), Output.Status.OK)
        return recorded.output


@pytest.mark.django_db
def test_every_question_of_a_person_is_recorded_and_no_call_beside_a_chat() -> None:
    gateway = ReplayedGateway()
    lost: list[Call] = []
    wrong: list[tuple[Call, str]] = []
    outputs: dict[int, Call] = {}
    for position, call in enumerate(CALLS):
        output = gateway.send(call, answer_to(call, CALLS[position + 1 :]))
        if output is None:
            lost += [call] if call["kind"] != "side" else []
            continue
        if call["kind"] != "loop":
            outputs[output.pk] = call
            wrong += [(call, output.question)] if call.get("typed", output.question) != output.question else []
    kept = Output.objects.filter(chat__bank=gateway.project.bank, set_aside=False)
    assert not lost, [(call["client"], call["call"]) for call in lost]
    assert not wrong, [(call["client"], question) for call, question in wrong]
    assert set(kept.values_list("pk", flat=True)) <= set(outputs), "a tool loop is no turn of its own"
    beside = [outputs[pk] for pk in kept.values_list("pk", flat=True) if outputs[pk]["kind"] == "side"]
    assert not beside, [(call["client"], call["call"]) for call in beside]
    assert not kept.exclude(status=Output.Status.OK).exists()


def test_the_recorded_requests_are_those_of_at_least_twelve_clients() -> None:
    clients = {call["client"] for call in CALLS if not call["client"].startswith("a ")}
    kinds = {call["call"] for call in CALLS if call["kind"] == "side"}
    assert len(clients) >= 12
    assert len(kinds) >= 12

"""Errors of an upstream, which may repeat what it was sent: clean in answers, in the ledger and with the turn."""

import json
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.test import TestCase
from django.utils import timezone

from memorybank import services
from memorybank.services import Bank, LLMCall
from tests.support.gateway_site import Gateway
from tests.support.upstream_events import ModelAnswer

SECRETS = ("Tannenzapfen", "hunter2go", "DE89", "3704", "0044", "sk-upstream", "sk-ant-upstream")
MESSAGE = "Tannenzapfen: the password is hunter2go, pay DE89 3704 0044 0532 0130 00"
ECHO = f"Bad request with key sk-upstream sk-ant-upstream: maximum context length is 8192 tokens. Input: {MESSAGE}"
DOORS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"model": "small", "messages": [{"role": "user", "content": MESSAGE}]},
    "/v1/responses": {"model": "small", "input": MESSAGE},
    "/v1/messages": {"model": "small", "max_tokens": 9, "messages": [{"role": "user", "content": MESSAGE}]},
    "/v1/embeddings": {"model": "small", "input": [MESSAGE]},
}


def stored(gateway: Gateway) -> str:
    """Every error in the database."""
    return json.dumps([gateway.calls()[-1]["error"], [turn["error"] for turn in gateway.turns()]])


@pytest.mark.parametrize("path", DOORS)
@pytest.mark.parametrize("status", [400, 401, 500])
def test_an_error_that_repeats_what_was_sent_repeats_nothing(served: Gateway, path: str, status: int) -> None:
    served.upstream.status, served.upstream.error = status, ECHO
    code, _, raw = served.post(path, DOORS[path])
    assert code == status
    for secret in SECRETS:
        assert secret not in raw.decode(), secret
        assert secret not in stored(served), secret
    error = json.loads(raw)["error"]
    assert "maximum context length is 8192 tokens" in error["message"]
    assert (error["type"], error.get("code")) == ("test_error", "x1")


@pytest.mark.parametrize("path", list(DOORS)[:3])
def test_an_error_within_a_stream_is_as_clean(served: Gateway, path: str) -> None:
    served.upstream.answer = lambda _body: ModelAnswer("Here it is then", error=ECHO)
    code, _, raw = served.post(path, {**DOORS[path], "stream": True})
    assert (code, b"Here" in raw, b"maximum context length is 8192 tokens" in raw) == (200, True, True)
    for secret in SECRETS:
        assert secret not in raw.decode(), secret
        assert secret not in stored(served), secret


FAILURES: dict[str, Any] = {
    "a field": {"error": {"type": "test_error", "message": ECHO, "code": 1}},
    "a choice": {"choices": [{"index": 0, "message": {}, "finish_reason": "error", "error": {"message": ECHO}}]},
    "a response": {"id": "resp_1", "object": "response", "status": "failed", "output": [], "error": {"message": ECHO}},
    "another shape": [ECHO],
}


@pytest.mark.parametrize("path", list(DOORS)[:3])
@pytest.mark.parametrize("form", [*FAILURES, "a page"])
def test_an_error_with_status_200_is_no_answer_and_repeats_nothing(served: Gateway, path: str, form: str) -> None:
    page = f"<html>{ECHO}</html>".encode()
    served.upstream.in_place = json.dumps(FAILURES[form]).encode() if form in FAILURES else page
    code, _, raw = served.post(path, DOORS[path])
    assert code == (200 if form == "a response" else 502)
    assert (json.loads(raw)["error"], served.turns()[-1]["status"]) != ({}, "ok")
    assert served.calls()[-1]["outcome"] != "ok"
    for secret in SECRETS:
        assert secret not in raw.decode(), secret
        assert secret not in stored(served), secret


@pytest.mark.parametrize("usage", [{"prompt_tokens": 5, "completion_tokens": 10**30}, [1], {"prompt_tokens": True}])
def test_an_answer_with_an_odd_usage_is_recorded(served: Gateway, usage: Any) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "On Friday."}, "finish_reason": "stop"}
    served.upstream.in_place = json.dumps({"model": "small", "choices": [choice], "usage": usage}).encode()
    served.post("/v1/chat/completions", DOORS["/v1/chat/completions"])
    assert (served.turns()[-1]["answer"], served.calls()[-1]["outcome"]) == ("On Friday.", "ok")


def test_a_redirect_of_an_upstream_is_an_error(served: Gateway) -> None:
    served.upstream.status, served.upstream.headers = 302, {"Location": "https://evil.example"}
    assert served.post("/v1/chat/completions", DOORS["/v1/chat/completions"])[0] == 502


class LedgerErrorTest(TestCase):
    def setUp(self) -> None:
        self.bank = Bank.objects.create()
        self.now = timezone.now()
        self.output = services.record(
            self.bank, chat_key="c", author="priya", question="Ship it on Friday?", answer="Yes."
        )
        services.record_call(
            self.bank,
            purpose=LLMCall.Purpose.CHAT,
            model="small",
            prompt_tokens=7,
            completion_tokens=0,
            asked_at=self.now,
            ended_at=self.now,
            failed="rejected",
            error="Unknown word: Friday",
        )

    def test_it_goes_with_the_turn_and_the_cost_stays(self) -> None:
        services.erase(self.bank, output=self.output.pk, actor="priya")
        [call] = self.bank.llm_calls.all()
        self.assertEqual((call.error, call.outcome, call.prompt_tokens), ("", "rejected", 7))

    def test_old_errors_are_emptied_when_the_site_is_updated(self) -> None:
        import_module("memorybank.migrations.0003_empty_old_errors").empty_errors(apps, None)
        self.assertEqual(self.bank.llm_calls.get().error, "")

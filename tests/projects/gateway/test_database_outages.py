"""With the database locked, gone, frozen or full, answers come without memory, and turns are recorded afterwards."""

import json
import re
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.database_proxy import DatabaseProxy
from tests.support.gateway_site import Gateway, gateway
from tests.support.requirements import needs_postgres, only_in_ci
from tests.support.upstream import wait_until

pytestmark = [pytest.mark.own_servers]
CHAT = "/v1/chat/completions"
#: As it is by default, but a key that was seen may be seldom used.
BUDGET = {"GATEWAY_MEMORY_MILLISECONDS": "250", "GATEWAY_KEY_SECONDS": "3600"}


def body(question: str, **more: Any) -> dict[str, Any]:
    return {"model": "small", "messages": [{"role": "user", "content": question}], **more}


def ask(served: Gateway, question: str, path: str = CHAT, **headers: str) -> dict[str, str]:
    """Ask, and be answered by the upstream; the headers."""
    asked = len(served.upstream.seen)
    status, response_headers, raw = served.post(path, body(question, max_tokens=9), **headers)
    assert (status, len(served.upstream.seen)) == (200, asked + 1), raw
    return response_headers


def questions(served: Gateway) -> list[str]:
    return [turn["question"] for turn in served.turns() if turn["status"] == "ok"]


def outage(served: Gateway, names: list[str]) -> list[dict[str, str]]:
    """Chat while the database is in trouble, with a key that was seen before; a key that was not is told to wait."""
    answers = [ask(served, name) for name in names]
    ask(served, "In the other protocol.", "/v1/messages")
    return answers


def stranger(served: Gateway, path: str = CHAT) -> tuple[int, dict[str, Any]]:
    """A valid key that this server has not seen yet."""
    key = f"Bearer {served.key('globex/zeus')}"
    status, headers, raw = served.post(path, body("Who are you?", max_tokens=9), Authorization=key)
    assert headers["content-type"] == "application/json" and headers.get("retry-after")
    return status, json.loads(raw)


def other(served: Gateway) -> dict[str, str]:
    """The headers of another tenant's program."""
    return {"Authorization": f"Bearer {served.key('globex/zeus')}"}


@contextmanager
def locked(data: Path) -> Iterator[None]:
    """Another process writes to the SQLite file."""
    with closing(sqlite3.connect(data / "memorybank.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def test_a_locked_file_stops_no_answer_and_loses_no_turn(tmp_path: Path) -> None:
    names = [f"Question {number} during the lock." for number in range(12)]
    with gateway(tmp_path, **BUDGET, API_REQUESTS_PER_MINUTE="600") as served:
        ask(served, "We decided on PostgreSQL 16 for the ledger.")
        served.summarise()
        wait_until(lambda: "x-memory-skipped" not in ask(served, "What did we decide?"), "warm")
        before = questions(served)
        with locked(tmp_path):
            answers = outage(served, names)
            assert {headers["x-memory-turn"] for headers in answers} == {"waiting"}
            assert ask(served, "Told with memory?")["x-memory-block-tokens"] != "0", "reading goes on beside a writer"
            streamed = served.post(CHAT, body("A stream.", stream=True))
            assert (streamed[0], b"[DONE]" in streamed[2]) == (200, True)
        wait_until(lambda: "A stream." in questions(served), "recorded")
        after = [*names, "In the other protocol.", "Told with memory?", "A stream."]
        assert questions(served) == [*before, *after], "in order, and once"
        assert len({turn["chat"] for turn in served.turns()}) == len(served.turns())


@only_in_ci
def test_a_conversation_that_goes_on_during_a_lock_is_one_chat(tmp_path: Path) -> None:
    with gateway(tmp_path, **BUDGET) as served:
        ask(served, "Before.")
        messages: list[dict[str, str]] = []
        with locked(tmp_path):
            for name in ("One.", "Two.", "Three."):
                messages.append({"role": "user", "content": name})
                raw = served.post(CHAT, {"model": "small", "messages": messages})[2]
                messages.append(json.loads(raw)["choices"][0]["message"])
        wait_until(lambda: "Three." in questions(served), "recorded")
        assert [turn["question"] for turn in served.turns()] == ["Before.", "One.", "Two.", "Three."]
        assert len({turn["chat"] for turn in served.turns()}) == 2


@only_in_ci
def test_stored_responses_go_on_during_a_lock_for_nobody_else(tmp_path: Path) -> None:
    with gateway(tmp_path, **BUDGET) as served:
        ask(served, "Before.")
        assert served.post("/v1/responses/resp_9", None, method="GET", **other(served))[0] == 404  # its key is known
        more: dict[str, str] = {}
        with locked(tmp_path):
            for name in ("One.", "Two.", "Three."):
                status, _, raw = served.post("/v1/responses", {"model": "small", "input": name, **more})
                assert status == 200, raw
                more = {"previous_response_id": json.loads(raw)["id"]}
            path = f"/v1/responses/{more['previous_response_id']}"
            assert served.post(path, None, method="GET")[0] == 200
            assert served.post(path, None, method="GET", **other(served))[0] == 404
        wait_until(lambda: "Three." in questions(served), "recorded")
        assert [turn["question"] for turn in served.turns()] == ["Before.", "One.", "Two.", "Three."]
        assert len({turn["chat"] for turn in served.turns()}) == 2


@only_in_ci
def test_a_full_disk_stops_no_answer_and_what_is_erased_meanwhile_is_not_recorded(tmp_path: Path) -> None:
    with gateway(tmp_path, **BUDGET) as served:
        ask(served, "Before.", **{"X-Memory-User": "ann"})
        pid, unlimited = served.server.pid, resource.RLIM_INFINITY
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, unlimited))
        for name in ("ann", "ben"):
            assert ask(served, f"I am {name}.", **{"X-Memory-User": name})["x-memory-turn"] == "waiting"
        erased = served.site.call("forget_memory", "acme/apollo", "--author", "ann")
        assert erased.code == 0, erased.err
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        wait_until(lambda: "I am ben." in questions(served), "recorded")
        assert [turn["question"] for turn in served.turns()] == ["I am ben."]


@only_in_ci
def test_what_a_full_spool_refuses_is_said_in_the_header_the_log_and_the_metrics(tmp_path: Path) -> None:
    long = "It is a long story. " * 30_000
    with gateway(tmp_path, **BUDGET, GATEWAY_SPOOL_MEGABYTES="1") as served:
        ask(served, "Before.")
        with locked(tmp_path):
            assert ask(served, f"First. {long}")["x-memory-turn"] == "waiting"
            for name in ("Second", "Third"):
                assert ask(served, f"{name}. {long}")["x-memory-turn"] == "skipped: full"
            assert ask(served, "Short.")["x-memory-turn"] == "waiting", "what still fits is recorded"
        wait_until(lambda: "Short." in questions(served), "recorded")
        assert [question[:6] for question in questions(served)] == ["Before", "First.", "Short."]
        assert served.site.output().count("the spool is full") >= 2
        metrics = served.post("/metrics", None, method="GET")[2].decode()
        assert re.search(r'reason="failed"\} 2$', metrics, re.M), metrics


@only_in_ci
def test_no_answer_waits_for_a_locked_postgresql_and_no_turn_is_lost(tmp_path: Path) -> None:
    server = needs_postgres()
    with DatabaseProxy(server) as proxy, gateway(tmp_path, postgres=server, through=proxy, **BUDGET) as served:
        ask(served, "Before.")
        recorded = ["Before."]

        def recovered(*more: str) -> None:
            recorded.extend([*more, "In the other protocol."])
            wait_until(lambda: len(questions(served)) >= len(recorded), "recorded")
            assert questions(served) == recorded, "in order, and once"

        with psycopg.connect(served.site.database_url) as other:
            other.execute("LOCK TABLE memorybank_bank, projects_apikey IN ACCESS EXCLUSIVE MODE")
            answers = outage(served, ["During the lock."])
            assert (answers[0]["x-memory-skipped"], answers[0]["x-memory-turn"]) == ("slow", "waiting")
            status, error = stranger(served)
            assert (status, error["error"]["type"]) == (503, "server_error")
        recovered("During the lock.")
        proxy.freeze()
        assert outage(served, ["While it is frozen."])[0]["x-memory-skipped"] == "slow"
        assert stranger(served, "/v1/messages")[1]["type"] == "error"
        proxy.recover()
        recovered("While it is frozen.")
        proxy.refuse()
        answers = outage(served, ["While nobody listens."])
        status, headers, raw = served.post("/api/v1/outputs", {"chat": "c", "author": "ann", "question": "Now?"})
        assert (status, headers["retry-after"]) == (503, "5"), "a program knows that it may try again"
        assert json.loads(raw)["detail"] == "The database does not answer, or is locked or full. Try again."
        assert answers[0]["x-memory-skipped"] in ("failed", "slow")
        assert stranger(served)[0] == 503
        proxy.recover()
        recovered("While nobody listens.")
        counts = dict(served.site.ask("SELECT memory, sum(prompts) FROM memorybank_promptcount GROUP BY memory"))
        assert counts["slow"] >= 2


@only_in_ci
def test_a_server_that_stops_during_a_lock_leaves_its_turns_to_the_next(tmp_path: Path) -> None:
    with gateway(tmp_path, **BUDGET) as served:
        ask(served, "Before.")
        with locked(tmp_path):
            ask(served, "During the lock.")
            served.stop()
            served.server.wait()
            assert list((tmp_path / "gateway-spool").glob("*.waiting"))
        served.restart()
        wait_until(lambda: "During the lock." in questions(served), "recorded")
        assert questions(served) == ["Before.", "During the lock."]
        assert not list((tmp_path / "gateway-spool").iterdir())


def tool_loops(served: Gateway, project: str) -> None:
    """In two protocols a question, a tool call, its result and the answer; one of them is stored by the upstream."""

    def post(path: str, fields: dict[str, Any]) -> dict[str, Any]:
        before, key = len(served.calls()), f"Bearer {served.key(project)}"
        status, _, raw = served.post(path, {"model": "small", "tools": tools, **fields}, Authorization=key)
        wait_until(lambda: len(served.calls()) > before, "recorded")
        assert status == 200, raw
        return dict(json.loads(raw))

    function = {"name": "weather", "parameters": {"type": "object"}}
    tools: list[dict[str, Any]] = [{"type": "function", "function": function}]
    question = {"role": "user", "content": "What is the weather in Rome?"}
    called = post(CHAT, {"messages": [question]})["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": called["tool_calls"][0]["id"], "content": "30 degrees"}
    post(CHAT, {"messages": [question, called, result]})
    tools = [{"type": "function", **function}]
    first = post("/v1/responses", {"input": "And in Oslo?"})
    output = [{"type": "function_call_output", "call_id": "call_1", "output": "3 degrees"}]
    post("/v1/responses", {"input": output, "previous_response_id": first["id"]})


def test_what_was_committed_without_an_acknowledgement_is_recorded_once(tmp_path: Path) -> None:
    server = needs_postgres()
    with DatabaseProxy(server) as proxy, gateway(tmp_path, postgres=server, through=proxy, **BUDGET) as served:
        tool_loops(served, "acme/hermes")
        calls, undisturbed = served.calls(), turns_of(served, "acme/hermes")
        assert [(turn["status"], len(turn["messages"])) for turn in undisturbed] == [("ok", 2), ("ok", 2)]
        proxy.loses_commits = True
        tool_loops(served, "acme/apollo")
        assert proxy.lost >= 4, "at least one commit of each request"
        assert turns_of(served, "acme/apollo") == undisturbed
        assert served.calls() == [*calls, *calls]


def turns_of(served: Gateway, project: str) -> list[dict[str, Any]]:
    """The turns of a project, without what names its chats."""
    return [{name: value for name, value in turn.items() if name != "chat"} for turn in served.turns(project)]

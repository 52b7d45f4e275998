"""Long requests are answered by a second process, which short ones do not wait for."""

import json
import os
import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway_site import Gateway, gateway
from tests.support.upstream import wait_until

from .test_streams import began

pytestmark = [pytest.mark.own_servers]
CHAT = "/v1/chat/completions"
READY = re.compile(r"process (\d+) answers long requests")
LOG = "2026-05-08 13:56:00 INFO worker 7 wrote an invoice\n"


def body(question: str, **more: Any) -> dict[str, Any]:
    return {"model": "small", "messages": [{"role": "user", "content": question}], **more}


def long(question: str, **more: Any) -> dict[str, Any]:
    return body(f"{question}\n{LOG * 5_000}", **more)


def questions(served: Gateway) -> list[str]:
    return [turn["question"].partition("\n")[0] for turn in served.turns() if turn["status"] == "ok"]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def second_process(served: Gateway) -> int:
    """The process for long requests, when it is ready."""
    served.post(CHAT, long("The first."))
    wait_until(lambda: READY.search(served.site.output()), "ready")
    ready = READY.search(served.site.output())
    assert ready
    return int(ready[1])


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with gateway(tmp_path_factory.mktemp("long")) as served_site:
        yield served_site


def test_a_long_request_is_answered_and_recorded_like_any_other(fresh: Gateway) -> None:
    second_process(fresh)
    for path, name in ((CHAT, "messages"), ("/v1/messages", "messages"), ("/v1/responses", "input")):
        asked = {"model": "small", "max_tokens": 9, name: long(f"By {path}")["messages"]}
        short_status, short_headers, _ = fresh.post(path, {**asked, name: body("Short.")["messages"]})
        status, headers, answer = fresh.post(path, asked)
        assert (status, headers["x-memory-turn"]) == (short_status, "recorded"), answer
        assert set(headers) == set(short_headers)
        assert fresh.upstream.seen[-1].body[name] == asked[name]
        assert questions(fresh)[-1] == f"By {path}"
    status, _, streamed = fresh.post(CHAT, long("A stream.", stream=True))
    assert (status, b"[DONE]" in streamed, questions(fresh)[-1]) == (200, True, "A stream.")


def test_short_requests_do_not_wait_for_the_second_process(fresh: Gateway) -> None:
    child = second_process(fresh)
    os.kill(child, signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(1) as thread:
            waiting = thread.submit(fresh.post, CHAT, long("Who waits?"))
            assert fresh.post(CHAT, body("A short one."))[0] == 200
            assert not waiting.done()
            os.kill(child, signal.SIGCONT)
            assert waiting.result()[0] == 200
    finally:
        os.kill(child, signal.SIGCONT)
    assert questions(fresh)[-2:] == ["A short one.", "Who waits?"]


def test_what_is_refused_while_the_body_arrives_is_refused(fresh: Gateway) -> None:
    second_process(fresh)
    asked = len(fresh.upstream.seen)
    status, _, refusal = fresh.post(CHAT, long("Who are you?"), Authorization="Bearer mb_none")
    assert (status, json.loads(refusal)["type"], len(fresh.upstream.seen)) == (401, "error", asked)
    status, _, refusal = fresh.post(CHAT, b"x" * 200_000)
    assert (status, json.loads(refusal)["error"]["type"]) == (400, "invalid_request_error")


def test_a_client_that_leaves_cancels_its_long_request(fresh: Gateway) -> None:
    second_process(fresh)
    gone, fresh.upstream.pace = fresh.upstream.gone, 3600
    try:
        with closing(began(fresh, long("Goodbye.", stream=True))) as waiting:
            assert waiting.recv(10)
        wait_until(lambda: fresh.upstream.gone == gone + 1, "cancelled at the upstream")
        wait_until(lambda: fresh.turns()[-1]["status"] == "cancelled", "recorded")
    finally:
        fresh.upstream.pace = 0


def test_if_the_second_process_dies_its_request_fails_and_the_next_is_answered(tmp_path: Path) -> None:
    with gateway(tmp_path) as served, ThreadPoolExecutor(1) as thread:
        child = second_process(served)
        os.kill(child, signal.SIGSTOP)
        waiting = thread.submit(served.post, CHAT, long("Lost."))
        assert served.post(CHAT, body("Meanwhile."))[0] == 200
        os.kill(child, signal.SIGKILL)
        status, _, failure = waiting.result()
        assert (status, json.loads(failure)["error"]["type"]) == (502, "server_error")
        assert served.post(CHAT, long("The next."))[0] == 200
        assert questions(served)[-1] == "The next."


def test_the_second_process_ends_with_its_server(tmp_path: Path) -> None:
    with gateway(tmp_path) as served:
        child = second_process(served)
        served.stop()
        wait_until(lambda: not is_running(child), "ended")
        served.server.wait()
        assert questions(served) == ["The first."]

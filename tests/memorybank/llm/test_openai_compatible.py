"""The OpenAI-compatible client over real HTTP, with a local server that fails in every way endpoints do."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest
from django.test import override_settings

from memorybank import llm
from memorybank.exceptions import LLMError, LLMMisconfigured, LLMRejected, LLMTooLong, LLMUnavailable
from memorybank.language import tokens
from memorybank.llm.base import Message
from memorybank.llm.openai_compatible import OpenAICompatibleLLM
from memorybank.llm.scripted import ScriptedLLM
from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.openai_server import OpenAIServer

ASK = [Message(role="user", content="[1] Postgres 16 for billing. Priya owns it.\nand more\n[2] Deploy on Tuesdays")]
BACKEND = "memorybank.llm.openai_compatible.OpenAICompatibleLLM"
KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


made: list[OpenAICompatibleLLM] = []


@pytest.fixture(autouse=True)
def close_models() -> Iterator[None]:
    llm.reset()
    yield
    llm.reset()
    while made:
        made.pop().close()


def model(server: OpenAIServer, **options: Any) -> OpenAICompatibleLLM:
    fields = {
        "base_url": server.base_url,
        "api_key": KEY,
        "model": "test",
        "timeout": PROCESS_TIMEOUT_SECONDS,
        "max_retries": 0,
    }
    made.append(OpenAICompatibleLLM(**(fields | options)))
    return made[-1]


def test_without_the_sdk_it_says_what_to_install(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)  # as if it were not installed
    with pytest.raises(LLMMisconfigured, match=r"memory-bank\[models\]"):
        model(server).complete(ASK)


def test_it_answers_and_counts(server: OpenAIServer) -> None:
    answer = model(server).complete(ASK, max_tokens=100)
    assert answer.text == "- fact: Postgres 16 for billing. [1]\n- fact: Deploy on Tuesdays [2]"
    assert answer.model == "test"
    assert answer.prompt_tokens > 0
    assert answer.completion_tokens > 0
    assert server.requests[0]["max_tokens"] == 100
    assert server.keys[0] == KEY


def test_it_needs_no_key_for_a_local_server(server: OpenAIServer) -> None:
    assert model(server, api_key="").complete(ASK).text


def test_it_counts_by_itself_when_the_server_does_not(server: OpenAIServer) -> None:
    server.usage = False
    answer = model(server).complete(ASK)
    assert answer.prompt_tokens == tokens.count(ASK[0]["content"])
    assert answer.completion_tokens == tokens.count(answer.text)


def test_it_sends_text_that_is_not_valid_unicode(server: OpenAIServer) -> None:
    assert model(server).complete([Message(role="user", content="[1] a\ud800b")]).text == "- fact: a?b [1]"


@pytest.mark.parametrize(
    ("mode", "error", "words"),
    [
        ("401", LLMMisconfigured, "HTTP 401: Incorrect API key provided"),
        ("400", LLMTooLong, "HTTP 400: This model's maximum context length is exceeded"),
        ("429", LLMUnavailable, "HTTP 429: Rate limit reached"),
        ("500", LLMUnavailable, "HTTP 500: The server had an error"),
        ("badjson", LLMUnavailable, "Unreadable answer"),
        ("empty", LLMRejected, "The model returned an empty answer (finish reason: stop)"),
    ],
)
def test_it_says_whether_to_try_again(server: OpenAIServer, mode: str, error: type[LLMError], words: str) -> None:
    server.mode = mode
    with pytest.raises(error) as raised:
        model(server).complete(ASK)
    assert words in str(raised.value)
    assert server.calls == 1


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9000", LLMTooLong),
        ("the request exceeds the available context size, try increasing it", LLMTooLong),
        ("prompt is too long: 210000 tokens > 200000 maximum", LLMTooLong),
        ("The input token count (40000) exceeds the maximum number of tokens allowed (32768).", LLMTooLong),
        ("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context", LLMTooLong),
        ("Unknown parameter: top_k", LLMRejected),
        ("max_tokens is too small", LLMRejected),
    ],
)
def test_it_tells_a_prompt_that_is_too_long_from_a_wrong_one(words: str, error: type[LLMError]) -> None:
    built = OpenAICompatibleLLM(model="m", api_key=KEY)
    assert type(built._status_error(400, words)) is error


def test_it_tells_an_unknown_path_from_an_outage(server: OpenAIServer) -> None:
    with pytest.raises(LLMMisconfigured, match="HTTP 404"):
        model(server, base_url=server.base_url + "/nonsense").complete(ASK)


def test_it_gives_up_on_a_silent_server(server: OpenAIServer) -> None:
    server.mode = "hang"
    with pytest.raises(LLMUnavailable, match=r"No answer within 0\.2 s"):
        model(server, timeout=0.2).complete(ASK)


def test_it_calls_a_dead_server_an_outage() -> None:
    with OpenAIServer() as server:
        dead = model(server)
    with pytest.raises(LLMUnavailable, match="Cannot connect"):
        dead.complete(ASK)


@pytest.mark.parametrize("address", ["localhost:1/v1", "ftp://localhost/v1", "http://[::1/v1", "nonsense"])
def test_it_calls_an_impossible_address_a_wrong_setting(address: str) -> None:
    with pytest.raises(LLMMisconfigured):
        OpenAICompatibleLLM(base_url=address, model="m", max_retries=0).complete(ASK)


def test_it_calls_a_key_that_no_header_can_carry_a_wrong_setting(server: OpenAIServer) -> None:
    with pytest.raises(LLMMisconfigured) as raised:
        model(server, api_key="schlüssel").complete(ASK)
    assert "schlüssel" not in str(raised.value)


@pytest.mark.parametrize("mode", ["500", "429"])
def test_it_retries_in_one_layer_only(server: OpenAIServer, mode: str) -> None:
    server.mode, server.retry_after = mode, "0.01"
    with pytest.raises(LLMUnavailable):
        model(server, max_retries=1).complete(ASK)
    assert server.calls == 2


@pytest.mark.parametrize("mode", ["401", "400"])
def test_it_never_retries_what_cannot_succeed(server: OpenAIServer, mode: str) -> None:
    server.mode = mode
    with pytest.raises(LLMError):
        model(server, max_retries=3).complete(ASK)
    assert server.calls == 1


def test_it_passes_on_how_long_the_provider_wants_us_to_wait(server: OpenAIServer) -> None:
    server.mode, server.retry_after = "429", "17"
    with pytest.raises(LLMUnavailable) as raised:
        model(server).complete(ASK)
    assert raised.value.retry_after == 17.0


def test_it_reads_a_wish_given_as_a_date(server: OpenAIServer) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    server.mode, server.retry_after = "429", format_datetime(later, usegmt=True)
    with pytest.raises(LLMUnavailable) as raised:
        model(server).complete(ASK)
    assert raised.value.retry_after is not None
    assert 3590 <= raised.value.retry_after <= 3600


@pytest.mark.parametrize("wish", ["soon", "-5", "nan", "inf", ""])
def test_it_ignores_a_wish_it_cannot_read(server: OpenAIServer, wish: str) -> None:
    server.mode, server.retry_after = "429", wish
    with pytest.raises(LLMUnavailable) as raised:
        model(server).complete(ASK)
    assert raised.value.retry_after is None


class Canned(BaseHTTPRequestHandler):
    """Answers every POST with the next of ``answers``: (status, content type, body)."""

    answers: ClassVar[list[tuple[int, str, str]]] = []
    bodies: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        self.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        status, kind, body = self.answers.pop(0)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def canned() -> Iterator[OpenAICompatibleLLM]:
    Canned.answers, Canned.bodies = [], []
    with ThreadingHTTPServer(("127.0.0.1", 0), Canned) as http:
        Thread(target=http.serve_forever, args=(0.05,), daemon=True).start()
        address = f"http://127.0.0.1:{http.server_address[1]}/v1"
        llm = OpenAICompatibleLLM(base_url=address, api_key=KEY, model="m", max_retries=0)
        yield llm
        llm.close()
        http.shutdown()


def say(status: int, body: Any, kind: str = "application/json") -> None:
    Canned.answers.append((status, kind, body if isinstance(body, str) else json.dumps(body)))


def choice(content: Any, **message: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": content, **message}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("body", "kind", "error"),
    [
        ("<html>Bad gateway</html>", "text/html", LLMUnavailable),
        ({"choices": []}, "application/json", LLMUnavailable),
        ({"choices": None}, "application/json", LLMUnavailable),
        ({"choices": [{"finish_reason": "stop"}]}, "application/json", LLMRejected),
        ("[]", "application/json", LLMUnavailable),
        ('"hello"', "application/json", LLMUnavailable),
        ("null", "application/json", LLMUnavailable),
        ({"error": {"code": 429, "message": "slow down"}}, "application/json", LLMUnavailable),
        ({"error": {"code": 401, "message": "no"}}, "application/json", LLMMisconfigured),
        (choice(None), "application/json", LLMRejected),
        (choice("  \n "), "application/json", LLMRejected),
        (choice("<think>hm</think>  "), "application/json", LLMRejected),
        (choice(None, refusal="I cannot help with that"), "application/json", LLMRejected),
    ],
)
def test_it_translates_every_unusable_success(canned: OpenAICompatibleLLM, body: Any, kind: str, error: Any) -> None:
    say(200, body, kind)
    with pytest.raises(error):
        canned.complete(ASK)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        *((status, LLMMisconfigured) for status in (401, 403, 404)),
        *((status, LLMRejected) for status in (400, 422)),
        (413, LLMTooLong),
        *((status, LLMUnavailable) for status in (408, 409, 429, 500, 502, 503, 529)),
    ],
)
def test_it_translates_every_status(canned: OpenAICompatibleLLM, status: int, error: type[LLMError]) -> None:
    say(status, "<html>sorry</html>", "text/html")
    with pytest.raises(error, match=f"HTTP {status}: <html>sorry</html>"):
        canned.complete(ASK)


def test_it_keeps_the_providers_words_short_and_without_the_key(canned: OpenAICompatibleLLM) -> None:
    say(401, {"error": {"message": f"Wrong key {KEY}\n" + "x" * 10_000}})
    with pytest.raises(LLMMisconfigured) as raised:
        canned.complete(ASK)
    assert str(raised.value).startswith("HTTP 401: Wrong key [key] xxx")
    assert len(str(raised.value)) == 500


@pytest.mark.parametrize(
    "words",
    [
        "Cannot read: [1] Postgres 16 for billing. Priya owns it.\nand more",
        'Invalid input "Deploy on Tues',
        "Blocked: PRIYA, bill\\u0069ng and p-o-s-t-g-r-e-s; Postgres",
    ],
)
def test_it_says_nothing_of_what_was_sent(canned: OpenAICompatibleLLM, words: str) -> None:
    say(400, {"error": {"message": words}})
    with pytest.raises(LLMRejected) as raised:
        canned.complete(ASK)
    error_text = str(raised.value)
    assert error_text.startswith("HTTP 400: ")
    for sent in ("Postgres", "Priya", "billing", "Tues", "owns"):
        assert sent.casefold() not in error_text.casefold()


def test_it_leaves_out_what_a_reasoning_model_thought(canned: OpenAICompatibleLLM) -> None:
    say(200, choice("<think>\n- fact: not this [1]\n</think>\n- fact: this [1]"))
    assert canned.complete(ASK).text == "- fact: this [1]"


def test_it_learns_the_name_of_the_cap_that_newer_models_want(canned: OpenAICompatibleLLM) -> None:
    say(400, {"error": {"message": "Unsupported parameter 'max_tokens'. Use 'max_completion_tokens' instead."}})
    say(200, choice("one"))
    say(200, choice("two"))
    assert [canned.complete(ASK, max_tokens=5).text for _ in range(2)] == ["one", "two"]
    assert ["max_completion_tokens" in body for body in Canned.bodies] == [False, True, True]


def test_it_imports_the_sdk_only_when_called() -> None:
    code = "import sys; from memorybank.llm import openai_compatible as m; m.OpenAICompatibleLLM(model='m')"
    code += "; print('openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_changed_settings_are_a_new_endpoint(server: OpenAIServer) -> None:
    variants = [model(server), model(server, api_key="b"), model(server, model="b"), model(server, base_url="http://b")]
    assert len({variant.fingerprint for variant in variants}) == 4
    assert model(server).fingerprint == model(server).fingerprint
    assert KEY not in model(server).fingerprint


def configured(server: OpenAIServer, **aliases: str) -> override_settings:
    options = {
        "BACKEND": BACKEND,
        "BASE_URL": server.base_url,
        "API_KEY": "",
        "TIMEOUT": PROCESS_TIMEOUT_SECONDS,
        "MAX_RETRIES": 0,
    }
    return override_settings(MEMORYBANK={"LLMS": {alias: options | {"MODEL": name} for alias, name in aliases.items()}})


def test_an_alias_gets_its_model_over_http(server: OpenAIServer) -> None:
    with configured(server, chat="big", summary="small"):
        chat, summary = llm.get("chat"), llm.get("summary")
        assert chat is not None
        assert summary is not None
        assert (chat.complete(ASK).model, summary.complete(ASK).model) == ("big", "small")


def test_summaries_fall_back_to_the_chat_model(server: OpenAIServer) -> None:
    with configured(server, chat="big"):
        assert llm.get("summary") is llm.get("chat")


def test_chats_do_not_fall_back_to_the_summary_model(server: OpenAIServer) -> None:
    with configured(server, summary="small"):
        assert llm.get("chat") is None


@override_settings(MEMORYBANK={})
def test_nothing_configured_is_no_model() -> None:
    assert llm.get("chat") is None
    assert llm.get("summary") is None


def test_it_keeps_one_instance_until_the_settings_change(server: OpenAIServer) -> None:
    with configured(server, chat="big"):
        first = llm.get("chat")
        assert llm.get("chat") is first
    with configured(server, chat="other"):
        assert llm.get("chat") is not first
    with configured(server, chat="big"):
        assert llm.get("chat") is first


def test_a_scripted_model_follows_its_queue_then_its_default() -> None:
    scripted = ScriptedLLM(answer=lambda messages: messages[-1]["content"].upper())
    scripted.enqueue("one", LLMUnavailable("down"), lambda messages: f"{len(messages)} messages")
    hi = [Message(role="user", content="hi")]
    assert scripted.complete(hi).text == "one"
    with pytest.raises(LLMUnavailable):
        scripted.complete(hi)
    assert scripted.complete(hi).text == "1 messages"
    assert scripted.complete(hi).text == "HI"
    assert scripted.history == [hi] * 4


def test_a_scripted_model_gives_each_answer_once_to_many_threads() -> None:
    scripted = ScriptedLLM()
    scripted.enqueue(*map(str, range(200)))
    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(lambda _: scripted.complete(ASK).text, range(200)))
    assert sorted(given, key=int) == list(map(str, range(200)))


# The server itself, as benchmarks use it.


def test_the_server_streams(server: OpenAIServer) -> None:
    import openai

    client = openai.OpenAI(base_url=server.base_url, api_key="x")
    stream = client.chat.completions.create(
        model="test", messages=[{"role": "user", "content": "[1] Hello there"}], stream=True
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    assert text == "- fact: Hello there [1]"
    client.close()


def test_the_server_embeds_like_texts_alike(server: OpenAIServer) -> None:
    import openai

    client = openai.OpenAI(base_url=server.base_url, api_key="x")
    texts = ["postgres for billing", "billing on postgres", "a walk by the sea"]
    data = client.embeddings.create(model="test", input=texts, encoding_format="float").data
    vectors = [item.embedding for item in data]
    near, far = (sum(a * b for a, b in zip(vectors[0], vectors[i], strict=True)) for i in (1, 2))
    assert near > far
    assert [model.id for model in client.models.list()] == ["test"]
    client.close()


def test_the_server_spreads_its_twelve_lines_over_the_items(server: OpenAIServer) -> None:
    items = "\n".join(f"[F{n}] item number {n}" for n in range(1, 101))
    lines = model(server).complete([Message(role="user", content=items)]).text.splitlines()
    assert len(lines) == 12
    assert lines[0].endswith("[F1]")
    assert lines[-1] == "- fact: item number 92 [F92]"


def test_the_server_changes_its_mode_by_request(server: OpenAIServer) -> None:
    address = server.base_url.removesuffix("/v1") + "/mode"
    request = urllib.request.Request(address, data=b'{"mode": "500"}', method="POST")
    with urllib.request.urlopen(request) as response:
        assert json.load(response)["mode"] == "500"
    with pytest.raises(LLMUnavailable):
        model(server).complete(ASK)

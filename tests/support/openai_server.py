"""A local OpenAI-compatible server for tests and benchmarks: python -m tests.support.openai_server --port 9999.

In mode "ok" it summarises like an obedient small model: at most 12 lines ``- fact: … [n]``, taken
from the numbered items of the last user message. Other modes simulate failures of endpoints.
"""

import argparse
import hashlib
import json
import math
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

MODES = ("ok", "500", "429", "hang", "empty", "garbage", "401", "400", "badjson", "echo", "break-off", "mid-error")
MAX_LINES = 12
MAX_WORDS = 20
DIMENSIONS = 64
HANG_SECONDS = 3600

_ITEM = re.compile(r"^\[(F?\d+)\] ?", re.M)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])|\n")
_ERRORS = {
    "500": (500, "The server had an error"),
    "429": (429, "Rate limit reached"),
    "401": (401, "Incorrect API key provided"),
    "400": (400, "This model's maximum context length is exceeded"),
}


def answer(messages: list[dict[str, Any]]) -> str:
    """Well-formed lines spread over the numbered items of the last user message, or ``- nothing``."""
    users = [str(message.get("content") or "") for message in messages if message.get("role") == "user"]
    prompt = users[-1] if users else ""
    items = numbered(prompt[max(0, prompt.find("<<<data")) :])  # not what came before the new talk
    chosen = [items[index * len(items) // MAX_LINES] for index in range(MAX_LINES)] if len(items) > MAX_LINES else items
    lines = [f"- fact: {sentence} [{label}]" for label, text in chosen if (sentence := first_sentence(text))]
    return "\n".join(lines) or "- nothing"


def numbered(text: str) -> list[tuple[str, str]]:
    """The items that begin with ``[1] …`` or ``[F1] …`` at the start of a line; each ends at the next label."""
    starts = list(_ITEM.finditer(text))
    ends = [*(match.start() for match in starts[1:]), len(text)]
    return [(match[1], text[match.end() : end].strip()) for match, end in zip(starts, ends, strict=False)]


def first_sentence(text: str) -> str:
    """Up to MAX_WORDS words of the first sentence with a letter or digit."""
    sentences = (part.strip() for part in _SENTENCE_END.split(text))
    first = next((part for part in sentences if any(map(str.isalnum, part))), "")
    return " ".join(first.split()[:MAX_WORDS])


def embedding(text: str) -> list[float]:
    """A deterministic hashing vector of unit length: texts that share words are near each other."""
    vector = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.casefold()):
        digest = hashlib.blake2b(word.encode(), digest_size=4).digest()
        vector[digest[0] % DIMENSIONS] += 1.0 if digest[1] % 2 else -1.0
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


class OpenAIServer:
    """Listens on 127.0.0.1; ``mode``, ``delay`` (seconds), ``retry_after`` and ``answer`` may change at any time.

    Streamed answers are sent word by word, each after ``pace`` seconds. In mode "break-off" the stream ends after half
    of the words; in mode "mid-error" it sends an error then.

    With ``context`` (approximate tokens), longer prompts are rejected, as endpoints do.

    ``calls`` counts requests for answers and embeddings; ``requests`` keeps the last bodies.
    """

    def __init__(self, *, port: int = 0, mode: str = "ok", delay: float = 0.0, keep: int = 100) -> None:
        self.mode = mode
        self.delay = delay
        self.retry_after = ""
        self.answer: Callable[[list[dict[str, Any]]], str] = answer
        self.context = 0
        self.usage = True
        self.pace = 0.0
        self.calls = 0
        self.requests: deque[dict[str, Any]] = deque(maxlen=keep)
        self.keys: deque[str] = deque(maxlen=keep)
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._http = _Server(("127.0.0.1", port), _Handler)
        self._http.owner = self

    @property
    def base_url(self) -> str:
        """The base URL for OpenAI clients."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()

    def serve(self) -> None:
        """Serve until stopped."""
        self._http.serve_forever(poll_interval=0.05)

    def before_piece(self) -> None:
        """Wait for the delay of the next piece of a streamed answer."""
        self.stopping.wait(self.pace)

    def record(self, body: dict[str, Any], key: str) -> None:
        """Count a call, and keep its body and API key."""
        with self._lock:
            self.calls += 1
            self.requests.append(body)
            self.keys.append(key)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    owner: OpenAIServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnected, as in tests of time-outs."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            self._json(200, {"object": "list", "data": [{"id": "test", "object": "model", "owned_by": "tests"}]})
        else:
            self._error(404, f"Unknown path {self.path}")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        routes = {
            "/v1/chat/completions": self._chat,
            "/v1/embeddings": self._embeddings,
            "/mode": self._mode,
        }
        route = routes.get(self.path)
        if route is None:
            self._error(404, f"Unknown path {self.path}")
        else:
            route(body)

    def _mode(self, body: dict[str, Any]) -> None:
        owner = self.server.owner
        if body.get("mode", owner.mode) not in MODES:
            self._error(400, f"Unknown mode; one of {', '.join(MODES)}")
            return
        owner.mode = body.get("mode", owner.mode)
        owner.delay = float(body.get("delay", owner.delay))
        owner.pace = float(body.get("pace", owner.pace))
        owner.retry_after = str(body.get("retry_after", owner.retry_after))
        self._json(200, {"mode": owner.mode, "delay": owner.delay, "calls": owner.calls})

    def _chat(self, body: dict[str, Any]) -> None:
        if self._fails(body):
            return
        text = {"empty": "", "garbage": "I would rather talk about the weather today."}.get(self.server.owner.mode)
        messages = body.get("messages", [])
        text = self.server.owner.answer(messages) if text is None else text
        usage = {
            "prompt_tokens": sum(len(str(message.get("content"))) for message in messages) // 4 + 1,
            "completion_tokens": len(text) // 4 + 1,
        }
        usage["total_tokens"] = sum(usage.values())
        if body.get("stream"):
            self._stream(body, text, usage)
        else:
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self._json(200, self._head(body, "chat.completion") | {"choices": [choice]} | self._usage(usage))

    def _usage(self, usage: dict[str, int]) -> dict[str, Any]:
        return {"usage": usage} if self.server.owner.usage else {}

    def _embeddings(self, body: dict[str, Any]) -> None:
        if self._fails(body):
            return
        inputs = body.get("input", [])
        texts = [inputs] if isinstance(inputs, str) else inputs
        data = [
            {"object": "embedding", "index": index, "embedding": embedding(str(text))}
            for index, text in enumerate(texts)
        ]
        count = sum(len(str(text)) for text in texts) // 4 + 1
        usage = {"prompt_tokens": count, "total_tokens": count}
        self._json(200, {"object": "list", "model": body.get("model", "test"), "data": data, "usage": usage})

    def _fails(self, body: dict[str, Any]) -> bool:
        """Record the call, wait for the configured delay, and answer with the mode's error if it has one."""
        owner = self.server.owner
        owner.record(body, (self.headers.get("Authorization") or "").removeprefix("Bearer "))
        mode = owner.mode
        owner.stopping.wait(HANG_SECONDS if mode == "hang" else owner.delay)
        size = sum(len(str(message.get("content"))) for message in body.get("messages", [])) // 4
        if mode in _ERRORS:
            self._error(*_ERRORS[mode])
        elif owner.context and size > owner.context:
            self._error(400, f"This model's maximum context length is {owner.context} tokens; you sent {size}.")
            return True
        elif mode == "echo":
            self._error(400, f"Invalid request: cannot read {json.dumps(body.get('messages') or body.get('input'))}")
        elif mode == "badjson":
            self._send(200, b'{"choices": [{"mess', "application/json")
        return mode in (*_ERRORS, "badjson", "echo", "hang")

    def _head(self, body: dict[str, Any], kind: str) -> dict[str, Any]:
        model = body.get("model", "test")
        return {"id": f"chatcmpl-{self.server.owner.calls}", "object": kind, "created": 0, "model": model}

    def _stream(self, body: dict[str, Any], text: str, usage: dict[str, int]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        deltas = list(_deltas(text))
        fails = self.server.owner.mode in ("break-off", "mid-error")
        for delta, finish in deltas[: len(deltas) // 2] if fails else deltas:
            self.server.owner.before_piece()
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            self._event(self._head(body, "chat.completion.chunk") | {"choices": [choice]})
        self.close_connection = True
        if fails:
            if self.server.owner.mode == "mid-error":
                self._event({"error": {"message": "The server had an error", "code": 500}})
            return
        if self.server.owner.usage and (body.get("stream_options") or {}).get("include_usage"):
            self._event(self._head(body, "chat.completion.chunk") | {"choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, data: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def _json(self, status: int, data: dict[str, Any]) -> None:
        self._send(status, json.dumps(data).encode(), "application/json")

    def _error(self, status: int, message: str) -> None:
        self._json(status, {"error": {"message": message, "type": "test_error", "code": None}})

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if status == 429 and self.server.owner.retry_after:
            self.send_header("Retry-After", self.server.owner.retry_after)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: requests contain chat text."""


def _deltas(text: str) -> Iterator[tuple[dict[str, str], str | None]]:
    yield {"role": "assistant", "content": ""}, None
    for word in re.findall(r"\S+\s*|\s+", text):
        yield {"content": word}, None
    yield {}, "stop"


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=9999)
    parser.add_argument("--mode", choices=MODES, default="ok")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()
    server = OpenAIServer(port=options.port, mode=options.mode, delay=options.delay)
    print(f"Listening on {server.base_url}", flush=True)
    try:
        server.serve()
    except KeyboardInterrupt:
        print(f"Answered {server.calls} calls at {time.strftime('%H:%M:%S')}")


if __name__ == "__main__":
    main()

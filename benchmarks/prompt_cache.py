"""How much of an agent's prompts a provider has cached, through the gateway beside straight to the upstream.

    python -m benchmarks.prompt_cache --questions 20

A conversation about a project with the sample's memory. Each question is followed by three calls of a tool with long
results. A provider has cached what a prompt has in common with an earlier one, from its beginning.
"""

import argparse
import json
import tempfile
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

from tests.support.gateway_site import Gateway, gateway
from tests.support.upstream_events import ModelAnswer

from .gateway_load import QUESTIONS, prepare
from .measuring import Measurement, show

CALLS = 3
RESULT = "2026-05-08 13:56:00 INFO worker 7 invoice 1234 of clinic Paywright was written\n" * 60
TOOL = {"type": "function", "function": {"name": "read_log", "parameters": {"type": "object", "properties": {}}}}
Messages = list[dict[str, Any]]


def answer(body: dict[str, Any]) -> ModelAnswer:
    """Calls of the tool, then an answer."""
    since = [*takewhile(lambda message: message["role"] != "user", reversed(body["messages"]))]
    results = sum(message["role"] == "tool" for message in since)
    return (
        ModelAnswer("", ("read_log", "{}"))
        if results < CALLS
        else ModelAnswer("Three logs say that the invoices were written.")
    )


def converse(served: Gateway, key: str, questions: int) -> list[tuple[Messages, Messages]]:
    """The messages of each request, as the client sent them and as the upstream got them."""
    messages, requests = [{"role": "system", "content": "You are an agent. " * 200}], []
    for number in range(questions):
        messages.append({"role": "user", "content": f"{QUESTIONS[number % len(QUESTIONS)]} Step {number}."})
        while messages[-1]["role"] != "assistant":
            body = {"model": "small", "messages": messages, "tools": [TOOL]}
            status, _, raw = served.post("/v1/chat/completions", body, Authorization=f"Bearer {key}")
            assert status == 200, raw
            requests.append((list(messages), served.upstream.seen[-1].body["messages"]))
            message = json.loads(raw)["choices"][0]["message"]
            messages.append(message)
            for call in message.get("tool_calls") or ():
                messages.append(
                    {"role": "tool", "tool_call_id": call["id"], "content": f"Log {len(messages)}\n{RESULT}"}
                )
    return requests


def cached_share(prompts: list[Messages]) -> tuple[float, int]:
    """The share of all characters that stood at the same place in the prompt before, and how many did not."""
    texts = [json.dumps(messages) for messages in prompts]
    cached = sum(_common(before, text) for before, text in pairwise(texts))
    whole = sum(map(len, texts))
    return cached / whole, whole - cached


def _common(one: str, other: str) -> int:
    return next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))


def measure(questions: int) -> list[Measurement]:
    """One conversation, seen from both sides."""
    with tempfile.TemporaryDirectory() as folder, gateway(Path(folder), DEBUG="false", SECRET_KEY="x" * 50) as served:
        served.upstream.answer = answer
        requests = converse(served, prepare(served), questions)
    (straight, read), (through, read_through) = (cached_share([pair[side] for pair in requests]) for side in (0, 1))
    noted = sum("perhaps relevant" in str(message["content"]) for message in requests[-1][1])
    return [
        Measurement("questions, of those with notes in the last prompt", f"{questions}, {noted}"),
        Measurement("cached share, straight / through the gateway", f"{straight:.3f} / {through:.3f}"),
        Measurement("through the gateway / straight", f"{through / straight:.3f}", "≥ .975"),
        Measurement("characters read anew, straight / through", f"{read:,} / {read_through:,}"),
    ]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=20)
    show("Prompt cache", measure(parser.parse_args().questions))


if __name__ == "__main__":
    main()

"""Compacting a chat of 100,000 tokens: parts in parallel beside one after another; progress never decreases.

Command: python -m benchmarks compacting

A model that takes two seconds for each call, concurrency 4 and 1 alternately. The model notes marked sentences of its prompt
and nothing else. Its server runs in the same process, so its work counts as ours. Time that is not spent waiting for the
model is spent on reading the chat, mostly on masking it, at either concurrency.
"""

import threading
import time
from dataclasses import dataclass
from typing import Any

from memorybank import services
from memorybank.compaction.lease import Progress
from memorybank.models import Checkpoint
from tests.support import long_chats
from tests.support.openai_server import OpenAIServer

from . import scratch, seeding
from .measuring import Measurement, seconds, show

CHAT_TOKENS, WINDOW_TOKENS, CALL_SECONDS, MAX_PARALLEL_CALLS = 100_000, 32_000, 2.0, 4


class Counting(OpenAIServer):
    """Knows how many calls were under way at once, at most."""

    def __init__(self) -> None:
        super().__init__(delay=CALL_SECONDS, keep=500)
        self.answer = self._noted
        self.under_way = self.most = 0
        self._counting = threading.Lock()

    def record(self, body: dict[str, Any], key: str) -> None:
        super().record(body, key)
        with self._counting:
            self.under_way += 1
            self.most = max(self.most, self.under_way)

    def _noted(self, messages: list[dict[str, Any]]) -> str:
        with self._counting:
            self.under_way -= 1
        return long_chats.model(messages)


@dataclass(frozen=True, slots=True)
class Run:
    """One compaction."""

    seconds: float
    cpu: float
    calls: int
    most: int
    steps: list[Progress]
    made: Checkpoint


def measure() -> list[Measurement]:
    """The same chat, its parts one at a time and together."""
    in_turn, together = _compact(1), _compact(MAX_PARALLEL_CALLS)
    percents = [step.percent for step in together.steps]
    stages = " ".join(dict.fromkeys(step.stage for step in together.steps))
    known = sum(answer in together.made.text for *_, answer in long_chats.PLANTED)
    return [
        Measurement("tokens before", f"{together.made.tokens_before:,}", "≈ 100,000"),
        Measurement("tokens after", f"{together.made.tokens_after:,}", f"≤ {WINDOW_TOKENS // 2:,}"),
        Measurement("what was planted and is known", f"{known} of {len(long_chats.PLANTED)}", "all"),
        Measurement("calls", f"{together.calls}"),
        Measurement("calls at the same time, at most", f"{together.most}", f"≤ {MAX_PARALLEL_CALLS}"),
        Measurement("one call at a time, s", f"{in_turn.seconds:.1f}"),
        Measurement(f"{MAX_PARALLEL_CALLS} at a time, s", f"{together.seconds:.1f}"),
        Measurement("processor time of our own, s", f"{together.cpu:.1f}"),
        Measurement("stages", stages),
        Measurement("percent", " ".join(map(str, percents))),
        Measurement("percent goes back", "yes" if percents != sorted(percents) else "no", "no"),
    ]


def _compact(concurrency: int) -> Run:
    with Counting() as server:
        options = {"LLMS": {"chat": scratch.model(server.base_url)["summary"]}, "CONCURRENCY": concurrency}
        with scratch.database(**options):
            bank, steps, made = seeding.bank(), list[Progress](), list[Checkpoint]()
            services.record_many(bank, [*long_chats.turns(CHAT_TOKENS), *long_chats.turns(2_000, chat="first")])
            services.compact_chat(bank, chat_key="first", window=4_000)  # loads the rules and the client
            server.calls, cpu = 0, time.process_time()
            spent = seconds(
                lambda: made.append(
                    services.compact_chat(bank, chat_key="long", window=WINDOW_TOKENS, progress=steps.append)
                )
            )
            return Run(spent, time.process_time() - cpu, server.calls, server.most, steps, made[0])


if __name__ == "__main__":
    show(__doc__.splitlines()[0], measure())

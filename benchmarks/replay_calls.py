"""Model calls of a month: a replay beside the least possible number, and an idle system beside none.

Command: python -m benchmarks replay_calls

3 projects × 20 chats a day × 30 days at a budget of 2,000 tokens. The least possible is one call for each chat, day, week
and month. Targets: at most 1.05 × that number; a second run makes no call and leaves every block byte for byte the same.
"""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta

from memorybank import services
from memorybank.models import Bank, Entry, Granularity, StoredBlock
from memorybank.services import NewOutput
from projects.importing.jsonl import ImportLine
from projects.importing.replay import replay
from tests.support.openai_server import OpenAIServer

from . import scratch, seeding
from .measuring import Measurement, show

PROJECT_COUNT, CHATS_PER_DAY, DAY_COUNT, TURNS_PER_CHAT = 3, 20, 30, 2
BUDGET_TOKENS = 2_000
INTERVAL = timedelta(hours=6)
START = seeding.NOW.replace(hour=8) - timedelta(days=120)


def measure() -> list[Measurement]:
    """One replay and one run after it."""
    with OpenAIServer(keep=1) as server, scratch.database(LLMS=scratch.model(server.base_url)):
        report = replay(list(_lines()), step=INTERVAL, prepare=_prepare)
        calls, least = server.calls, {granularity: _entries(granularity) for granularity in Granularity}
        before = _blocks()
        end = START + timedelta(days=DAY_COUNT, hours=2)
        second = services.run(until_idle=True, now=end)
        same = _blocks() == before
    total = sum(least.values())
    return [
        *(Measurement(f"{granularity.label.lower()} entries", f"{count:,}") for granularity, count in least.items()),
        Measurement("calls made (the server's count)", f"{calls:,}"),
        Measurement("calls / least possible", f"{calls / total:.3f} ×", "≤ 1.05 ×"),
        Measurement("failed", str(report.failed)),
        Measurement("tokens per chat: prompt + completion", _per_chat(report, least[Granularity.CONVERSATION])),
        Measurement("wall clock of memory work, s", f"{report.seconds:.0f}"),
        Measurement("second run: calls", str(second.llm_calls), "0"),
        Measurement("second run: blocks unchanged", "yes" if same else "NO", "yes"),
    ]


def _prepare(bank: Bank, _: datetime) -> None:
    services.configure(bank, actor="benchmark", max_tokens=BUDGET_TOKENS)
    services.enable(bank, actor="benchmark", disclosure_accepted=True)


def _lines() -> Iterator[ImportLine]:
    """Chats of two turns, twenty in a working day of ten hours."""
    draw = random.Random(1)
    for number in range(DAY_COUNT * CHATS_PER_DAY):
        day, place = divmod(number, CHATS_PER_DAY)
        at = START + timedelta(days=day, minutes=30 * place)
        for project in range(PROJECT_COUNT):
            for turn in range(TURNS_PER_CHAT):
                texts = [" ".join(seeding.sentence(draw) for _ in range(3)) for _ in range(2)]
                when = at + timedelta(minutes=turn)
                output = NewOutput(f"chat-{number}", "priya", texts[0], when, texts[1], key=f"{number}-{turn}")
                yield ImportLine(number, "bench", f"project-{project}", output, sum(map(len, texts)))


def _entries(granularity: Granularity) -> int:
    return Entry.objects.filter(granularity=granularity).count()


def _blocks() -> list[str]:
    return list(StoredBlock.objects.order_by("pk").values_list("text", flat=True))


def _per_chat(report: services.RunReport, chats: int) -> str:
    return f"{report.prompt_tokens / chats:,.0f} + {report.completion_tokens / chats:,.0f}"


if __name__ == "__main__":
    show(__doc__.splitlines()[0], measure())

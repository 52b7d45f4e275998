"""Erasing from one bank with a long history: time and queries of each kind of erasure.

Command: python -m benchmarks erasing

The history was recorded and summarised without a model, and rolled up. Each erasure is carried out: rows are deleted,
digests are stripped, and the block is rendered again.
"""

import random
from datetime import timedelta
from functools import partial
from statistics import median

from memorybank import services
from memorybank.models import Bank, Chat, Fact, Output

from . import scratch, seeding
from .measuring import Measurement, queries, seconds, show

CHAT_COUNT, TURNS_PER_CHAT = 80, 6
REPETITIONS = 15


def measure() -> list[Measurement]:
    """Medians over chats, turns and lines of digests, oldest first; then a person who spoke in every chat."""
    with scratch.database():
        bank = _bank()
        rows = [Measurement("facts", f"{bank.facts.count():,}")]
        rows += _rows("a chat", [{"chat": chat.key} for chat in bank.chats.order_by("pk")[: REPETITIONS + 1]], bank)
        turns = Output.objects.filter(chat__bank=bank).order_by("pk")[
            : TURNS_PER_CHAT * (REPETITIONS + 1) : TURNS_PER_CHAT
        ]
        rows += _rows("a turn", [{"output": turn.pk} for turn in turns], bank)
        lines = Fact.objects.filter(bank=bank).order_by("pk")[200 : 200 + 20 * (REPETITIONS + 1) : 20]
        rows += _rows("a line", [{"facts": [line.pk]} for line in lines], bank)
        return rows + _rows("a person", [{"author": name} for name in seeding.SPEAKERS[:2]], bank)


def _bank() -> Bank:
    """One chat an hour, and everything that is ripe rolled up."""
    bank, draw = seeding.bank(), random.Random(1)
    for chat in range(CHAT_COUNT):
        for turn in range(TURNS_PER_CHAT):
            at = seeding.NOW - timedelta(hours=CHAT_COUNT - chat) + timedelta(minutes=turn)
            fields = {"question": seeding.sentence(draw, 25), "answer": seeding.sentence(draw, 25)}
            author = draw.choice(seeding.SPEAKERS)
            services.record(bank, chat_key=f"chat-{chat:04}", author=author, created_at=at, now=at, **fields)
    services.run(now=seeding.NOW + timedelta(days=40), until_idle=True)
    assert not Chat.objects.filter(bank=bank, pending_outputs__gt=0).exists()
    return Bank.objects.get(pk=bank.pk)


def _rows(what: str, named: list[dict[str, object]], bank: Bank) -> list[Measurement]:
    erasures = [partial(services.erase, bank, actor="benchmark", now=seeding.NOW, **name) for name in named]
    queries_made = queries(erasures.pop())
    times = [seconds(erasure) * 1000 for erasure in erasures]
    return [Measurement(f"{what}: ms", f"{median(times):.0f}"), Measurement(f"{what}: queries", str(queries_made))]


if __name__ == "__main__":
    show(__doc__.splitlines()[0], measure())

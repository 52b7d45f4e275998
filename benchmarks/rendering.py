"""Rendering a block outside of the chat path: 2,500 facts beside 160,000.

Command: python -m benchmarks rendering

Targets: at most 100 ms for 10,000 facts at 2,000 tokens, and at 160,000 facts no more than 1.5 × the time for 2,500.
"""

from functools import partial

from django.db import connection

from memorybank import conf
from memorybank.core.memory_line import PackedBlock
from memorybank.core.packing.block import pack
from memorybank.core.packing.pool import Pool
from memorybank.models import Bank
from memorybank.reading import candidates, rendering
from memorybank.reading.candidates import Candidates

from . import scratch, seeding
from .measuring import Measurement, interleaved_ms, queries, show

FACT_COUNTS = (2_500, 10_000, 160_000)
FACTS_PER_CHAT = 10
BUDGET_TOKENS = 2_000
REPETITIONS = 9


def measure() -> list[Measurement]:
    """Load, pack and the whole, the sizes in turns."""
    with scratch.database():
        banks = [_bank(size) for size in FACT_COUNTS]
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        loads = interleaved_ms([partial(candidates.load, bank) for bank in banks], REPETITIONS)
        packs = interleaved_ms([partial(_pack, candidates.load(bank)) for bank in banks], REPETITIONS)
        wholes = interleaved_ms([partial(rendering.render, bank, budget=BUDGET_TOKENS) for bank in banks], REPETITIONS)
        rows = [row for bank, *times in zip(banks, loads, packs, wholes, strict=True) for row in _rows(bank, *times)]
    return [*rows, Measurement("largest / smallest: render", f"{wholes[-1] / wholes[0]:.2f} ×", "≤ 1.5 ×")]


def _bank(size: int) -> Bank:
    bank = seeding.bank()
    seeding.fill(bank, chats=size // FACTS_PER_CHAT, facts=FACTS_PER_CHAT)
    return bank


def _pack(memory: Candidates) -> PackedBlock:
    """As for a first block, from a pool of its own."""
    pool = Pool(memory.candidates, conf.current().encoding, memory.stable_before)
    return pack(pool, BUDGET_TOKENS)


def _rows(bank: Bank, load: float, pack: float, whole: float) -> list[Measurement]:
    render = partial(rendering.render, bank, budget=BUDGET_TOKENS)
    size = f"{bank.facts.exclude(entry__chat=None).count():,} facts"
    return [
        Measurement(f"{size}: load, ms", f"{load:.0f}"),
        Measurement(f"{size}: pack, ms", f"{pack:.0f}"),
        Measurement(f"{size}: render, ms", f"{whole:.0f}", "≤ 100"),
        Measurement(f"{size}: queries", str(queries(render))),
        Measurement(f"{size}: budget used", f"{render().tokens / BUDGET_TOKENS:.3f}", "≥ .98"),
    ]


if __name__ == "__main__":
    show(__doc__.splitlines()[0], measure())

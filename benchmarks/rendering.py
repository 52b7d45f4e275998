"""Rendering a bank off the chat path: reading its facts, and packing them into the budget.

Target: at most 100 ms for 10,000 facts at 2,000 tokens.
"""

from functools import partial

from memorybank import candidates, packing, rendering
from memorybank.models import Bank

from . import scratch, seeding
from .measuring import Measurement, median_ms, queries, show

SIZES = (1_000, 10_000)
FACTS_PER_CHAT = 10
BUDGET = 2_000
TIMES = 5


def measure() -> list[Measurement]:
    """Load, pack and the whole, for each size."""
    rows: list[Measurement] = []
    with scratch.database():
        for size in SIZES:
            bank = seeding.bank()
            seeding.fill(bank, chats=size // FACTS_PER_CHAT, facts=FACTS_PER_CHAT)
            rows += _measured(bank, size)
    return rows


def _measured(bank: Bank, size: int) -> list[Measurement]:
    memory = candidates.load(bank)
    whole = partial(rendering.render, bank, budget=BUDGET)
    used = whole().tokens
    return [
        Measurement(f"{size:,} facts: load, ms", f"{median_ms(partial(candidates.load, bank), TIMES):.0f}"),
        Measurement(
            f"{size:,} facts: pack, ms", f"{median_ms(partial(packing.pack, memory.candidates, BUDGET), TIMES):.0f}"
        ),
        Measurement(
            f"{size:,} facts: render, ms", f"{median_ms(whole, TIMES):.0f}", "≤ 100" if size == SIZES[-1] else ""
        ),
        Measurement(f"{size:,} facts: queries", str(queries(whole))),
        Measurement(f"{size:,} facts: budget used", f"{used / BUDGET:.3f}", "≥ .98"),
    ]


if __name__ == "__main__":
    show(__doc__.splitlines()[0], measure())

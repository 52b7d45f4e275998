"""Adding memory to a prompt: queries and time for a bank of 100 entries beside one of 10,000.

Command: python -m benchmarks chat_path

Targets: at most 2 queries and 5 ms (median) at both sizes, also for a chat whose own lines stand in the block. Its first
read of a new block drops these lines and fills their place from the reserve; nothing is rendered.
"""

from functools import partial

from memorybank import services
from memorybank.indexing import block_writer
from memorybank.models import Bank

from . import scratch, seeding
from .measuring import Measurement, interleaved_ms, queries, show

ENTRY_COUNTS = (0, 100, 1_000, 10_000)
REPETITIONS = 400


def measure() -> list[Measurement]:
    """Medians over many reads, the sizes in turns."""
    with scratch.database():
        banks = [_bank(size) for size in ENTRY_COUNTS]
        empty, *full = interleaved_ms(
            [partial(services.prompt_memory, bank, chat_key="new") for bank in banks], REPETITIONS
        )
        own = [partial(services.prompt_memory, bank, chat_key=_shown(bank)) for bank in banks[1:]]
        return [
            Measurement("empty project, ms", f"{empty:.3f}"),
            *_rows("a chat that is not shown", full),
            *_rows("a chat that is shown", interleaved_ms(own, REPETITIONS)),
            Measurement("queries, at most", str(max(map(queries, own))), "≤ 2"),
        ]


def _bank(size: int) -> Bank:
    bank = seeding.bank()
    if size:
        seeding.fill(bank, chats=size, facts=2)
    block_writer.refresh(bank.pk, now=seeding.NOW)
    bank.refresh_from_db()
    return bank


def _shown(bank: Bank) -> str:
    return services.prompt_memory(bank).block.chats[-1]


def _rows(who: str, times: list[float]) -> list[Measurement]:
    sizes = zip(ENTRY_COUNTS[1:], times, strict=True)
    return [
        *(Measurement(f"{who}, {size:,} entries, ms", f"{ms:.3f}", "≤ 5") for size, ms in sizes),
        Measurement(f"{who}: largest / smallest", f"{max(times) / min(times):.2f} ×", "≤ 1.3 ×"),
    ]


if __name__ == "__main__":
    show(__doc__.splitlines()[0], measure())

"""The chat path: what reading the block costs a chat's prompt, whatever the bank has grown to.

Targets: flat within 1.3 × from 100 to 10,000 entries, at most 2 queries, at most 1 ms (median) more
than in an empty project. A chat whose own lines are in the block gets a variant without them, which
is rendered at its first read of a new block and read like the block itself from then on.
"""

from functools import partial

from memorybank import rendering, services
from memorybank.models import Bank

from . import scratch, seeding
from .measuring import Measurement, interleaved_ms, queries, seconds, show

SIZES = (0, 100, 1_000, 10_000)
TIMES = 400


def measure() -> list[Measurement]:
    """Medians over many reads, the sizes in turns."""
    with scratch.database():
        banks = [_bank(size) for size in SIZES]
        return [*_others(banks), *_own(banks[1:])]


def _bank(size: int) -> Bank:
    bank = seeding.bank()
    if size:
        seeding.fill(bank, chats=size, facts=2)
    rendering.refresh(bank.pk)
    bank.refresh_from_db()
    return bank


def _others(banks: list[Bank]) -> list[Measurement]:
    """A chat that is not in the block: the case of nearly every prompt."""
    reads = [partial(services.prompt_block, bank.pk, chat_key="somebody-new") for bank in banks]
    empty, *full = interleaved_ms(reads, TIMES)
    return [
        Measurement("empty project, ms", f"{empty:.3f}"),
        *(Measurement(f"{size:,} entries, ms", f"{ms:.3f}") for size, ms in zip(SIZES[1:], full, strict=True)),
        Measurement("largest / smallest filled bank", f"{max(full) / min(full):.2f} ×", "≤ 1.3 ×"),
        Measurement("more than an empty project, ms", f"{max(full) - empty:.3f}", "≤ 1"),
        Measurement("queries", str(max(queries(read) for read in reads)), "≤ 2"),
    ]


def _own(banks: list[Bank]) -> list[Measurement]:
    """A chat whose own lines are in the block."""
    reads = [partial(services.prompt_block, bank.pk, chat_key=bank.block_chats[-1]) for bank in banks]
    first = [seconds(read) * 1000 for read in reads]
    later = interleaved_ms(reads, TIMES)
    return [
        *(
            Measurement(f"own lines, first read at {size:,}, ms", f"{ms:.1f}")
            for size, ms in zip(SIZES[1:], first, strict=True)
        ),
        *(
            Measurement(f"own lines, later reads at {size:,}, ms", f"{ms:.3f}")
            for size, ms in zip(SIZES[1:], later, strict=True)
        ),
        Measurement("own lines, later: largest / smallest", f"{max(later) / min(later):.2f} ×", "≤ 1.3 ×"),
        Measurement("own lines, later: queries", str(max(queries(read) for read in reads)), "≤ 2"),
    ]


if __name__ == "__main__":
    show(__doc__.splitlines()[0], measure())

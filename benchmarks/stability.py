"""How much of the block stays the same after one more chat, so that a provider's prompt cache still hits.

Command: python -m benchmarks stability

A log is replayed chat by chat; after each chat the new block is compared with the one before: bytes of their common prefix
over the bytes of the longer one. Target: median ≥ .80 at 2,000 tokens. Blocks that do not fill the budget yet only grow, so
full blocks are listed apart.
"""

import argparse
import os
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from pathlib import Path

from memorybank import services
from projects.importing import demo
from projects.importing.jsonl import ImportLine
from projects.importing.service import ProjectCache, record_lines

from . import scratch
from .measuring import Measurement, show
from .quality import read_log

BUDGET_TOKENS = 2_000
#: A block is full from this share of the budget on.
FULL_SHARE = 0.92
#: Idle long enough to be summarised.
IDLE = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class Change:
    """What one chat did to the block: the share that stayed, and whether the block was full before."""

    kept: float
    was_full: bool


def measure(log: Path | None = None, budget: int = BUDGET_TOKENS, *, transcript: bool = False) -> list[Measurement]:
    """Medians over all chats of all projects, and the worst tenth."""
    lines = read_log(log, transcript=transcript) if log else demo.load_sample()
    rows = []
    with scratch.database():
        changes = [change for chats in _by_project(lines) for change in _replay(chats, budget)]
    full = [change.kept for change in changes if change.was_full]
    rows.append(Measurement("chats added", f"{len(changes):,} ({len(full):,})"))
    rows.append(_row("all blocks", [change.kept for change in changes]))
    if full:
        rows += [_row("full blocks", full), Measurement("full blocks: worst tenth below", f"{_tenth(full):.2f}")]
    return rows


def _row(what: str, shares: Sequence[float]) -> Measurement:
    return Measurement(f"{what}: median share unchanged", f"{statistics.median(shares):.2f}", "≥ .80")


def _tenth(shares: Sequence[float]) -> float:
    return sorted(shares)[len(shares) // 10]


def _by_project(lines: Sequence[ImportLine]) -> Iterator[list[list[ImportLine]]]:
    """Each project's chats, in the order in which they ended."""

    def chat(line: ImportLine) -> tuple[str, str]:
        return line.path, line.output.chat_key

    ordered = sorted(lines, key=lambda line: (*chat(line), line.output.created_at, line.number))
    chats = [list(group) for _, group in groupby(ordered, key=chat)]
    chats.sort(key=lambda group: (group[0].path, group[-1].output.created_at, group[-1].number))
    for _, project in groupby(chats, key=lambda group: group[0].path):
        yield list(project)


def _replay(chats: Sequence[list[ImportLine]], budget: int) -> Iterator[Change]:
    """Add the chats one by one; what each did to a block that was not empty."""
    projects = ProjectCache()
    bank = projects.at(chats[0][0]).bank
    services.configure(bank, actor="benchmark", max_tokens=budget)
    services.enable(bank, actor="benchmark", disclosure_accepted=True)
    before, tokens = "", 0
    for chat in chats:
        now = chat[-1].output.created_at + IDLE
        for line in chat:
            record_lines(projects, [line], now=now)
        services.run(bank=bank, until_idle=True, now=now)
        block = services.prompt_memory(bank).block
        after, size = block.text, block.tokens
        if before:
            yield Change(_kept(before, after), tokens >= budget * FULL_SHARE)
        before, tokens = after, size


def _kept(before: str, after: str) -> float:
    old, new = before.encode(), after.encode()  # bytes, because caches hold bytes
    return len(os.path.commonprefix([old, new])) / max(len(old), len(new), 1)


def main() -> None:
    """The benchmark over a log of one's own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=Path, help="JSON Lines in the import format; default: the shipped sample")
    parser.add_argument("--transcript", action="store_true", help="as of import_chats")
    parser.add_argument("--budget", type=int, default=BUDGET_TOKENS)
    options = parser.parse_args()
    show(str(__doc__).splitlines()[0], measure(options.log, options.budget, transcript=options.transcript))


if __name__ == "__main__":
    main()

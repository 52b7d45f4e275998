"""The block at an earlier moment, and the lines that changed between two moments, as plain values for templates."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from memorybank import services
from memorybank.services import Bank, BlockLineVersion

#: Maximum number of changes listed at once, the latest first.
MAX_CHANGES_SHOWN = 20
CLOCK_RESOLUTION = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Difference:
    """Lines that differ between two moments of a block. ``reworded`` are pairs (old, new)."""

    removed: list[BlockLineVersion]
    added: list[BlockLineVersion]
    reworded: list[tuple[BlockLineVersion, BlockLineVersion]]

    @property
    def counts(self) -> tuple[int, int]:
        """The number of lines added, and of lines removed."""
        return len(self.added) + len(self.reworded), len(self.removed) + len(self.reworded)


@dataclass(frozen=True, slots=True)
class BlockChange:
    """A moment at which the block changed, with the number of lines added and removed."""

    at: datetime
    added: int
    removed: int

    @property
    def query(self) -> str:
        return urlencode({"change": self.at.isoformat()})


def lines_at(bank: Bank, moment: datetime, *, include_hidden: bool) -> list[BlockLineVersion]:
    """The lines of that moment. ``include_hidden`` is for readers who may see hidden and edited lines."""
    return _readable(bank, services.block_lines_at(bank, moment), include_hidden=include_hidden)


def without_past_ends(bank: Bank, lines: list[BlockLineVersion], now: datetime) -> list[BlockLineVersion]:
    """These lines, without the end of those that say what the block says ``now``: they left it only for a while."""
    current = {_said(line) for line in services.block_lines_at(bank, now)}
    for line in lines:
        line.until = None if _said(line) in current else line.until
    return lines


def _readable(bank: Bank, lines: Iterable[BlockLineVersion], *, include_hidden: bool) -> list[BlockLineVersion]:
    lines = list(lines)
    if include_hidden:
        return lines
    restricted = services.restricted_fact_ids(bank, {fact for line in lines for fact in line.facts})
    # A line of the current block contains nothing restricted, even if some of its facts are.
    return [line for line in lines if line.until is None or restricted.isdisjoint(line.facts)]


def difference(before: Sequence[BlockLineVersion], after: Sequence[BlockLineVersion]) -> Difference:
    """The difference between the lines of two moments. A line that was only moved, rolled up or pinned is unchanged."""
    old_texts, new_texts = {_said(line) for line in before}, {_said(line) for line in after}
    removed = [line for line in before if _said(line) not in new_texts]
    added = [line for line in after if _said(line) not in old_texts]
    reworded = []
    for new in list(added):
        old = next((line for line in removed if not line.digest and line.facts[0] in new.facts), None)
        if old and not new.digest:
            removed.remove(old)
            added.remove(new)
            reworded.append((old, new))
    return Difference(removed, added, reworded)


def change_at(bank: Bank, moment: datetime, *, include_hidden: bool) -> Difference:
    before = lines_at(bank, moment - CLOCK_RESOLUTION, include_hidden=include_hidden)
    return difference(before, lines_at(bank, moment, include_hidden=include_hidden))


def latest(
    bank: Bank, before: datetime | None = None, *, include_hidden: bool
) -> tuple[list[BlockChange], datetime | None]:
    """The latest changes, or those before a moment; and the moment before which there are older ones, if there are."""
    times = services.block_changes(bank, MAX_CHANGES_SHOWN + 1, before=before)
    shown = times[:MAX_CHANGES_SHOWN]
    changes = list(changes_at(bank, shown, include_hidden=include_hidden).values())
    return changes, shown[-1] if len(times) > MAX_CHANGES_SHOWN else None


def changes_at(bank: Bank, times: Collection[datetime], *, include_hidden: bool) -> dict[datetime, BlockChange]:
    """The changes at these moments, without moments that have none; the first known block is not a change."""
    first, lines = services.block_known_from(bank), services.block_lines_changed(bank, times)
    added: dict[datetime, list[BlockLineVersion]] = defaultdict(list)
    removed: dict[datetime, list[BlockLineVersion]] = defaultdict(list)
    for line in _readable(bank, lines, include_hidden=include_hidden):
        added[line.since].append(line)
        if line.until:
            removed[line.until].append(line)
    counts = {time: difference(removed[time], added[time]).counts for time in times if time != first}
    return {time: BlockChange(time, *lines) for time, lines in counts.items() if any(lines)}


def _said(line: BlockLineVersion) -> tuple[str, str]:
    return line.speaker, line.text

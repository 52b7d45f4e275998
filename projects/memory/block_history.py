"""What the block said at another moment, and what came and went between two: plain rows for the memory page."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from memorybank import services
from memorybank.services import Bank, BlockLineVersion

#: The latest changes of the block that are listed.
MOST = 20
INSTANT = timedelta(microseconds=1)
#: What moves in the block, because it was rolled up or pinned, says the same there.
Words = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """What a block does not say any more, what it says anew, and what it says otherwise (old, new)."""

    gone: list[BlockLineVersion]
    came: list[BlockLineVersion]
    otherwise: list[tuple[BlockLineVersion, BlockLineVersion]]

    @property
    def size(self) -> tuple[int, int]:
        """Lines that came, lines that went."""
        return len(self.came) + len(self.otherwise), len(self.gone) + len(self.otherwise)


@dataclass(frozen=True, slots=True)
class Change:
    """A moment at which the block changed; ``query`` asks the page for the difference."""

    at: datetime
    came: int
    gone: int

    @property
    def query(self) -> str:
        return urlencode({"change": self.at.isoformat()})


def told_at(bank: Bank, moment: datetime, *, all_of_it: bool) -> list[BlockLineVersion]:
    """The lines of that moment which may be read; ``all_of_it`` for who may read what is hidden or was put right."""
    return readable(bank, services.block_lines_at(bank, moment), all_of_it=all_of_it)


def readable(bank: Bank, lines: Iterable[BlockLineVersion], *, all_of_it: bool) -> list[BlockLineVersion]:
    """Those of the lines that may be read."""
    lines = list(lines)
    if all_of_it:
        return lines
    ids = {fact for line in lines for fact in line.facts}
    withheld = services.restricted_facts(bank, ids)
    # What stands in the block says nothing that is withheld, under whatever name.
    return [line for line in lines if line.until is None or withheld.isdisjoint(line.facts)]


def difference(before: Sequence[BlockLineVersion], after: Sequence[BlockLineVersion]) -> Difference:
    """What lies between two moments; a line that moved is none."""
    said, says = {_words(line) for line in before}, {_words(line) for line in after}
    gone = [line for line in before if _words(line) not in says]
    came = [line for line in after if _words(line) not in said]
    otherwise = []
    for new in list(came):
        old = next((line for line in gone if not line.digest and line.facts[0] in new.facts), None)
        if old and not new.digest:
            gone.remove(old)
            came.remove(new)
            otherwise.append((old, new))
    return Difference(gone, came, otherwise)


def change_at(bank: Bank, moment: datetime, *, all_of_it: bool) -> Difference:
    """What changed in this very moment."""
    before = told_at(bank, moment - INSTANT, all_of_it=all_of_it)
    return difference(before, told_at(bank, moment, all_of_it=all_of_it))


def latest(bank: Bank, *, all_of_it: bool) -> list[Change]:
    """The moments at which the block changed last, newest first."""
    return list(counted(bank, services.block_changes(bank, MOST), all_of_it=all_of_it).values())


def counted(bank: Bank, times: Collection[datetime], *, all_of_it: bool) -> dict[datetime, Change]:
    """How many lines came and went in each of these moments, if any did; nothing of the one that it begins with."""
    first, lines = services.block_known_from(bank), services.block_lines_changed(bank, times)
    came: dict[datetime, list[BlockLineVersion]] = defaultdict(list)
    went: dict[datetime, list[BlockLineVersion]] = defaultdict(list)
    for line in readable(bank, lines, all_of_it=all_of_it):
        came[line.since].append(line)
        if line.until:
            went[line.until].append(line)
    found = {}
    for at in times:
        if at != first and any(sizes := difference(went[at], came[at]).size):
            found[at] = Change(at, *sizes)
    return found


def _words(line: BlockLineVersion) -> Words:
    return line.speaker, line.text

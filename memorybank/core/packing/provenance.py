"""A block together with where its lines come from: enough to explain it, and to leave out what one may not see."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memorybank.core.packing.block import HEADER
from memorybank.core.packing.exclusion import reduced
from memorybank.core.packing.values import Line, PackedBlock


@dataclass(frozen=True, slots=True)
class Source:
    """What a fact rests on: the chats whose words it says, by their keys, and their outputs, by id."""

    chats: tuple[str, ...] = ()
    outputs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Sourced:
    """A block, its reserve, and the source of every fact in either."""

    block: PackedBlock = field(default_factory=PackedBlock)
    sources: Mapping[int, Source] = field(default_factory=dict)

    def chats(self) -> list[str]:
        """Keys of the chats whose words the block shows."""
        return sorted({chat for line in self.block.lines for fact in line.ids for chat in self.sources[fact].chats})

    def outputs(self, line: Line) -> tuple[int, ...]:
        """The outputs that a line rests on."""
        return tuple(sorted({output for fact in line.ids for output in self.sources[fact].outputs}))

    def without(
        self,
        budget: int,
        *,
        encoding: str,
        chats: Collection[str] = (),
        facts: Collection[int] = (),
    ) -> "Sourced":
        """Without the words of some chats, without some facts and what rests on them; filled from the reserve.

        A line that stands for several facts stays as long as one of them may be seen.
        """
        if not chats and not facts and self.block.tokens <= budget:
            return self
        gone = {
            fact for fact, source in self.sources.items() if fact in facts or not set(source.chats).isdisjoint(chats)
        }
        block = reduced(self.block, _unless(gone, facts), budget, header=HEADER, encoding=encoding)
        return Sourced(block, {fact: source for fact, source in self.sources.items() if fact not in gone})

    def as_json(self) -> dict[str, Any]:
        """For a JSON column; the text and its tokens have columns of their own."""
        return {
            "lines": [_row(line) for line in self.block.lines],
            "reserve": [_row(line) for line in self.block.reserve],
            "sources": [[fact, source.chats, source.outputs] for fact, source in sorted(self.sources.items())],
        }

    @classmethod
    def from_json(cls, text: str, tokens: int, data: Mapping[str, Any]) -> "Sourced":
        """What :meth:`as_json` gave."""
        lines, reserve = (tuple(_line(row) for row in data.get(part, ())) for part in ("lines", "reserve"))
        sources = {fact: Source(tuple(chats), tuple(outputs)) for fact, chats, outputs in data.get("sources", ())}
        return cls(PackedBlock(text, tokens, lines, reserve), sources)


def _unless(gone: Collection[int], hidden: Collection[int]) -> Callable[[Line], Line | None]:
    def seen(line: Line) -> Line | None:
        ids = tuple(fact for fact in line.ids if fact not in gone)
        if ids == line.ids and line.restates.isdisjoint(hidden):
            return line
        return line._replace(ids=ids) if ids and line.restates.isdisjoint(hidden) else None

    return seen


def _row(line: Line) -> list[Any]:
    """The fields of a line in their order."""
    return [*line._replace(restates=sorted(line.restates), at=line.at.isoformat())]  # type: ignore[arg-type]


def _line(row: Sequence[Any]) -> Line:
    ids, text, tier, period, label, chat, speaker, restates, at, section, cost = row
    when = datetime.fromisoformat(at)
    return Line(tuple(ids), text, tier, period, label, chat, speaker, frozenset(restates), when, section, cost)

"""A line of memory, from candidate to page: this module alone defines its fields.

A field that ``Fact`` has under the same name is read with the candidates. Every field is kept in stored blocks under
its name. A field that ``BlockLineVersion`` has under the same name is kept in the history. Templates get all fields.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple, Self

from memorybank.core.granularity import Granularity

#: The average tokens that a fact takes in addition to its text: its share of a date and a speaker's name.
LABEL_TOKENS = 3


class Source(NamedTuple):
    """The sources of a fact: keys of chats, and ids of outputs."""

    chats: tuple[str, ...] = ()
    outputs: tuple[int, ...] = ()


class MemoryLine(NamedTuple):
    """A candidate for a block, or a line of one. A tuple, because a bank has tens of thousands; times must be aware."""

    #: The ids of its facts: its own first, then those with the same text. Empty if it was recalled from a turn.
    facts: tuple[int, ...]
    text: str
    said_at: datetime
    speaker: str = ""
    #: The tier of the coarsest digest that has absorbed it, 0 for none; and the period of that digest or conversation.
    tier: int = 0
    period_start: date = date.min
    #: The first words of its paragraph, such as "8 May 2023".
    label: str = ""
    #: The chat or digest that it comes from; its lines are kept together.
    chat: str = ""
    pinned: bool = False
    #: The tokens of its text, without date and speaker; 0: not counted.
    tokens: int = 0
    #: The leaf facts that a digest's line already says.
    restates: frozenset[int] = frozenset()
    #: The sources of each of its facts, in their order; or the turn that it was recalled from.
    sources: tuple[Source, ...] = ()
    #: Its section of the block.
    section: str = ""
    #: Whether it is told in its speaker's name and in quotes.
    is_report: bool = False

    # Only for choosing: the prior weight, 0 to 1; the outputs that a leaf's fact cites; whether it is a quoted sentence
    # and not a model's line; whether it replaced older facts.
    weight: float = 0.5
    turns: frozenset[int] = frozenset()
    detail: bool = True
    replaces: bool = False
    #: The persons who approved it for everybody and who wrote it by hand.
    released_by: str = ""
    edited_by: str = ""
    #: Whether it says how to behave or answer.
    normative: bool = False
    #: How its message is told (see ``Reported``).
    reported: int = 0
    #: The part of its chat that its note was written from, if a model read a long chat in parts.
    part: int = 0

    # Only of a recalled line: the sentence's place in its turn, and in words why it was recalled.
    place: int = 0
    why: str = ""
    #: Whether some members of the project may not read it. Set for recalled lines and those for one person only.
    private: bool = False

    @property
    def granularity(self) -> Granularity:
        """How much time its period covers."""
        return Granularity.of_tier(self.tier)

    @property
    def period(self) -> str:
        """The ISO name of its period."""
        return self.granularity.period.key(self.period_start)

    @property
    def is_note(self) -> bool:
        """Whether a model wrote it of its chat: no quoted sentence, which has a speaker, and no line of a digest."""
        return not (self.detail or self.speaker or self.restates)

    @property
    def chats(self) -> tuple[str, ...]:
        """Keys of its source chats."""
        return tuple(sorted({chat for source in self.sources for chat in source.chats}))

    @property
    def citations(self) -> tuple[int, ...]:
        """Ids of its source outputs."""
        return tuple(sorted({output for source in self.sources for output in source.outputs}))

    @property
    def era(self) -> tuple[int, date]:
        """The sort key of its paragraph: the coarsest tier first, then by period."""
        return -self.tier, self.period_start

    @property
    def strand(self) -> str:
        """The chat: lines with the same strand are kept together."""
        return self.chat

    @property
    def order(self) -> tuple[datetime, int]:
        """The sort key within paragraph and strand: the time, then the fact's id."""
        return self.said_at, self.facts[0]

    def without(self, chats: Set[str], facts: Set[int], own: str = "") -> Self | None:
        """The line without some chats and facts, and without facts of the chat ``own`` alone.

        None if no fact remains, or if the line restates one of ``facts``.
        """
        if not self.restates.isdisjoint(facts):
            return None
        left = [
            (fact, source)
            for fact, source in zip(self.facts, self.sources, strict=True)
            if fact not in facts and chats.isdisjoint(source.chats) and source.chats != (own,)
        ]
        if len(left) == len(self.facts):
            return self
        kept, sources = zip(*left, strict=True) if left else ((), ())
        return self._replace(facts=kept, sources=sources) if kept else None

    def shown(self, **changed: Any) -> Self:
        """The line as a block has it, without the fields that are only for choosing."""
        return self._replace(pinned=bool(self.pinned), **_NOT_CHOOSING, **changed)  # SQLite returns 0 or 1

    def as_json(self) -> dict[str, Any]:
        """Its fields by name, for a JSON column, without those that have their default."""
        fields, defaults = self._asdict(), self._field_defaults
        given = {name: value for name, value in fields.items() if name not in defaults or value != defaults[name]}
        return given | {name: write(given[name]) for name, write in _WRITERS.items() if name in given}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`as_json`."""
        values = dict(fields)
        for name, read in _READERS.items():
            if name in values:
                values[name] = read(values[name])
        return cls(**values)


_CHOOSING = ("weight", "turns", "detail", "replaces", "released_by", "edited_by", "normative", "reported", "part")
_NOT_CHOOSING = {name: MemoryLine._field_defaults[name] for name in _CHOOSING}
#: Conversions of the fields whose types JSON lacks.
_WRITERS: dict[str, Callable[[Any], Any]] = {
    "said_at": datetime.isoformat,
    "period_start": date.isoformat,
    "restates": sorted,
    "sources": lambda sources: [source._asdict() for source in sources],
}
_READERS: dict[str, Callable[[Any], Any]] = {
    "facts": tuple,
    "said_at": datetime.fromisoformat,
    "period_start": date.fromisoformat,
    "restates": frozenset,
    "sources": lambda sources: tuple([Source(tuple(source["chats"]), tuple(source["outputs"])) for source in sources]),
}


def lines_without(lines: Iterable[MemoryLine], chats: Set[str], facts: Set[int], own: str = "") -> list[MemoryLine]:
    """These lines without some chats and facts, and without lines from the chat ``own`` alone."""
    remaining = (line.without(chats, facts, own) for line in lines)
    return [line for line in remaining if line]


def speakers_of(*lines: MemoryLine) -> tuple[str, ...]:
    """The names of those who said these lines, in alphabetical order."""
    return tuple(sorted({line.speaker for line in lines} - {""}))


@dataclass(frozen=True, slots=True)
class Text:
    """A text for a prompt, its exact tokens, and its lines in the order shown."""

    text: str = ""
    tokens: int = 0
    lines: tuple[MemoryLine, ...] = ()

    @property
    def chats(self) -> tuple[str, ...]:
        """Keys of the source chats of its lines."""
        return tuple(sorted({chat for line in self.lines for chat in line.chats}))


EMPTY_TEXT = Text()


@dataclass(frozen=True, slots=True)
class PackedBlock(Text):
    """A block, and its reserve: the next lines, best first, which replace those that a reader must not see.

    A block that lost lines has no text until it is laid out again.
    """

    reserve: tuple[MemoryLine, ...] = ()
    #: The speakers of all candidates, also of those that have no line in the block.
    people: tuple[str, ...] = ()
    #: Those of them whose rules and decisions are shown as facts, not as reports.
    trusted: tuple[str, ...] = ()

    def dropping(self, chats: Set[str]) -> "PackedBlock":
        """The block without lines of some chats; the same object if it has none."""
        lines, reserve = (tuple(lines_without(part, chats, set())) for part in (self.lines, self.reserve))
        if (lines, reserve) == (self.lines, self.reserve):
            return self
        return PackedBlock(lines=lines, reserve=reserve, people=speakers_of(*lines, *reserve), trusted=self.trusted)

    def as_json(self) -> dict[str, Any]:
        """For a JSON column; the text and its tokens have columns of their own."""
        parts = {part: [line.as_json() for line in getattr(self, part)] for part in ("lines", "reserve")}
        return {**parts, "people": list(self.people), "trusted": list(self.trusted)}

    @classmethod
    def from_json(cls, text: str, tokens: int, data: Mapping[str, Any]) -> "PackedBlock":
        """The inverse of :meth:`as_json`."""
        lines, reserve = (tuple(map(MemoryLine.from_json, data.get(part, ()))) for part in ("lines", "reserve"))
        return cls(text, tokens, lines, reserve, tuple(data.get("people", ())), tuple(data.get("trusted", ())))

"""A bank's visible facts as candidates for its block, each with its place on the ladder and its origin.

Every leaf fact is a candidate, whichever digest has absorbed it, and so are the facts of live digests,
which a model wrote: absorbing is what re-opening undoes.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, time
from functools import cached_property, lru_cache
from typing import NamedTuple

from django.db.models import ExpressionWrapper, F, TextField
from django.db.models.expressions import Combinable

from . import conf, dates, ladder, packing
from .models import Bank, Fact, Granularity
from .packing import Candidate

#: The tiers of a block in its order: oldest and coarsest first.
TIERS = tuple(reversed(Granularity))
#: That of facts which no digest has absorbed.
UNDIGESTED = TIERS.index(Granularity.CONVERSATION)
#: What a candidate is made of.
COLUMNS = ("pk", "text", "said_on", "speaker", "weight", "tokens", "pinned")


class Place(NamedTuple):
    """Where an entry stands: its own time and chat, and the tier and period of the live entry above it."""

    at: datetime
    chat: str
    key: str
    tier: int
    period: str
    label: str


@dataclass
class Memory:
    """A bank's visible facts as packing sees them, with what is needed to explain a line."""

    candidates: list[Candidate] = field(default_factory=list)
    #: Of each leaf fact: its citations as they are stored, in JSON.
    citations: dict[int, str] = field(default_factory=dict)
    #: Of each leaf fact: the key of its chat.
    chat_keys: dict[int, str] = field(default_factory=dict)
    #: Of each digest fact: the leaf facts it rests on.
    restated: dict[int, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def pool(self) -> packing.Pool:
        """The candidates, made ready for packing once."""
        return packing.Pool(self.candidates, conf.current().encoding)

    def outputs(self, facts: Iterable[int]) -> tuple[int, ...]:
        """The outputs that the facts were made from."""
        cited = [json.loads(self.citations[leaf]) for leaf in self._leaves(facts)]
        return tuple(sorted({output for outputs in cited for output in outputs}))

    def chats(self, facts: Iterable[int]) -> set[str]:
        """Keys of the chats whose own words the facts are."""
        return {self.chat_keys[leaf] for leaf in self._leaves(facts)}

    def _leaves(self, facts: Iterable[int]) -> list[int]:
        return [leaf for fact in facts for leaf in self.restated.get(fact, (fact,))]


def load(bank: Bank, *, exclude_chat: str = "") -> Memory:
    """Every fact that may be shown."""
    places = _places(bank, exclude_chat)
    memory = Memory()
    leaf_facts = Fact.objects.visible().filter(entry__bank=bank, entry__granularity=Granularity.CONVERSATION)
    rows = leaf_facts.order_by().values_list(*_raw("entry_id", "citations", *COLUMNS))
    for entry, cited, pk, text, day, speaker, weight, size, pinned in rows.iterator():
        if place := places.get(entry):  # else its chat is left out, or it was written since the places were read
            at, chat, key, tier, period, _ = place
            if tier == UNDIGESTED:
                period = _period(Granularity.CONVERSATION, day)[1]
            fact = Candidate(pk, text, _said(day, at), tier, period, _spelt(day), chat, speaker, weight, size, pinned)
            memory.candidates.append(fact)
            memory.citations[pk], memory.chat_keys[pk] = cited, key
    _add_digests(bank, memory, places)
    return memory


def _raw(*columns: str) -> list[Combinable]:
    """The columns as the database's driver gives them, JSON as text: Django's conversions cost as much again."""
    return [ExpressionWrapper(F(column), output_field=TextField()) for column in columns]


def _add_digests(bank: Bank, memory: Memory, places: dict[int, Place]) -> None:
    """Facts of live digests, as long as everything they rest on may be shown."""
    digests = Fact.objects.visible().filter(entry__bank=bank, entry__parent=None)
    written = digests.exclude(entry__granularity=Granularity.CONVERSATION)
    for entry, cited, *row in written.values_list("entry_id", "citations", *COLUMNS):
        if entry in places and all(leaf in memory.chat_keys for leaf in cited):
            memory.candidates.append(_digest_candidate(places[entry], entry, cited, *row))
            memory.restated[row[0]] = tuple(cited)


def _places(bank: Bank, exclude_chat: str) -> dict[int, Place]:
    """The place under its live root of each entry, but for those of private chats and of the excluded one."""
    above = _raw("parent_id", "granularity", "period_start")
    entries = bank.entries.exclude(chat__private=True).values_list("pk", "last_at", "chat_id", "chat__key", *above)
    rows = {row[0]: row for row in entries}
    places: dict[int, Place] = {}
    for pk, last_at, chat, key, parent, granularity, start in rows.values():
        for _ in TIERS:  # no chain is longer, and a broken one must not hang us
            if parent not in rows:
                break
            *_, parent, granularity, start = rows[parent]
        if not exclude_chat or key != exclude_chat:
            places[pk] = Place(last_at, str(chat), key or "", *_period(granularity, start))
    return places


@lru_cache(maxsize=4096)
def _period(granularity: str, start: date) -> tuple[int, str, str]:
    """Tier, key and label of a period."""
    rung = Granularity(granularity)
    return TIERS.index(rung), ladder.period_key(rung, start), _period_label(rung, start)


def _period_label(granularity: Granularity, start: date) -> str:
    if granularity is Granularity.MONTH:
        return f"{start:%B %Y}"
    if granularity is Granularity.WEEK:
        return f"Week of {dates.spell(start)}"
    return dates.spell(start)


@lru_cache(maxsize=4096)
def _said(day: date, last_at: datetime) -> datetime:
    """When a fact of a chat was said: before the chat went on for days, at the end of its own day."""
    return last_at if day >= last_at.date() else datetime.combine(day, time.max, tzinfo=last_at.tzinfo)


@lru_cache(maxsize=4096)
def _spelt(day: date) -> str:
    return dates.spell(day)


def leaf_candidate(fact: Fact) -> Candidate:
    """A leaf fact by itself, as if no digest had absorbed its entry."""
    tier, period, _ = _period(Granularity.CONVERSATION, fact.said_on)
    return Candidate(
        id=fact.pk,
        text=fact.text,
        at=_said(fact.said_on, fact.entry.last_at),
        tier=tier,
        period=period,
        label=_spelt(fact.said_on),
        chat=str(fact.entry.chat_id),
        speaker=fact.speaker,
        weight=fact.weight,
        tokens=fact.tokens,
        pinned=fact.pinned,
    )


def _digest_candidate(
    place: Place,
    entry: int,
    cited: list[int],
    pk: int,
    text: str,
    day: date,
    speaker: str,
    weight: float,
    size: int,
    pinned: bool,
) -> Candidate:
    return Candidate(
        id=pk,
        text=text,
        at=datetime.combine(day, time.max, tzinfo=place.at.tzinfo),
        tier=place.tier,
        period=place.period,
        label=place.label,
        chat=f"digest {entry}",
        speaker=speaker,
        weight=weight,
        tokens=size,
        pinned=pinned,
        restates=frozenset(cited),
    )

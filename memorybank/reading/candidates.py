"""A bank's best facts as candidates for its block, each with its place on the ladder and its origin.

Leaf facts are candidates whichever digest has absorbed them, and so are the facts of live digests, which a
model wrote: absorbing is what re-opening undoes. Of each tier only the best are read, through an index, so
that a long history costs no more than a short one.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from django.db.models import Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet, Sum, TextField
from django.db.models.expressions import Combinable

from memorybank import conf
from memorybank.core import periods
from memorybank.core.packing.objective import checkpoint, reached
from memorybank.core.packing.pool import Pool
from memorybank.core.packing.provenance import Source
from memorybank.core.packing.values import Candidate
from memorybank.language import dates
from memorybank.models import Bank, Entry, Fact, Granularity
from memorybank.models.fact import FactQuerySet

#: The tiers of a block in its order: oldest and coarsest first.
TIERS = tuple(reversed(Granularity))
#: That of facts which no digest has absorbed.
UNDIGESTED = Granularity.CONVERSATION.tier
#: As many facts are read as the budget has tokens, and so many at least: several times what packing looks at closely.
LEAST = 2_000
#: What part of those still to be read each tier has: half for months, where history grows, the rest alike.
SHARES = (2, 3, 2, 1)
#: Rows asked for by id at once; databases bound the parameters of a query.
AT_ONCE = 10_000
#: What a candidate is made of, and where its entry stands.
COLUMNS = ("pk", "text", "said_on", "speaker", "weight", "tokens", "pinned", "detail")
STANDING = ("entry__chat_id", "entry__chat__key", "entry__parent_id", "entry__granularity", "entry__period_start")


class Place(NamedTuple):
    """Where an entry stands: its own time and chat (of a digest none), and tier and period of the live entry above."""

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

    #: Up to when the stable section is chosen, if these are not all.
    stable_before: datetime | None = None

    @cached_property
    def pool(self) -> Pool:
        """The candidates, made ready for packing once."""
        return Pool(self.candidates, conf.current().encoding, self.stable_before)

    def explain(self, fact: int) -> Source:
        """Whose words a fact is: the chats and the outputs of the leaf facts that it is or rests on."""
        leaves = self.restated.get(fact, (fact,))
        outputs = {output for leaf in leaves for output in json.loads(self.citations[leaf])}
        return Source(tuple(sorted({self.chat_keys[leaf] for leaf in leaves})), tuple(sorted(outputs)))


def load(bank: Bank, *, budget: int | None = None) -> Memory:
    """What may be shown and has a chance in ``budget`` tokens (default: the bank's): pinned facts, and the best."""
    budget = bank.max_tokens if budget is None else budget
    shown = bank.facts.shareable()
    rows, complete = _best(shown, max(LEAST, budget))
    above = _above(bank, {parent for *_, parent, _, _ in rows if parent})
    memory = Memory(stable_before=None if complete else _stable_before(bank, budget))
    digested = []
    for entry, cited, *row, at, chat, key, parent, granularity, start in rows:
        place = Place(at, str(chat), key or "", *_period(*_root(above, parent, granularity, start)))
        if key:
            memory.candidates.append(_leaf_candidate(place, frozenset(json.loads(cited)), *row))
            memory.citations[row[0]], memory.chat_keys[row[0]] = cited, key
        else:
            digested.append((place, entry, json.loads(cited), row))
    _add_digests(memory, bank, digested)
    return memory


def _best(shown: FactQuerySet, most: int) -> tuple[list[tuple[Any, ...]], bool]:
    """Pinned facts and ``most`` others, and whether those are all; the next tiers have what one leaves of its share."""
    # Few facts say that anything is over, so few are looked up.
    replaces = Q(changing=True) & Exists(Fact.objects.filter(superseded_by=OuterRef("pk")))
    columns: list[Any] = [*_raw("entry_id", "citations", *COLUMNS), replaces, "entry__last_at", *_raw(*STANDING)]
    rows = list(shown.filter(pinned=True, tier__isnull=False).order_by("pk").values_list(*columns))
    complete = True
    for tier, part in enumerate(SHARES):
        share = most // part
        found = list(shown.best(tier, share).values_list(*columns))
        complete, most = complete and len(found) < share, most - len(found)
        rows += found
    return rows, complete


def _raw(*columns: str) -> list[Combinable]:
    """The columns as the database's driver gives them, JSON as text: Django's conversions cost as much again."""
    return [ExpressionWrapper(F(column), output_field=TextField()) for column in columns]


def _add_digests(memory: Memory, bank: Bank, lines: list[tuple[Place, int, list[int], list[Any]]]) -> None:
    """Lines of digests, as long as everything they rest on may be shown, but for what they replace themselves."""
    cited = {leaf for *_, leaves, _ in lines for leaf in leaves}
    leaf_facts = bank.facts.shareable(beneath=True).filter(entry__granularity=Granularity.CONVERSATION)
    origins = leaf_facts.values_list("pk", "entry__chat__key", *_raw("citations"))
    for pk, key, outputs in _by_id(origins, cited - memory.chat_keys.keys()):
        memory.citations[pk], memory.chat_keys[pk] = outputs, key
    for place, entry, leaves, row in lines:
        if all(leaf in memory.chat_keys for leaf in leaves):
            memory.candidates.append(_digest_candidate(place, entry, leaves, *row))
            memory.restated[row[0]] = tuple(leaves)


def _by_id(rows: QuerySet[Any, Any], ids: Iterable[int]) -> Iterator[Any]:
    ordered = sorted(ids)
    for start in range(0, len(ordered), AT_ONCE):
        yield from rows.filter(pk__in=ordered[start : start + AT_ONCE]).order_by()


def _above(bank: Bank, ids: set[int]) -> dict[int, Any]:
    """Parent, granularity and period of these digests and of all above them."""
    digests = bank.entries.values_list("pk", *_raw("parent_id", "granularity", "period_start"))
    above: dict[int, Any] = {}
    for _ in TIERS:  # no chain is longer, and a broken one must not hang us
        above.update((pk, rest) for pk, *rest in _by_id(digests, ids - above.keys()))
        ids = {parent for parent, *_ in above.values() if parent}
    return above


def _root(above: dict[int, Any], parent: int | None, granularity: str, start: date) -> tuple[str, date]:
    """Granularity and period of the live entry above one."""
    for _ in TIERS:
        if parent not in above:
            break
        parent, granularity, start = above[parent]
    return granularity, start


def growth(bank: Bank) -> QuerySet[Entry, tuple[date, int]]:
    """Day by day, how long the facts of its leaves are."""
    days = bank.entries.leaves().order_by("period_start").values_list("period_start")
    return days.annotate(size=Sum("tokens"))


def _stable_before(bank: Bank, budget: int) -> datetime | None:
    """The moment at which history had grown to the checkpoint; None while all of it fits.

    Of private chats, too: it says when the stable section was chosen, not from what.
    """
    days = list(growth(bank))
    sizes = [size for _, size in days]
    level = checkpoint(sum(sizes), budget)
    if (full := reached(sizes, level)) == len(days):
        return None
    leaves = bank.entries.leaves().filter(period_start=days[full][0]).order_by("last_at", "pk")
    of_day = list(leaves.values_list("last_at", "tokens"))
    place = reached([size for _, size in of_day], level - sum(sizes[:full]))
    return of_day[place][0] if place < len(of_day) else None


@lru_cache(maxsize=4096)
def _period(granularity: str, start: date) -> tuple[int, str, str]:
    """Tier, key and label of a period."""
    rung = Granularity(granularity)
    return rung.tier, periods.period_key(rung, start), _period_label(rung, start)


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
    place = Place(fact.entry.last_at, str(fact.entry.chat_id), "", UNDIGESTED, "", "")
    how = (fact.speaker, fact.weight, fact.tokens, fact.pinned, fact.detail)
    return _leaf_candidate(place, frozenset(fact.citations), fact.pk, fact.text, fact.said_on, *how)


def _leaf_candidate(place: Place, turns: frozenset[int], pk: int, text: str, day: date, *how: Any) -> Candidate:
    """``how`` it was said: the rest of COLUMNS, which are fields of a candidate in their order."""
    at, chat, _, tier, period, _ = place
    if tier == UNDIGESTED:
        period = _period(Granularity.CONVERSATION, day)[1]
    return Candidate(pk, text, _said(day, at), tier, period, _spelt(day), chat, frozenset(), turns, *how)


def _digest_candidate(
    place: Place, entry: int, cited: list[int], pk: int, text: str, day: date, *how: Any
) -> Candidate:
    at = datetime.combine(day, time.max, tzinfo=place.at.tzinfo)
    own = (place.tier, place.period, place.label, f"digest {entry}")
    return Candidate(pk, text, at, *own, frozenset(cited), frozenset(), *how)

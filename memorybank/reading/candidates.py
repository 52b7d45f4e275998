"""A bank's best facts as candidates for its block, each with its place on the ladder and its origin.

Leaf facts are candidates whichever digest has absorbed them, and so are the facts of live digests, which a
model wrote: absorbing is what re-opening undoes. Of each tier only the best are read, through an index, so
that a long history costs no more than a short one.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from django.db.models import Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet, Sum, TextField
from django.db.models.expressions import Combinable

from memorybank import conf
from memorybank.core.packing.memory_line import MemoryLine, Source
from memorybank.core.packing.objective import checkpoint, reached
from memorybank.core.packing.pool import Pool
from memorybank.language import dates
from memorybank.models import Bank, Entry, Fact, FactOutput, FactSource, Granularity
from memorybank.models.fact import FactQuerySet

#: As many facts are read as the budget has tokens, and so many at least: several times what packing looks at closely.
MIN_FACTS_READ = 2_000
#: What part of those still to be read each tier has: half for the coarsest, where history grows, the rest alike.
TIER_PARTS = {
    granularity.tier: granularity.tier + 1 if granularity.tier < len(Granularity.digests()) else 2
    for granularity in Granularity.coarsest_first()
}
#: Rows asked for by id at once; databases bound the parameters of a query.
IDS_PER_QUERY = 10_000
#: Columns of a fact that its line has under the same name; the line's tier is that of the live entry above.
LINE_COLUMNS = tuple(
    column.name for column in Fact._meta.concrete_fields if column.name in MemoryLine._fields and column.name != "tier"
)
#: Where the entry of a fact stands.
STANDING = ("entry__chat_id", "entry__chat__key", "entry__parent_id", "entry__granularity", "entry__period_start")


class Place(NamedTuple):
    """Where an entry stands: its own time and chat (of a digest none), and tier and period of the live entry above."""

    last_at: datetime
    chat: str
    tier: int = 0
    period_start: date = date.min
    label: str = ""


@dataclass
class Memory:
    """A bank's visible facts as packing sees them, with what is needed to explain a line."""

    candidates: list[MemoryLine] = field(default_factory=list)
    #: Of each leaf fact: the outputs it cites.
    outputs: Mapping[int, Collection[int]] = field(default_factory=dict)
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
        outputs = {output for leaf in leaves for output in self.outputs[leaf]}
        return Source(tuple(sorted({self.chat_keys[leaf] for leaf in leaves})), tuple(sorted(outputs)))


def load(bank: Bank, *, budget: int | None = None) -> Memory:
    """What may be shown and has a chance in ``budget`` tokens (default: the bank's): pinned facts, and the best."""
    budget = bank.max_tokens if budget is None else budget
    shown = bank.facts.shareable()
    rows, complete = _best(shown, max(MIN_FACTS_READ, budget))
    above = _above(bank, {parent for *_, parent, _, _ in rows if parent})
    memory = Memory(stable_before=None if complete else _stable_before(bank, budget))
    cited = _linked(FactSource.objects.values_list("fact_id", "source_id"), (row[1] for row in rows if not row[-4]))
    leaves = {row[1] for row in rows if row[-4]}.union(*cited.values())
    memory.outputs = _linked(FactOutput.objects.values_list("fact_id", "output_id"), leaves)
    digested = []
    for entry, pk, day, *row, replaces, last_at, chat, key, parent, granularity, start in rows:
        values = dict(zip(LINE_COLUMNS, row, strict=True), facts=(pk,), replaces=replaces)
        place = Place(last_at, str(chat), *_period(*_root(above, parent, granularity, start)))
        if key:
            memory.candidates.append(_leaf_line(place, day, values, frozenset(memory.outputs[pk])))
            memory.chat_keys[pk] = key
        else:
            digested.append((place._replace(chat=f"digest {entry}"), day, cited[pk], values))
    _add_digests(memory, bank, digested)
    return memory


def _linked(links: QuerySet[Any, tuple[int, int]], facts: Iterable[int]) -> dict[int, list[int]]:
    """What these facts rest on."""
    linked: dict[int, list[int]] = defaultdict(list)
    for fact, on in _by_id(links, facts, "fact"):
        linked[fact].append(on)
    return linked


def _best(shown: FactQuerySet, most: int) -> tuple[list[tuple[Any, ...]], bool]:
    """Pinned facts and ``most`` others, and whether those are all; the next tiers have what one leaves of its share."""
    # Few facts say that anything is over, so few are looked up.
    replaces = Q(changing=True) & Exists(Fact.objects.filter(superseded_by=OuterRef("pk")))
    own: list[Any] = [*_raw("entry_id", "pk", "said_on", *LINE_COLUMNS), replaces]
    columns = [*own, "entry__last_at", *_raw(*STANDING)]
    rows = list(shown.filter(pinned=True, tier__isnull=False).order_by("pk").values_list(*columns))
    complete = True
    for tier, part in TIER_PARTS.items():
        share = most // part
        found = list(shown.best(tier, share).values_list(*columns))
        complete, most = complete and len(found) < share, most - len(found)
        rows += found
    return rows, complete


def _raw(*columns: str) -> list[Combinable]:
    """The columns as the database's driver gives them: Django's conversions cost as much again."""
    return [ExpressionWrapper(F(column), output_field=TextField()) for column in columns]


def _add_digests(memory: Memory, bank: Bank, lines: list[tuple[Place, date, list[int], dict[str, Any]]]) -> None:
    """Lines of digests, as long as everything they rest on may be shown, but for what they replace themselves."""
    cited = {leaf for _, _, leaves, _ in lines for leaf in leaves}
    leaf_facts = bank.facts.shareable(beneath=True).filter(entry__granularity=Granularity.CONVERSATION)
    origins = leaf_facts.values_list("pk", "entry__chat__key")
    memory.chat_keys.update(_by_id(origins, cited - memory.chat_keys.keys()))
    for place, day, leaves, values in lines:
        if all(leaf in memory.chat_keys for leaf in leaves):
            memory.candidates.append(_digest_line(place, day, values, frozenset(leaves)))
            memory.restated[values["facts"][0]] = tuple(leaves)


def _by_id(rows: QuerySet[Any, Any], ids: Iterable[int], column: str = "pk") -> Iterator[Any]:
    ordered = sorted(ids)
    for start in range(0, len(ordered), IDS_PER_QUERY):
        yield from rows.filter(**{f"{column}__in": ordered[start : start + IDS_PER_QUERY]}).order_by()


def _above(bank: Bank, ids: set[int]) -> dict[int, Any]:
    """Parent, granularity and period of these digests and of all above them."""
    digests = bank.entries.values_list("pk", *_raw("parent_id", "granularity", "period_start"))
    above: dict[int, Any] = {}
    for _ in Granularity:  # no chain is longer, and a broken one must not hang us
        above.update((pk, rest) for pk, *rest in _by_id(digests, ids - above.keys()))
        ids = {parent for parent, *_ in above.values() if parent}
    return above


def _root(above: dict[int, Any], parent: int | None, granularity: str, start: date) -> tuple[str, date]:
    """Granularity and period of the live entry above one."""
    for _ in Granularity:
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
def _period(granularity: str, start: date) -> tuple[int, date, str]:
    """Tier, first day and label of a period."""
    rung, tier = Granularity(granularity).rung, Granularity(granularity).tier
    return tier, start, rung.label % {"day": dates.format_date(start), "month": f"{start:%B %Y}"}


@lru_cache(maxsize=4096)
def _said(day: date, last_at: datetime) -> datetime:
    """When a fact of a chat was said: before the chat went on for days, at the end of its own day."""
    return last_at if day >= last_at.date() else datetime.combine(day, time.max, tzinfo=last_at.tzinfo)


@lru_cache(maxsize=4096)
def _spelt(day: date) -> str:
    return dates.format_date(day)


def leaf_line(fact: Fact) -> MemoryLine:
    """A leaf fact by itself, as if no digest had absorbed its entry."""
    values = {name: getattr(fact, name) for name in LINE_COLUMNS} | {"facts": (fact.pk,)}
    place = Place(fact.entry.last_at, str(fact.entry.chat_id))
    return _leaf_line(place, fact.said_on, values, frozenset(fact.citations))


def _leaf_line(place: Place, day: date, values: dict[str, Any], turns: frozenset[int]) -> MemoryLine:
    return MemoryLine(
        **values,
        said_at=_said(day, place.last_at),
        tier=place.tier,
        period_start=place.period_start if place.tier else day,
        label=_spelt(day),
        chat=place.chat,
        turns=turns,
    )


def _digest_line(place: Place, day: date, values: dict[str, Any], leaves: frozenset[int]) -> MemoryLine:
    return MemoryLine(
        **values,
        said_at=datetime.combine(day, time.max, tzinfo=place.last_at.tzinfo),
        tier=place.tier,
        period_start=place.period_start,
        label=place.label,
        chat=place.chat,
        restates=leaves,
    )

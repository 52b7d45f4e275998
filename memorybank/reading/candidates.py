"""Load a bank's best facts as candidates for its block, each with its tier, its period and its sources.

Candidates are all leaf facts, even if a digest has absorbed them, and the lines that a model wrote for live digests:
packing may show a period by either. The sources of a withdrawn line stand in its place. Only the best facts of each
tier are read, through an index, so that a long history costs no more than a short one.
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
from memorybank.core.granularity import COARSEST_PERIOD
from memorybank.core.memory_line import MemoryLine, Source
from memorybank.core.packing.objective import checkpoint, reached
from memorybank.core.packing.pool import Pool
from memorybank.core.turns import NOTED_FROM
from memorybank.language import dates
from memorybank.models import EXTRACTIVE, Bank, Entry, Fact, FactOutput, FactSource, Granularity, KeptFact
from memorybank.models.audience import PerRow
from memorybank.models.fact import FactQuerySet
from memorybank.reading.trust import trusted_speakers

#: Minimum of facts to read: several times what packing compares. A larger budget reads one fact for each token.
MIN_FACTS_READ = 2_000
#: Divisors, coarsest tier first: a tier reads this part of the facts still to be read. So the months, where history
#: grows, get the most.
TIER_PARTS = {
    granularity.tier: granularity.tier + 1 if granularity is not COARSEST_PERIOD else 2
    for granularity in Granularity.coarsest_first()
}
#: Maximum of written lines to read: a frontier that is rolled up has far fewer.
MAX_WRITTEN_LINES = 4_000
#: Ids in one query, because databases limit its parameters.
IDS_PER_QUERY = 10_000
#: Columns that ``Fact`` and ``MemoryLine`` share, except the tier: a line has the tier of the live entry above it.
LINE_COLUMNS = tuple(
    column.name for column in Fact._meta.concrete_fields if column.name in MemoryLine._fields and column.name != "tier"
)
#: Columns of a fact's entry that give its chat and period.
ENTRY_COLUMNS = ("entry__chat_id", "entry__chat__key", "entry__parent_id", "entry__granularity", "entry__period_start")


class EntryPosition(NamedTuple):
    """The time and chat of an entry (no chat for a digest), and tier and period of the live entry above it."""

    last_at: datetime
    chat: str
    tier: int = 0
    period_start: date = date.min
    label: str = ""


@dataclass
class Candidates:
    """A bank's visible facts as packing sees them, with the sources that explain a line."""

    candidates: list[MemoryLine] = field(default_factory=list)
    #: The lines of live entries that a model or a person wrote, in the order of the block.
    written: list[MemoryLine] = field(default_factory=list)
    #: The outputs that each leaf fact cites.
    outputs: Mapping[int, Collection[int]] = field(default_factory=dict)
    #: The chat key of each leaf fact.
    chat_keys: dict[int, str] = field(default_factory=dict)
    #: The leaf facts that each digest fact rests on.
    restated: dict[int, tuple[int, ...]] = field(default_factory=dict)

    #: The stable section is chosen from facts up to this moment; None: from all.
    stable_before: datetime | None = None
    #: The trusted speakers: their rules and decisions are shown as facts, not as reports.
    trusted: frozenset[str] = frozenset()

    @cached_property
    def pool(self) -> Pool:
        """The candidates, prepared for packing once."""
        return Pool(self.candidates, conf.current().encoding, self.stable_before, self.written, self.trusted)

    def explain(self, fact: int) -> Source:
        """The origin of a fact: the chats and outputs of the leaf facts that it is or rests on."""
        leaves = self.restated.get(fact, (fact,))
        outputs = {output for leaf in leaves for output in self.outputs[leaf]}
        return Source(tuple(sorted({self.chat_keys[leaf] for leaf in leaves})), tuple(sorted(outputs)))


def load(bank: Bank, *, budget: int | None = None) -> Candidates:
    """Load the candidates for a block of ``budget`` tokens (default: the bank's): pinned facts and the best others."""
    budget = bank.max_tokens if budget is None else budget
    shown = bank.facts.shareable()
    best, complete = _best_rows(shown, max(MIN_FACTS_READ, budget))
    live = _written_rows(bank, shown)
    standing_in = _standing_in(bank, shown)
    gaps = _stand_in_rows(shown, standing_in)
    rows = list({row[1]: row for row in (*best, *live, *gaps)}.values())
    written = {row[1] for row in (*live, *gaps)}
    above = _digests_above(bank, {parent for *_, parent, _, _ in rows if parent})
    candidates = Candidates(
        stable_before=None if complete else _stable_before(bank, budget),
        trusted=trusted_speakers(bank.pk),
    )
    cited = _ids_by_fact(
        FactSource.objects.values_list("fact_id", "source_id"), (row[1] for row in rows if not row[-4])
    )
    leaves = {row[1] for row in rows if row[-4]}.union(*cited.values())
    candidates.outputs = _ids_by_fact(FactOutput.objects.values_list("fact_id", "output_id"), leaves)
    digested = []
    for entry, pk, day, *row, replaces, last_at, chat, key, parent, granularity, start in rows:
        values = dict(zip(LINE_COLUMNS, row, strict=True), facts=(pk,), replaces=replaces)
        place = EntryPosition(last_at, str(chat), *_period(*_live_entry_above(above, parent, granularity, start)))
        if key:
            line = _leaf_line(place, day, values, frozenset(candidates.outputs[pk]))
            candidates.candidates.append(_in_place_of_digest(line, *standing_in[pk]) if pk in standing_in else line)
            candidates.chat_keys[pk] = key
        else:
            digested.append((place._replace(chat=f"digest {entry}"), day, cited[pk], values))
    _add_digests(candidates, bank, digested)
    lines = list(map(_as_written, candidates.candidates)) if written else candidates.candidates
    candidates.candidates = [line for line in lines if line.facts[0] not in written]
    in_order = sorted(lines, key=lambda line: (line.era, line.order)) if written else []
    candidates.written = [line for line in in_order if line.facts[0] in written]
    return candidates


def _as_written(line: MemoryLine) -> MemoryLine:
    """A line that a model wrote, without a speaker: its text names the person itself."""
    return line._replace(speaker="") if line.speaker.startswith(NOTED_FROM) else line


def _written_rows(bank: Bank, shown: FactQuerySet) -> list[tuple[Any, ...]]:
    """Rows of the lines that a model or a person wrote in live entries: coarsest tier first, then newest; limited."""
    live = bank.entries.live().written()
    own = Q(entry__in=live.values("pk"), detail=False)
    kept = Q(pk__in=KeptFact.objects.filter(entry__in=live.values("pk")).values("fact"), detail=False)
    lines = shown.filter(own | kept, pinned=False, tier__isnull=False).exclude(entry__method__startswith=EXTRACTIVE)
    return list(lines.order_by("-tier", "-said_on", "-pk").values_list(*_columns())[:MAX_WRITTEN_LINES])


def _standing_in(bank: Bank, shown: FactQuerySet) -> dict[int, tuple[int, datetime, str]]:
    """The facts that stand in for missing lines of live digests: id, end and label of its digest.

    They are the sources of withdrawn and quarantined lines, or what a person put in their place, that no other line of
    a live digest tells; and what a digest that waits for its rewriting keeps of deleted lines.
    """
    places: dict[int, tuple[int, datetime, str]] = {}
    for source, newer, entry, last_at, granularity, start in (*_sources_of_gaps(bank), *_kept_of_deleted(bank)):
        _tier, _start, label = _period(granularity, start)
        places |= {pk: (entry, last_at, label) for pk in (source, newer) if pk}
    if not places:
        return {}
    ids = shown.filter(pk__in=places, tier__isnull=False, pinned=False, entry__chat__isnull=False)
    return {pk: places[pk] for pk in ids.values_list("pk", flat=True)}


def _sources_of_gaps(bank: Bank) -> Iterator[tuple[Any, ...]]:
    """The sources of withdrawn and quarantined lines of live digests, and what supersedes them, if untold elsewhere."""
    untold = Q(withdrawn=True) | (Q(entry__chat=None) & ~Q(quarantine=""))
    if not bank.facts.filter(untold).exists():
        return
    lines = bank.facts.filter(untold).values("pk")
    of_live = FactSource.objects.filter(fact__entry__in=bank.entries.live().values("pk"))
    cited_elsewhere = {None, *of_live.exclude(fact__in=lines).values_list("source", flat=True)}
    period = ("fact__entry__last_at", "fact__entry__granularity", "fact__entry__period_start")
    gaps = of_live.filter(fact__in=lines).values_list("source", "source__superseded_by", "fact__entry", *period)
    for source, newer, *digest in gaps:
        untold_pair = (None if pk in cited_elsewhere else pk for pk in (source, newer))
        yield (*untold_pair, *digest)


def _kept_of_deleted(bank: Bank) -> Iterator[tuple[Any, ...]]:
    """The facts that written live digests keep while they wait for their rewriting, and what supersedes these."""
    lines = Fact.objects.filter(entry=OuterRef("pk"))
    waiting = bank.entries.live().filter(Exists(lines), stale=True)
    period = ("entry__last_at", "entry__granularity", "entry__period_start")
    kept = KeptFact.objects.filter(entry__in=waiting.values("pk"))
    yield from kept.values_list("fact", "fact__superseded_by", "entry", *period)


def _stand_in_rows(shown: FactQuerySet, facts: Collection[int]) -> list[tuple[Any, ...]]:
    return list(shown.filter(pk__in=facts).order_by("pk").values_list(*_columns())) if facts else []


def _in_place_of_digest(line: MemoryLine, digest: int, last_at: datetime, label: str) -> MemoryLine:
    """A leaf fact as a line of a digest, with whose other lines it is shortened or shown."""
    return line._replace(said_at=last_at, label=label, chat=f"digest {digest}", restates=frozenset(line.facts))


def _ids_by_fact(links: QuerySet[Any, tuple[int, int]], facts: Iterable[int]) -> dict[int, list[int]]:
    linked: dict[int, list[int]] = defaultdict(list)
    for fact, on in _by_id(links, facts, "fact"):
        linked[fact].append(on)
    return linked


def _best_rows(shown: FactQuerySet, limit: int) -> tuple[list[tuple[Any, ...]], bool]:
    """Rows of the pinned and the ``limit`` best other facts, and whether these are all facts.

    The share that a tier does not use passes to the next tiers.
    """
    columns = _columns()
    rows = list(shown.filter(pinned=True, tier__isnull=False).order_by("pk").values_list(*columns))
    complete = True
    for tier, part in TIER_PARTS.items():
        share = limit // part
        best = list(shown.best(tier, share).values_list(*columns))
        complete, limit = complete and len(best) < share, limit - len(best)
        rows += best
    return rows, complete


def _columns() -> list[Any]:
    # Few facts state a change, so few are looked up.
    replaces = Q(changing=True) & PerRow(Fact.objects.filter(superseded_by=OuterRef("pk")))
    own: list[Any] = [*_raw("entry_id", "pk", "said_on", *LINE_COLUMNS), replaces]
    return [*own, "entry__last_at", *_raw(*ENTRY_COLUMNS)]


def _raw(*columns: str) -> list[Combinable]:
    """The columns as the database driver returns them: Django's conversions would double the cost."""
    return [ExpressionWrapper(F(column), output_field=TextField()) for column in columns]


def _add_digests(
    candidates: Candidates, bank: Bank, lines: list[tuple[EntryPosition, date, list[int], dict[str, Any]]]
) -> None:
    """Add the lines of digests whose sources may all be shown, except sources that the line itself replaces."""
    cited = {leaf for _, _, leaves, _ in lines for leaf in leaves}
    leaf_facts = bank.facts.shareable(beneath=True).filter(entry__granularity=Granularity.CONVERSATION)
    origins = leaf_facts.values_list("pk", "entry__chat__key")
    candidates.chat_keys.update(_by_id(origins, cited - candidates.chat_keys.keys()))
    for place, day, leaves, values in lines:
        if all(leaf in candidates.chat_keys for leaf in leaves):
            turns = frozenset(output for leaf in leaves for output in candidates.outputs[leaf])
            candidates.candidates.append(_digest_line(place, day, values, frozenset(leaves), turns))
            candidates.restated[values["facts"][0]] = tuple(leaves)


def _by_id(rows: QuerySet[Any, Any], ids: Iterable[int], column: str = "pk") -> Iterator[Any]:
    ordered = sorted(ids)
    for start in range(0, len(ordered), IDS_PER_QUERY):
        yield from rows.filter(**{f"{column}__in": ordered[start : start + IDS_PER_QUERY]}).order_by()


def _digests_above(bank: Bank, ids: set[int]) -> dict[int, Any]:
    """Parent, granularity and period of these digests and of all above them."""
    digests = bank.entries.values_list("pk", *_raw("parent_id", "granularity", "period_start"))
    above: dict[int, Any] = {}
    for _ in Granularity:  # no chain is longer, and a broken one must not loop
        above.update((pk, rest) for pk, *rest in _by_id(digests, ids - above.keys()))
        ids = {parent for parent, *_ in above.values() if parent}
    return above


def _live_entry_above(above: dict[int, Any], parent: int | None, granularity: str, start: date) -> tuple[str, date]:
    """Granularity and period of the live entry above one."""
    for _ in Granularity:
        if parent not in above:
            break
        parent, granularity, start = above[parent]
    return granularity, start


def tokens_by_day(bank: Bank) -> QuerySet[Entry, tuple[date, int]]:
    """The tokens of the leaf facts of each day."""
    days = bank.entries.leaves().visible_to().order_by("period_start").values_list("period_start")
    return days.annotate(size=Sum("tokens"))


def _stable_before(bank: Bank, budget: int) -> datetime | None:
    """The moment at which history had grown to the checkpoint of the stable section; None while all of it fits."""
    days = list(tokens_by_day(bank))
    sizes = [size for _, size in days]
    level = checkpoint(sum(sizes), budget)
    if (full := reached(sizes, level)) == len(days):
        return None
    leaves = bank.entries.leaves().visible_to().filter(period_start=days[full][0]).order_by("last_at", "pk")
    of_day = list(leaves.values_list("last_at", "tokens"))
    place = reached([size for _, size in of_day], level - sum(sizes[:full]))
    return of_day[place][0] if place < len(of_day) else None


@lru_cache(maxsize=4096)
def _period(granularity: str, start: date) -> tuple[int, date, str]:
    """Tier, first day and label of a period."""
    period, tier = Granularity(granularity).period, Granularity(granularity).tier
    return tier, start, period.label % {"day": dates.format_date(start), "month": f"{start:%B %Y}"}


@lru_cache(maxsize=4096)
def _said_at(day: date, last_at: datetime) -> datetime:
    """When a fact of a chat was said: if the chat went on for days, at the end of the fact's own day."""
    return last_at if day >= last_at.date() else datetime.combine(day, time.max, tzinfo=last_at.tzinfo)


@lru_cache(maxsize=4096)
def _day_label(day: date) -> str:
    return dates.format_date(day)


def leaf_line(fact: Fact) -> MemoryLine:
    """A leaf fact by itself, as if no digest had absorbed its entry."""
    values = {name: getattr(fact, name) for name in LINE_COLUMNS} | {"facts": (fact.pk,)}
    place = EntryPosition(fact.entry.last_at, str(fact.entry.chat_id))
    return _leaf_line(place, fact.said_on, values, frozenset(fact.citations))


def _leaf_line(place: EntryPosition, day: date, values: dict[str, Any], turns: frozenset[int]) -> MemoryLine:
    return MemoryLine(
        **values,
        said_at=_said_at(day, place.last_at),
        tier=place.tier,
        period_start=place.period_start if place.tier else day,
        label=_day_label(day),
        chat=place.chat,
        turns=turns,
    )


def _digest_line(
    place: EntryPosition, day: date, values: dict[str, Any], leaves: frozenset[int], turns: frozenset[int]
) -> MemoryLine:
    return MemoryLine(
        **values,
        # A digest's written lines share one time, so that they stay in the order in which they were written.
        said_at=place.last_at if not values["detail"] else datetime.combine(day, time.max, tzinfo=place.last_at.tzinfo),
        tier=place.tier,
        period_start=place.period_start,
        label=place.label,
        chat=place.chat,
        restates=leaves,
        turns=turns,
    )

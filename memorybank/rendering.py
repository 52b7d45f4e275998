"""A bank → the prompt block within a budget. Reads only; ``refresh`` stores what was rendered.

Every leaf fact is a candidate, whichever digest has absorbed it, and so are the facts that a model
wrote into live digests: absorbing is what re-opening undoes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time

from django.db import transaction
from django.db.models import Q

from . import conf, dates, ladder, packing
from .models import CARRIED, EXTRACTIVE, Bank, Chat, Fact, Granularity
from .packing import Block as Packed
from .packing import Candidate

#: Digests whose facts are leaf facts word for word: those stand for themselves.
VERBATIM = (CARRIED, EXTRACTIVE)
#: The tiers of a block in its order: oldest and coarsest first.
TIERS = tuple(reversed(Granularity))


@dataclass(frozen=True, slots=True)
class ShownLine:
    """One fact of a block. ``citations`` are output ids; ``facts`` the facts it stands for."""

    text: str
    granularity: str
    period: str
    citations: tuple[int, ...]
    facts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """The block exactly as a prompt gets it, its exact tokens, and every line with its origin."""

    text: str
    tokens: int
    budget: int
    encoding: str
    lines: tuple[ShownLine, ...] = ()
    chats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry stands: the live entry above it, and the chat it is a leaf of."""

    root: int
    granularity: Granularity
    period_start: date
    method: str


@dataclass(slots=True)
class Memory:
    """A bank's visible facts as packing sees them, with what is needed to explain a line."""

    candidates: list[Candidate]
    citations: dict[int, tuple[int, ...]]
    chat_keys: dict[int, frozenset[str]]


def render(bank: Bank, *, budget: int | None = None, exclude_chat: str = "") -> Block:
    """The block for ``budget`` tokens (default: the bank's), without the lines of one chat.

    "" when there is nothing to show or the bank is off. Same entries, same budget → same bytes.
    """
    encoding = conf.current().encoding
    limit = bank.max_tokens if budget is None else budget
    if not bank.enabled:
        return Block("", 0, limit, encoding)
    memory = load(bank, exclude_chat=exclude_chat)
    return _explained(packing.pack(memory.candidates, limit, encoding=encoding), memory, limit, encoding)


def load(bank: Bank, *, exclude_chat: str = "") -> Memory:
    """Every fact that may be shown, with its place on the ladder."""
    places = _places(bank)
    leaf_facts = Fact.objects.shareable().filter(entry__bank=bank, entry__granularity=Granularity.CONVERSATION)
    shown = leaf_facts.exclude(entry__chat__key=exclude_chat) if exclude_chat else leaf_facts
    memory = Memory([], {}, {})
    for fact in shown.select_related("entry__chat").order_by("pk"):
        if fact.entry_id not in places:  # written since the places were read
            continue
        key = fact.entry.chat.key if fact.entry.chat else ""
        memory.candidates.append(leaf_candidate(fact, places[fact.entry_id]))
        memory.citations[fact.pk], memory.chat_keys[fact.pk] = tuple(fact.citations), frozenset({key})
    _add_digests(bank, memory, places)
    return memory


def _add_digests(bank: Bank, memory: Memory, places: dict[int, Place]) -> None:
    """Facts of live digests, as long as everything they rest on may be shown."""
    digests = Fact.objects.visible().filter(entry__bank=bank, entry__parent=None)
    written = digests.exclude(Q(entry__granularity=Granularity.CONVERSATION) | Q(entry__method__in=VERBATIM))
    for fact in written.select_related("entry").order_by("pk"):
        if fact.entry_id in places and all(leaf in memory.chat_keys for leaf in fact.citations):
            outputs = {output for leaf in fact.citations for output in memory.citations[leaf]}
            memory.candidates.append(_digest_candidate(fact, places[fact.entry_id]))
            memory.citations[fact.pk] = tuple(sorted(outputs))
            memory.chat_keys[fact.pk] = frozenset().union(*(memory.chat_keys[leaf] for leaf in fact.citations))


def _places(bank: Bank) -> dict[int, Place]:
    """Each entry's place under its live root."""
    columns = ("pk", "parent_id", "granularity", "period_start", "method")
    rows = {row[0]: row for row in bank.entries.values_list(*columns)}
    places: dict[int, Place] = {}
    for pk in rows:
        top = pk
        for _ in Granularity:  # no chain is longer, and a broken one must not hang us
            top = rows[top][1] if rows[top][1] in rows else top
        _, _, granularity, start, method = rows[top]
        places[pk] = Place(top, Granularity(granularity), start, method)
    return places


def leaf_candidate(fact: Fact, place: Place | None = None) -> Candidate:
    """A leaf fact, in the tier of the digest that has absorbed its entry."""
    granularity = place.granularity if place else Granularity.CONVERSATION
    return Candidate(
        id=fact.pk,
        text=fact.text,
        at=fact.entry.last_at,
        tier=TIERS.index(granularity),
        period=_period(granularity, place.period_start if place else fact.said_on),
        label=dates.spell(fact.said_on),
        chat=str(fact.entry.chat_id),
        speaker=fact.speaker,
        kind=fact.kind,
        weight=fact.weight,
        tokens=fact.tokens,
        pinned=fact.pinned,
    )


def _digest_candidate(fact: Fact, place: Place) -> Candidate:
    period = _period(place.granularity, place.period_start)
    return Candidate(
        id=fact.pk,
        text=fact.text,
        at=datetime.combine(fact.said_on, time.max, tzinfo=fact.entry.last_at.tzinfo),
        tier=TIERS.index(place.granularity),
        period=period,
        label=_period_label(place.granularity, place.period_start),
        chat=f"digest {fact.entry_id}",
        speaker=fact.speaker,
        kind=fact.kind,
        weight=fact.weight,
        tokens=fact.tokens,
        pinned=fact.pinned,
        restates=frozenset(fact.citations),
    )


def _period(granularity: Granularity, start: date) -> str:
    return ladder.period_key(granularity, start)


def _period_label(granularity: Granularity, start: date) -> str:
    if granularity is Granularity.MONTH:
        return f"{start:%B %Y}"
    if granularity is Granularity.WEEK:
        return f"Week of {dates.spell(start)}"
    return dates.spell(start)


def _explained(packed: Packed, memory: Memory, budget: int, encoding: str) -> Block:
    """The packed block with every line's origin."""
    lines = tuple(
        ShownLine(
            text=line.text,
            granularity=TIERS[line.tier].value,
            period=line.period,
            citations=tuple(sorted({output for pk in line.ids for output in memory.citations[pk]})),
            facts=line.ids,
        )
        for line in packed.lines
    )
    return Block(packed.text, packed.tokens, budget, encoding, lines, _chats(lines, memory))


def _chats(lines: Iterable[ShownLine], memory: Memory) -> tuple[str, ...]:
    """Keys of the chats whose own words are shown: those get a variant without them."""
    return tuple(sorted({key for line in lines for pk in line.facts for key in memory.chat_keys[pk]}))


def refresh(bank_id: int) -> None:
    """Render the default block and store it, unless a newer one, an erasure or the bank's end got there first."""
    bank = Bank.objects.filter(pk=bank_id).first()
    if bank is None:
        return
    block = render(bank)
    Bank.objects.filter(pk=bank.pk, epoch=bank.epoch, block_version__lt=bank.version).update(
        block=block.text, block_tokens=block.tokens, block_chats=list(block.chats), block_version=bank.version
    )


def prompt_block(bank_id: int, *, chat_key: str = "") -> tuple[str, int]:
    """The chat path: the stored block and its tokens, in one indexed read.

    A chat whose own lines are in it gets its variant, rendered once for each stored block.
    """
    columns = ("enabled", "block", "block_tokens", "block_version", "block_chats")
    enabled, block, size, version, chats = Bank.objects.values_list(*columns).get(pk=bank_id)
    if not enabled:
        return "", 0
    return _variant(bank_id, chat_key, version) if chat_key and chat_key in chats else (block, size)


def _variant(bank_id: int, chat_key: str, version: int) -> tuple[str, int]:
    chat = Chat.objects.only("block", "block_tokens", "block_version").get(bank=bank_id, key=chat_key)
    if chat.block_version == version:
        return chat.block, chat.block_tokens
    bank = Bank.objects.get(pk=bank_id)
    block = render(bank, exclude_chat=chat_key)
    with transaction.atomic():  # no erasure may slip in between the check and the write
        if Bank.objects.select_for_update().filter(pk=bank_id, epoch=bank.epoch).exists():
            Chat.objects.filter(pk=chat.pk).update(block=block.text, block_tokens=block.tokens, block_version=version)
    return block.text, block.tokens

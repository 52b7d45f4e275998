"""A bank → the prompt block within a budget. Reads only; ``refresh`` stores what was rendered.

Every leaf fact is a candidate, whichever digest has absorbed it, and so are the facts that a model
wrote into live digests: absorbing is what re-opening undoes.
"""

from dataclasses import dataclass
from datetime import date, datetime, time
from functools import lru_cache

from django.db import transaction
from django.db.models import Q

from . import conf, dates, ladder, packing, recall, tokens
from .models import CARRIED, EXTRACTIVE, Bank, Chat, Fact, Granularity
from .packing import Block as Packed
from .packing import Candidate
from .sentences import sentences

#: Digests whose facts are leaf facts word for word: those stand for themselves.
VERBATIM = (CARRIED, EXTRACTIVE)
#: The heading of the part of a block that answers a question.
ANSWERING = "From earlier chats, about this question:"
#: A smaller lead is not worth its headings.
LEAST_LEAD = 100
#: The tiers of a block in its order: oldest and coarsest first.
TIERS = tuple(reversed(Granularity))
#: What a candidate is made of. No model instances: a bank has tens of thousands of facts.
COLUMNS = ("pk", "text", "said_on", "speaker", "kind", "weight", "tokens", "pinned")


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
    """Where an entry stands: its own time and chat, and the rung and period of the live entry above it."""

    granularity: Granularity
    period_start: date
    tier: int
    period: str
    last_at: datetime
    chat: str
    chat_keys: frozenset[str]


@dataclass(slots=True)
class Memory:
    """A bank's visible facts as packing sees them, with what is needed to explain a line."""

    candidates: list[Candidate]
    citations: dict[int, tuple[int, ...]]
    chat_keys: dict[int, frozenset[str]]


def render(
    bank: Bank,
    *,
    budget: int | None = None,
    exclude_chat: str = "",
    question: str = "",
    now: datetime | None = None,
) -> Block:
    """The block for ``budget`` tokens (default: the bank's), without the lines of one chat.

    With a ``question``, it begins with what stands there whatever is asked, and goes on with what
    answers it; ``now`` is what "yesterday" in the question is read against. "" when there is nothing
    to show or the bank is off. Same entries, same budget, same question → same bytes.
    """
    encoding = conf.current().encoding
    limit = bank.max_tokens if budget is None else budget
    if not bank.enabled:
        return Block("", 0, limit, encoding)
    memory = load(bank, exclude_chat=exclude_chat)
    if not question.strip():
        return _explained(packing.pack(memory.candidates, limit, encoding=encoding), memory, limit, encoding)
    packed = _lead(memory, limit)
    said = [line.text for line in packed.lines]
    recalled = recall.answering(
        bank, question, room=limit - packed.tokens, said=said, exclude_chat=exclude_chat, now=now
    )
    return _explained(_with_tail(packed, recalled, limit), _joined(memory, recalled), limit, encoding)


def _lead(memory: Memory, limit: int) -> Packed:
    """What stands before the answer to any question: pinned facts always, and others in their share."""
    room = lead_tokens(limit)
    if room < LEAST_LEAD:  # too little for more than what must be shown
        pinned = [candidate for candidate in memory.candidates if candidate.pinned]
        return packing.pack(pinned, limit // 2, encoding=conf.current().encoding)
    return packing.pack(memory.candidates, room, encoding=conf.current().encoding)


def lead_tokens(limit: int) -> int:
    """How much of a budget is the same whatever is asked."""
    now = conf.current()
    return max(0, limit - max(now.question_tokens, round(limit * now.question_share)))


def _with_tail(lead: Packed, recalled: recall.Recalled, limit: int) -> Packed:
    """The lead, and after it what was recalled; where nothing is said before, the heading alone is the lead."""
    encoding = conf.current().encoding
    opening, header = lead, ANSWERING
    if not lead.text:
        opening, header = Packed(packing.HEADER, tokens.count(packing.HEADER, encoding)), ""
    packed = packing.pack(recalled.candidates, limit, lead=opening, header=header, encoding=encoding)
    return packed if len(packed.text) > len(opening.text) else lead


def _joined(memory: Memory, recalled: recall.Recalled) -> Memory:
    """``memory`` with the origins of what was recalled."""
    citations = {pk: (output,) for pk, output in recalled.outputs.items()}
    chats = {pk: frozenset({key}) for pk, key in recalled.chats.items()}
    return Memory([], {**memory.citations, **citations}, {**memory.chat_keys, **chats})


def load(bank: Bank, *, exclude_chat: str = "") -> Memory:
    """Every fact that may be shown, with its place on the ladder."""
    places = _places(bank)
    leaf_facts = Fact.objects.shareable().filter(entry__bank=bank, entry__granularity=Granularity.CONVERSATION)
    shown = leaf_facts.exclude(entry__chat__key=exclude_chat) if exclude_chat else leaf_facts
    memory = Memory([], {}, {})
    for entry, cited, *row in shown.order_by("pk").values_list("entry_id", "citations", *COLUMNS):
        if place := places.get(entry):  # else it was written since the places were read
            candidate = _leaf_candidate(place, *row)
            memory.candidates.append(candidate)
            memory.citations[candidate.id], memory.chat_keys[candidate.id] = tuple(cited), place.chat_keys
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
    columns = ("pk", "parent_id", "granularity", "period_start", "last_at", "chat_id", "chat__key")
    rows = {row[0]: row for row in bank.entries.values_list(*columns)}
    places: dict[int, Place] = {}
    for pk, (*_, last_at, chat, key) in rows.items():
        top = pk
        for _ in Granularity:  # no chain is longer, and a broken one must not hang us
            top = rows[top][1] if rows[top][1] in rows else top
        _, _, granularity, start, *_ = rows[top]
        places[pk] = _place(Granularity(granularity), start, last_at, chat, key or "")
    return places


def _place(rung: Granularity, start: date, last_at: datetime, chat: int | None, key: str = "") -> Place:
    period = ladder.period_key(rung, start)
    return Place(rung, start, TIERS.index(rung), period, last_at, str(chat), frozenset({key}))


def leaf_candidate(fact: Fact) -> Candidate:
    """A leaf fact by itself, as if no digest had absorbed its entry."""
    place = _place(Granularity.CONVERSATION, fact.said_on, fact.entry.last_at, fact.entry.chat_id)
    return _leaf_candidate(place, *(getattr(fact, column) for column in COLUMNS))


def _leaf_candidate(
    place: Place, pk: int, text: str, day: date, speaker: str, kind: str, weight: float, size: int, pinned: bool
) -> Candidate:
    return Candidate(
        id=pk,
        text=text,
        at=place.last_at,
        tier=place.tier,
        period=place.period,
        label=_spelt(day),
        chat=place.chat,
        speaker=speaker,
        kind=kind,
        weight=weight,
        tokens=size,
        pinned=pinned,
    )


@lru_cache(maxsize=4096)
def _spelt(day: date) -> str:
    return dates.spell(day)


def _digest_candidate(fact: Fact, place: Place) -> Candidate:
    return Candidate(
        id=fact.pk,
        text=fact.text,
        at=datetime.combine(fact.said_on, time.max, tzinfo=fact.entry.last_at.tzinfo),
        tier=place.tier,
        period=place.period,
        label=_period_label(place.granularity, place.period_start),
        chat=f"digest {fact.entry_id}",
        speaker=fact.speaker,
        kind=fact.kind,
        weight=fact.weight,
        tokens=fact.tokens,
        pinned=fact.pinned,
        restates=frozenset(fact.citations),
    )


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
            facts=tuple(pk for pk in line.ids if pk > 0),
        )
        for line in packed.lines
    )
    return Block(packed.text, packed.tokens, budget, encoding, lines, _chats(packed, memory))


def _chats(packed: Packed, memory: Memory) -> tuple[str, ...]:
    """Keys of the chats whose own words are shown: those get a variant without them."""
    return tuple(sorted({key for line in packed.lines for pk in line.ids for key in memory.chat_keys[pk]}))


def refresh(bank_id: int) -> None:
    """Render the default block and store it, unless a newer one, an erasure or the bank's end got there first."""
    bank = Bank.objects.filter(pk=bank_id).first()
    if bank is None or bank.block_version >= bank.version:
        return
    block, lead, chats = _standing(bank)
    Bank.objects.filter(pk=bank.pk, epoch=bank.epoch, block_version__lt=bank.version).update(
        block=block.text, block_tokens=block.tokens, block_chats=chats, lead=lead, block_version=bank.version
    )


def _standing(bank: Bank, exclude_chat: str = "") -> tuple[Block, str, list[str]]:
    """What is stored: the default block, the lead of a question's block, and the chats shown in either."""
    encoding = conf.current().encoding
    if not bank.enabled:
        return Block("", 0, bank.max_tokens, encoding), "", []
    memory = load(bank, exclude_chat=exclude_chat)
    packed = packing.pack(memory.candidates, bank.max_tokens, encoding=encoding)
    block = _explained(packed, memory, bank.max_tokens, encoding)
    lead = _lead(memory, bank.max_tokens)
    return block, lead.text, sorted({*block.chats, *_chats(lead, memory)})


@dataclass(frozen=True, slots=True)
class Stored:
    """A bank's standing texts as a chat gets them."""

    block: str = ""
    tokens: int = 0
    lead: str = ""


def prompt_block(
    bank_id: int, *, chat_key: str = "", question: str = "", now: datetime | None = None
) -> tuple[str, int]:
    """The chat path: the block a chat gets, and its tokens. Without a question one indexed read.

    A chat whose own lines are stored gets its variant, rendered once for each stored block. With a
    ``question``, the stored lead and what answers it: a few indexed reads more, no rendering of the bank.
    """
    stored = _stored(bank_id, chat_key)
    if stored is None:
        return "", 0
    if not question.strip():
        return stored.block, stored.tokens
    packed = _asked(bank_id, stored.lead, question, chat_key, now)
    return packed.text, packed.tokens


def _asked(bank_id: int, lead_text: str, question: str, chat_key: str, now: datetime | None) -> Packed:
    bank = Bank.objects.get(pk=bank_id)
    lead = Packed(lead_text, tokens.count(lead_text, conf.current().encoding) if lead_text else 0)
    if lead.tokens > bank.max_tokens:  # the budget was lowered a moment ago
        lead = Packed()
    room, said = bank.max_tokens - lead.tokens, sentences(lead_text)
    recalled = recall.answering(bank, question, room=room, said=said, exclude_chat=chat_key, now=now)
    return _with_tail(lead, recalled, bank.max_tokens)


def _stored(bank_id: int, chat_key: str) -> Stored | None:
    """What is stored for a chat; None while the bank is off."""
    columns = ("enabled", "block", "block_tokens", "lead", "block_version", "block_chats")
    enabled, block, size, lead, version, chats = Bank.objects.values_list(*columns).get(pk=bank_id)
    if not enabled:
        return None
    return _variant(bank_id, chat_key, version) if chat_key and chat_key in chats else Stored(block, size, lead)


def _variant(bank_id: int, chat_key: str, version: int) -> Stored:
    chat = Chat.objects.only("block", "block_tokens", "lead", "block_version").get(bank=bank_id, key=chat_key)
    if chat.block_version == version:
        return Stored(chat.block, chat.block_tokens, chat.lead)
    bank = Bank.objects.get(pk=bank_id)
    block, lead, _ = _standing(bank, exclude_chat=chat_key)
    with transaction.atomic():  # no erasure may slip in between the check and the write
        if Bank.objects.select_for_update().filter(pk=bank_id, epoch=bank.epoch).exists():
            Chat.objects.filter(pk=chat.pk).update(
                block=block.text, block_tokens=block.tokens, lead=lead, block_version=version
            )
    return Stored(block.text, block.tokens, lead)

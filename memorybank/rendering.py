"""A bank → the prompt block within a budget. Reads only; ``refresh`` stores what was rendered."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from . import conf, packing, recall, tokens
from .candidates import TIERS, Memory, load
from .models import Bank, Chat
from .packing import Block as Packed
from .sentences import sentences

#: The heading of the part of a block that answers a question.
ANSWERING = "From earlier chats, about this question:"
#: A smaller lead is not worth its headings.
LEAST_LEAD = 100


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
        return _explained(packing.pack(memory.pool, limit), memory, limit, encoding)
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
    return packing.pack(memory.pool, room)


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
    citations = {pk: f"[{output}]" for pk, output in recalled.outputs.items()}
    return Memory([], {**memory.citations, **citations}, {**memory.chat_keys, **recalled.chats}, memory.restated)


def _explained(packed: Packed, memory: Memory, budget: int, encoding: str) -> Block:
    """The packed block with every line's origin."""
    lines = tuple(
        ShownLine(
            text=line.text,
            granularity=TIERS[line.tier].value,
            period=line.period.partition(" ")[0],  # of a recalled turn, the day alone
            citations=memory.outputs(line.ids),
            facts=tuple(pk for pk in line.ids if pk > 0),
        )
        for line in packed.lines
    )
    return Block(packed.text, packed.tokens, budget, encoding, lines, _chats(packed, memory))


def _chats(packed: Packed, memory: Memory) -> tuple[str, ...]:
    """Keys of the chats whose own words are shown: those get a variant without them."""
    return tuple(sorted(memory.chats(pk for line in packed.lines for pk in line.ids)))


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
    packed = packing.pack(memory.pool, bank.max_tokens)
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

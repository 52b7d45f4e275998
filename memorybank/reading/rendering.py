"""A bank → its block within a budget, and the notes beside a message. Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _

from memorybank import conf, prompts
from memorybank.clock import PRESENT, at_present
from memorybank.core.packing.block import pack
from memorybank.core.packing.exclusion import exclude
from memorybank.core.packing.memory_line import MemoryLine, PackedBlock, Source, Text
from memorybank.core.packing.notes import Passage, pack_notes
from memorybank.exceptions import InvalidInput
from memorybank.language.terms import terms, words
from memorybank.models import Bank, BankDay, StoredBlock
from memorybank.reading import recall
from memorybank.reading.candidates import load

#: What stands above recalled notes.
RECALLED = prompts.text("memory.recalled")


NOTHING = Text()


@dataclass(frozen=True, slots=True)
class Block(Text):
    """The block exactly as a prompt gets it, and beside it what is recalled for a message."""

    budget: int = 0
    encoding: str = ""
    recalled: Text = NOTHING


@at_present
def render(
    bank: Bank,
    *,
    budget: int | None = None,
    recall_budget: int | None = None,
    exclude_chat: str = "",
    question: str = "",
    now: datetime = PRESENT,
) -> Block:
    """The block as it is now, for ``budget`` tokens (default: the bank's), without one chat's own lines.

    With a ``question``, ``recalled`` has what answers it in ``recall_budget`` tokens (default: the bank's); "yesterday"
    in it is read against ``now``. "" when there is nothing to show or the bank is off. Same entries, same budget → same
    bytes, whatever is asked. Raises :class:`InvalidInput` for a negative budget.
    """
    for name, value in (("budget", budget), ("recall_budget", recall_budget)):
        if value is not None and value < 0:
            raise InvalidInput(f"{name}: must not be negative.")
    limit = bank.max_tokens if budget is None else budget
    encoding = conf.current().encoding
    if not bank.enabled:
        return Block(budget=limit, encoding=encoding)
    shown = exclude(render_block(bank, limit), limit, encoding=encoding, chats=[exclude_chat] if exclude_chat else [])
    room = bank.recall_tokens if recall_budget is None else recall_budget
    recalled = notes(bank, question, shown, room, exclude_chat=exclude_chat, now=now)
    return Block(shown.text, shown.tokens, shown.lines, limit, encoding, recalled)


def render_block(bank: Bank, budget: int) -> PackedBlock:
    """The block of everything that may be shown, with its reserve, and what each line rests on."""
    memory = load(bank, budget=budget)
    block = pack(memory.pool, budget)

    def explained(lines: Sequence[MemoryLine]) -> tuple[MemoryLine, ...]:
        return tuple(line._replace(sources=tuple(map(memory.explain, line.facts))) for line in lines)

    return replace(block, lines=explained(block.lines), reserve=explained(block.reserve))


def notes(
    bank: Bank, question: str, beside: Text, room: int, *, exclude_chat: str = "", now: datetime | None = None
) -> Text:
    """What answers a message in ``room`` tokens, without repeating the block it stands beside; nothing if nothing does.

    From turns that memory covers, never from the chat that asks.
    """
    if room <= 0 or not question.strip():
        return NOTHING
    said, speakers = [line.text for line in beside.lines], [line.speaker for line in beside.lines]
    found = recall.answering(bank, question, room=room, said=said, exclude_chat=exclude_chat, now=now)
    packed = pack_notes(found, room, header=RECALLED, speakers=speakers, encoding=conf.current().encoding)
    return Text(packed.text, packed.tokens, tuple(map(_recalled_line, packed.passages)))


def _recalled_line(passage: Passage) -> MemoryLine:
    return MemoryLine(
        facts=(),
        text=passage.text,
        said_at=passage.at,
        speaker=passage.speaker,
        period_start=passage.at.date(),
        label=passage.label,
        sources=(Source((passage.chat_key,), (passage.output,)),),
        place=passage.place,
        why=_why(passage),
    )


def _why(passage: Passage) -> str:
    """Why a sentence was recalled."""
    if not passage.rank:
        return _("It replaced a part of what was recalled.")
    asked = set(passage.asked)
    found = dict.fromkeys(word for word in words(passage.text) if not asked.isdisjoint(terms(word)))
    has = ", ".join(f"“{word}”" for word in found)
    reasons = (
        [_("has %(words)s of the question") % {"words": has}]
        if has
        else [_("stands where the question's subject was talked about")]
    )
    reasons += [_("is said by somebody the question names")] if passage.named else []
    why = _(" and ").join(reasons)
    return _("It %(why)s; its turn is number %(rank)d of those found.") % {"why": why, "rank": passage.rank}


def refresh(bank_id: int, *, now: datetime) -> None:
    """Render the block of a bank that is on and store it, unless the stored one is current."""
    bank = Bank.objects.filter(pk=bank_id, enabled=True).first()
    if bank is None:
        return
    if StoredBlock.objects.current_version(bank.pk) < bank.version:
        block = render_block(bank, bank.max_tokens)
        if StoredBlock.objects.store(bank, block, now):
            BankDay.objects.note_block(bank, block.tokens, now)

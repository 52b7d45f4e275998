"""Check the invariants on live data: I1 coverage, I2 tree, I3 budget, I9 audience, the time zone and the audit log."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q

from memorybank import conf
from memorybank.core.packing.exclusion import exclude
from memorybank.language import tokens
from memorybank.models import (
    AuditLog,
    Bank,
    Chat,
    Entry,
    Fact,
    FactOutput,
    FactSource,
    Granularity,
    KeptFact,
    StoredBlock,
    public_id,
)
from memorybank.monitoring import audience
from memorybank.reading import rendering


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken invariant, its location and a description, which never contains chat text."""

    invariant: str
    where: str
    what: str


def find_violations(bank: Bank) -> list[Violation]:
    """All violations in a bank; an empty list proves that the invariants hold now."""
    checks = (_zone, _coverage, _tree, _tiers, _citations, _budget, _audience, _trail)
    return [violation for invariant in checks for violation in invariant(bank)]


def _zone(bank: Bank) -> Iterator[Violation]:
    """The time zone is known to this machine; otherwise the bank's days are those of UTC."""
    if bank.tz.key != bank.timezone:
        yield Violation("zone", "settings", f"this machine does not know the time zone {bank.timezone!r}; UTC is used")


def _coverage(bank: Bank) -> Iterator[Violation]:
    """I1: each answered output is in exactly one leaf, or after the watermark and counted in ``pending_outputs``."""
    leaves: dict[int, list[tuple[int, int, int]]] = {}
    columns = ("chat_id", "first_output", "last_output", "output_count")
    for chat_id, first, last, count in bank.entries.leaves().order_by("first_output").values_list(*columns):
        leaves.setdefault(chat_id, []).append((first, last, count))
    for chat in bank.chats.all().iterator():
        places = list(chat.outputs.remembered().values_list("sequence", flat=True))
        for what in _chat_coverage(chat, places, leaves.get(chat.pk, [])):
            yield Violation("I1", f"chat {public_id(chat.pk)}", what)


def _chat_coverage(chat: Chat, places: list[int], leaves: list[tuple[int, int, int]]) -> Iterator[str]:
    waiting = [place for place in places if place > chat.summarised_through]
    if len(waiting) != chat.pending_outputs:
        yield f"{len(waiting)} turns wait, {chat.pending_outputs} are counted"
    covered: Counter[int] = Counter()
    for first, last, count in leaves:
        inside = [place for place in places if first <= place <= last]
        covered.update(inside)
        if len(inside) != count:
            yield f"the leaf from turn {first} counts {count} turns and covers {len(inside)}"
        if last > chat.summarised_through:
            yield f"the leaf from turn {first} reaches beyond the watermark"
    for place in places:
        if covered[place] != (place <= chat.summarised_through):
            yield f"turn {place} is covered by {covered[place]} leaves"
    if _is_never_due(chat):
        yield "its turns wait, but no sweep will ever look at it"


def _is_never_due(chat: Chat) -> bool:
    waits = (chat.pending_outputs > 0 or chat.stale) and chat.bank.enabled
    return waits and chat.is_remembered and chat.due_at is None and chat.parked_at is None


def _tree(bank: Bank) -> Iterator[Violation]:
    """I2: a parent is coarser and of the same bank, which excludes cycles; turn counts add up."""
    entries = {entry.pk: entry for entry in Entry.objects.filter(bank=bank)}
    sums: Counter[int] = Counter()
    for entry in entries.values():
        if entry.parent_id is None:
            continue
        parent = entries.get(entry.parent_id)
        if parent is None:
            yield Violation("I2", f"entry {public_id(entry.pk)}", "its parent belongs to another bank")
        elif Granularity(parent.granularity).tier <= Granularity(entry.granularity).tier:
            yield Violation("I2", f"entry {public_id(entry.pk)}", "its parent is not coarser")
        sums[entry.parent_id] += entry.output_count
    for entry in entries.values():
        if entry.granularity != Granularity.CONVERSATION and entry.output_count != sums[entry.pk]:
            what = f"counts {entry.output_count} turns, its children {sums[entry.pk]}"
            yield Violation("I2", f"entry {public_id(entry.pk)}", what)


def _tiers(bank: Bank) -> Iterator[Violation]:
    """I2: a fact is in its entry's bank, and its tier is that of the topmost entry above it.

    Facts of private chats have no tier. Neither have lines of absorbed digests, unless a person pinned or edited them.
    """
    entries = {
        pk: rest
        for pk, *rest in Entry.objects.filter(bank=bank).values_list("pk", "parent_id", "granularity", "chat__private")
    }
    facts = Fact.objects.filter(Q(bank=bank) | Q(entry__bank=bank)).order_by("pk")
    decided = set(facts.decided_by_person().values_list("pk", flat=True))
    for pk, entry, own, tier in facts.values_list("pk", "entry_id", "bank_id", "tier").iterator():
        if own != bank.pk or entry not in entries:
            yield Violation("I2", f"fact {public_id(pk)}", "its entry belongs to another bank")
        elif tier != (expected := _tier(entries, entry, pk in decided)):
            yield Violation("I2", f"fact {public_id(pk)}", f"stands in tier {tier}, its entry in {expected}")


def _tier(entries: dict[int, list[Any]], pk: int, decided: bool) -> int | None:
    parent, granularity, private = entries[pk]
    if private or (parent and granularity != Granularity.CONVERSATION and not decided):
        return None
    for _ in Granularity:  # no chain is longer, and another check reports cycles
        if parent in entries:
            parent, granularity, _ = entries[parent]
    return Granularity(granularity).tier


def _citations(bank: Bank) -> Iterator[Violation]:
    """I2: facts of leaves cite turns of their chat; digests and their facts cite leaf facts of this bank.

    Foreign keys guarantee that the cited rows exist.
    """
    turns = FactOutput.objects.filter(fact__bank=bank).exclude(output__chat=F("fact__entry__chat"))
    for fact, output in turns.values_list("fact_id", "output_id"):
        yield Violation("I2", f"fact {public_id(fact)}", f"cites output {public_id(output)}, which is not of its chat")
    below = {"source__bank": bank, "source__entry__chat__isnull": False}
    sources = FactSource.objects.filter(fact__bank=bank).exclude(fact__entry__chat=None, **below)
    for fact, source in sources.values_list("fact_id", "source_id"):
        yield Violation(
            "I2", f"fact {public_id(fact)}", f"rests on fact {public_id(source)}, which is no leaf fact of this bank"
        )
    kept = KeptFact.objects.filter(entry__bank=bank).exclude(fact__bank=bank, fact__entry__chat__isnull=False)
    for entry, fact in kept.values_list("entry_id", "fact_id"):
        yield Violation(
            "I2", f"entry {public_id(entry)}", f"stands for fact {public_id(fact)}, which is no leaf fact of this bank"
        )
    for fact in bank.facts.filter(output_links=None, source_links=None).values_list("pk", flat=True):
        yield Violation("I2", f"fact {public_id(fact)}", "cites nothing")


def _budget(bank: Bank) -> Iterator[Violation]:
    """I3: the new and the stored block (as prompts get it) fit the budget, counted with the real tokenizer."""
    stored, encoding = StoredBlock.objects.current(bank.pk), conf.current().encoding
    blocks = {"fresh": rendering.render(bank).text}
    if stored:
        blocks["stored"] = exclude(stored.packed, bank.max_tokens, encoding=encoding).text
    for name, text in blocks.items():
        size = tokens.count(text, encoding)
        if size > bank.max_tokens:
            yield Violation("I3", f"{name} block", f"{size} tokens, the budget is {bank.max_tokens}")
    if stored and (size := tokens.count(stored.text, stored.encoding)) != stored.tokens:
        yield Violation("I3", "stored block", f"{size} tokens, but {stored.tokens} are noted")


def _audience(bank: Bank) -> Iterator[Violation]:
    """I9: only the readers of a private chat can see its memory."""
    return (Violation("I9", where, what) for where, what in audience.flaws(bank))


def _trail(bank: Bank) -> Iterator[Violation]:
    """No event of the audit log has been changed or deleted."""
    head = AuditLog.objects.filter(bank=bank).first()
    for where, what in bank.events.verify(head):
        yield Violation("trail", where, what)

"""A bank in numbers: what it holds, what waits, and what it cost."""

from dataclasses import dataclass

from django.db.models import Count, Sum

from memorybank.models import Bank, Chat, Output


@dataclass(frozen=True, slots=True)
class Statistics:
    """A bank in numbers. ``entries`` counts by granularity."""

    chats: int
    outputs: int
    pending: int
    parked: int
    entries: dict[str, int]
    facts: int
    quarantined: int
    llm_calls: int
    prompt_tokens: int
    completion_tokens: int


def statistics(bank: Bank) -> Statistics:
    """Counts over one bank and no other."""
    chats = Chat.objects.filter(bank=bank)
    facts = bank.facts.all()
    calls = bank.llm_calls.aggregate(n=Count("pk"), prompt=Sum("prompt_tokens"), completion=Sum("completion_tokens"))
    rungs = bank.entries.order_by().values_list("granularity").annotate(n=Count("pk"))
    return Statistics(
        chats=chats.count(),
        outputs=Output.objects.filter(chat__bank=bank).count(),
        pending=chats.aggregate(n=Sum("pending_outputs"))["n"] or 0,
        parked=chats.parked().count(),
        entries=dict(rungs),
        facts=facts.count(),
        quarantined=facts.exclude(quarantine="").count(),
        llm_calls=calls["n"],
        prompt_tokens=calls["prompt"] or 0,
        completion_tokens=calls["completion"] or 0,
    )

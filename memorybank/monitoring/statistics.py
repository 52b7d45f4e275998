"""Statistics of a bank: rows, pending work, tokens, and estimated costs of summarising."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.db.models import Count, Q, QuerySet, Sum, TextField
from django.db.models.functions import Cast, Length

from memorybank import conf, llm
from memorybank.language import tokens
from memorybank.models import Bank, BankDay, Chat, LLMCall, Output, PromptCount

#: Turns whose tokens are counted; the tokens of all other turns are estimated from their characters.
SAMPLE_TURNS = 50
#: Estimates: tokens of the instructions in each call, and tokens per word of an answer.
INSTRUCTION_TOKENS, TOKENS_A_WORD = 600, 4 / 3


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over one bank, without entries and facts of private chats.

    ``entries`` counts by granularity. ``dropped_lines`` are a model's lines that were not proved, and ``left_out`` the
    notes that its live digests do not tell.
    """

    chats: int
    outputs: int
    pending: int
    parked: int
    entries: dict[str, int]
    facts: int
    quarantined: int
    dropped_lines: int
    left_out: int
    llm_calls: int
    prompt_tokens: int
    completion_tokens: int


def statistics(bank: Bank) -> Statistics:
    chats = Chat.objects.filter(bank=bank)
    facts = bank.facts.visible_to()
    calls = bank.llm_calls.aggregate(n=Count("pk"), prompt=Sum("prompt_tokens"), completion=Sum("completion_tokens"))
    visible = bank.entries.visible_to().order_by()
    entries = visible.values_list("granularity").annotate(n=Count("pk"))
    untold = visible.aggregate(dropped=Sum("dropped_lines"), left_out=Sum("left_out", filter=Q(parent=None)))
    return Statistics(
        chats=chats.count(),
        outputs=Output.objects.filter(chat__bank=bank).count(),
        pending=chats.aggregate(n=Sum("pending_outputs"))["n"] or 0,
        parked=chats.parked().count(),
        entries=dict(entries),
        facts=facts.count(),
        quarantined=facts.exclude(quarantine="").count(),
        dropped_lines=untold["dropped"] or 0,
        left_out=untold["left_out"] or 0,
        llm_calls=calls["n"],
        prompt_tokens=calls["prompt"] or 0,
        completion_tokens=calls["completion"] or 0,
    )


class RecordedCounts(NamedTuple):
    """The input for memory: numbers of shared chats and private chats with a turn, and of answered turns."""

    chats: int = 0
    private: int = 0
    turns: int = 0


def count_recorded(bank: Bank) -> RecordedCounts:
    """Count a bank's chats and turns, without turns of private chats. Makes two queries."""
    written = bank.chats.filter(last_output_at__isnull=False)
    chats = written.aggregate(chats=Count("pk", filter=Q(private=False)), private=Count("pk", filter=Q(private=True)))
    return RecordedCounts(turns=Output.objects.remembered().filter(chat__bank=bank).visible_to().count(), **chats)


@dataclass(frozen=True, slots=True)
class EarlierTurnCounts:
    """The turns from before memory was on, with an estimate for summarising them; digests are not included.

    ``cost`` is in the currency of the configured prices; None if no model is configured.
    """

    chats: int
    people: int
    turns: int
    tokens: int
    calls: int
    cost: Decimal | None


def count_earlier_turns(bank: Bank) -> EarlierTurnCounts:
    """The turns that enabling memory with history would include, without private chats and excluded people.

    Makes a handful of queries. Counts the tokens of the newest turns only and estimates the others.
    """
    excluded = bank.opt_outs.filter(until=None).values("author")
    before = Output.objects.before_memory(bank).filter(erasure_requested=False).visible_to()
    before = before.exclude(author__in=excluded)
    if bank.remembers_since:
        before = before.filter(created_at__gte=bank.remembers_since)
    counts = before.aggregate(
        chats=Count("chat", distinct=True), people=Count("author", distinct=True), turns=Count("pk")
    )
    size = _tokens(before)
    calls, cost = summary_cost(counts["chats"], size)
    return EarlierTurnCounts(**counts, tokens=size, calls=calls, cost=cost)


def summary_cost(chats: int, tokens: int) -> tuple[int, Decimal | None]:
    """Estimate the model calls, and their cost, of summarising ``chats`` chats with ``tokens`` tokens in total.

    The cost is in the currency of the configured prices. Returns ``(0, None)`` if no model is configured.
    """
    if not llm.get("summary"):
        return 0, None
    settings = conf.current()
    calls = chats + tokens // settings.chunk_tokens
    call = LLMCall(purpose=LLMCall.Purpose.SUMMARY)
    call.prompt_tokens = tokens + calls * INSTRUCTION_TOKENS
    call.completion_tokens = round(tokens * settings.words_per_token * TOKENS_A_WORD)
    call.price()
    return calls, call.cost


def expire_statistics(now: datetime) -> int:
    """Delete the counts of days more than ``STATISTICS_DAYS`` ago, of all banks; return how many rows."""
    return PromptCount.objects.expire(now) + BankDay.objects.expire(now)


def _tokens(outputs: QuerySet[Output]) -> int:
    """Estimate the tokens of all turns from their characters and the newest turns' tokens per character."""
    length = Length("question") + Length("answer") + Length(Cast("messages", TextField()))
    characters = outputs.aggregate(n=Sum(length))["n"] or 0
    sample = outputs.annotate(text=Cast("messages", TextField())).order_by("-pk")
    texts = ["".join(row) for row in sample.values_list("question", "answer", "text")[:SAMPLE_TURNS]]
    counted = sum(tokens.count(text, conf.current().encoding) for text in texts)
    return round(characters * counted / (sum(map(len, texts)) or 1))

"""A bank in numbers: what it holds, what waits, and what it cost."""

from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from django.db.models import Count, Q, QuerySet, Sum, TextField
from django.db.models.functions import Cast, Length

from memorybank import conf, llm
from memorybank.language import tokens
from memorybank.models import Bank, Chat, LLMCall, Output

#: Turns whose tokens are counted; those of all others are estimated from their characters.
SAMPLE_TURNS = 50
#: Tokens of the instructions in each call, and of a word that a model writes.
INSTRUCTION_TOKENS, TOKENS_A_WORD = 600, 4 / 3


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over one bank. ``entries`` counts by granularity. Entries and facts of private chats are not counted."""

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
    chats = Chat.objects.filter(bank=bank)
    facts = bank.facts.visible_to()
    calls = bank.llm_calls.aggregate(n=Count("pk"), prompt=Sum("prompt_tokens"), completion=Sum("completion_tokens"))
    entries = bank.entries.visible_to().order_by().values_list("granularity").annotate(n=Count("pk"))
    return Statistics(
        chats=chats.count(),
        outputs=Output.objects.filter(chat__bank=bank).count(),
        pending=chats.aggregate(n=Sum("pending_outputs"))["n"] or 0,
        parked=chats.parked().count(),
        entries=dict(entries),
        facts=facts.count(),
        quarantined=facts.exclude(quarantine="").count(),
        llm_calls=calls["n"],
        prompt_tokens=calls["prompt"] or 0,
        completion_tokens=calls["completion"] or 0,
    )


class Recorded(NamedTuple):
    """What memory can be made from: chats with a turn, private ones apart, and answered turns."""

    chats: int = 0
    private: int = 0
    turns: int = 0


def recorded(bank: Bank) -> Recorded:
    """Two queries. Turns of private chats are not counted."""
    written = bank.chats.filter(last_output_at__isnull=False)
    chats = written.aggregate(chats=Count("pk", filter=Q(private=False)), private=Count("pk", filter=Q(private=True)))
    return Recorded(turns=Output.objects.remembered().filter(chat__bank=bank).visible_to().count(), **chats)


@dataclass(frozen=True, slots=True)
class History:
    """The turns from before memory was on, and an estimate of what summarising them takes, without later digests.

    ``cost`` is in the currency of the prices; None: no model is configured.
    """

    chats: int
    people: int
    turns: int
    tokens: int
    calls: int
    cost: Decimal | None


def history(bank: Bank) -> History:
    """What switching memory on with history would include: no private chats, nobody excluded.

    A handful of queries; counts the tokens of the newest turns only.
    """
    excluded = bank.opt_outs.filter(until=None).values("author")
    before = Output.objects.before_memory(bank).filter(withheld=False).visible_to()
    before = before.exclude(author__in=excluded)
    if bank.remembers_since:
        before = before.filter(created_at__gte=bank.remembers_since)
    counts = before.aggregate(
        chats=Count("chat", distinct=True), people=Count("author", distinct=True), turns=Count("pk")
    )
    size, settings = _tokens(before), conf.current()
    calls = counts["chats"] + size // settings.chunk_tokens
    if not llm.get("summary"):
        return History(**counts, tokens=size, calls=0, cost=None)
    call = LLMCall(purpose=LLMCall.Purpose.SUMMARY)
    call.prompt_tokens = size + calls * INSTRUCTION_TOKENS
    call.completion_tokens = round(size * settings.words_per_token * TOKENS_A_WORD)
    call.price()
    return History(**counts, tokens=size, calls=calls, cost=call.cost)


def _tokens(outputs: QuerySet[Output]) -> int:
    """An estimate: the characters of all turns, times the tokens for each character of the newest ones."""
    length = Length("question") + Length("answer") + Length(Cast("messages", TextField()))
    characters = outputs.aggregate(n=Sum(length))["n"] or 0
    sample = outputs.annotate(text=Cast("messages", TextField())).order_by("-pk")
    texts = ["".join(row) for row in sample.values_list("question", "answer", "text")[:SAMPLE_TURNS]]
    counted = sum(tokens.count(text, conf.current().encoding) for text in texts)
    return round(characters * counted / (sum(map(len, texts)) or 1))

"""Write banks of any size straight into the tables; replaying so much history would take hours."""

import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cache

from django.utils import timezone

from memorybank import services
from memorybank.language.tokens import count
from memorybank.models import Bank, Chat, Entry, Fact, Granularity, Output
from memorybank.writing.fact_store import new_fact
from projects.importing import demo

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
CHATS_PER_DAY = 20
SPEAKERS = ("Priya", "Tom", "Hanna", "Ravi", "Dana")
#: Leaves older than this have been absorbed by the digest of their month.
ROLLED_UP = timedelta(days=60)


@cache
def vocabulary() -> tuple[str, ...]:
    """Every word of the shipped sample as often as it is said there, so that words are as rare as in life."""
    texts = (f"{line.output.question} {line.output.answer}" for line in demo.load_sample())
    return tuple(" ".join(texts).split())


def sentence(draw: random.Random, words: int = 0) -> str:
    """Words of the sample in an order nobody said."""
    chosen = draw.choices(vocabulary(), k=words or draw.randint(8, 20))
    return " ".join(chosen).rstrip(".,:;!?").capitalize() + "."


def bank(**settings: int) -> Bank:
    """An empty bank, switched on."""
    made = Bank.objects.create(**settings)
    services.enable(made, actor="benchmark", disclosure_accepted=True, now=NOW)
    return made


def fill(to: Bank, *, chats: int, facts: int) -> None:
    """Add ``chats`` settled chats with one leaf of ``facts`` facts each, the older ones rolled up into months."""
    draw = random.Random(1)
    rows = Chat.objects.bulk_create(_chat(to, number) for number in range(chats))
    turns = Output.objects.bulk_create(map(_turn, rows, to.draw(chats)))
    leaves = Entry.objects.bulk_create(_leaf(to, turn) for turn in turns)
    made = Fact.objects.create_cited(
        _fact(leaf, n, draw, [turn.pk]) for leaf, turn in zip(leaves, turns, strict=True) for n in range(facts)
    )
    _weigh(leaves, made)
    _roll_up(to, leaves, made, draw)
    to.chats.update(summarised_through=turns[-1].sequence)
    Bank.objects.filter(pk=to.pk).update(consolidate_at=None)
    Bank.objects.touch(to.pk)
    to.refresh_from_db()


def _at(number: int) -> datetime:
    return NOW - timedelta(days=1) * (number / CHATS_PER_DAY)


def _chat(to: Bank, number: int) -> Chat:
    return Chat(bank=to, key=f"chat-{number:06}", last_output_at=_at(number))


def _turn(chat: Chat, sequence: int) -> Output:
    assert chat.last_output_at
    return Output(chat=chat, sequence=sequence, author="priya", created_at=chat.last_output_at)


def _leaf(to: Bank, turn: Output) -> Entry:
    return Entry(
        bank=to,
        chat=turn.chat,
        granularity=Granularity.CONVERSATION,
        period_start=turn.created_at.date(),
        first_output=turn.sequence,
        last_output=turn.sequence,
        output_count=1,
        first_at=turn.created_at,
        last_at=turn.created_at,
        method="benchmark",
    )


def _fact(entry: Entry, position: int, draw: random.Random, citations: Sequence[int]) -> Fact:
    text = sentence(draw)
    return new_fact(
        entry,
        position=position,
        text=text,
        speaker=draw.choice(SPEAKERS) if entry.is_leaf else "",
        said_on=entry.last_at.date(),
        tokens=count(text),
        weight=round(draw.random(), 3),
        citations=citations,
    )


def _weigh(leaves: Sequence[Entry], facts: Sequence[Fact]) -> None:
    """Say of each leaf how long its facts are."""
    sizes: Counter[int] = Counter()
    for fact in facts:
        sizes[fact.entry_id] += fact.tokens
    for leaf in leaves:
        leaf.tokens = sizes[leaf.pk]
    Entry.objects.bulk_update(leaves, ["tokens"], batch_size=500)


def _roll_up(to: Bank, leaves: Sequence[Entry], facts: Sequence[Fact], draw: random.Random) -> None:
    """A digest for each old month; each of its twenty facts cites three leaf facts."""
    months: dict[date, list[Entry]] = {}
    for leaf in leaves:
        if leaf.last_at < NOW - ROLLED_UP:
            months.setdefault(Granularity.MONTH.period.start(leaf.period_start), []).append(leaf)
    by_leaf: dict[int, list[int]] = {}
    for fact in facts:
        by_leaf.setdefault(fact.entry_id, []).append(fact.pk)
    for start, children in months.items():
        digest = _digest(to, start, children)
        Entry.objects.filter(pk__in=[child.pk for child in children]).absorb_into(digest)
        pool = [pk for child in children for pk in by_leaf.get(child.pk, [])]
        cited = [draw.sample(pool, min(3, len(pool))) for _ in range(20)]
        Fact.objects.create_cited(_fact(digest, n, draw, pks) for n, pks in enumerate(cited))


def _digest(to: Bank, start: date, children: Sequence[Entry]) -> Entry:
    return Entry.objects.create(
        bank=to,
        granularity=Granularity.MONTH,
        period_start=start,
        output_count=len(children),
        first_at=min(child.first_at for child in children),
        last_at=max(child.last_at for child in children),
        method="benchmark",
    )


def chat_of(to: Bank, *, turns: int, words: int, key: str = "long") -> int:
    """Record a chat of ``turns`` turns of about ``words`` words, half asked and half answered; its tokens."""
    draw = random.Random(1)
    at = timezone.now() - timedelta(hours=2)  # today, so that nothing is ripe for a roll-up
    size = 0
    for number in range(turns):
        texts = [" ".join(sentence(draw, 14) for _ in range(max(1, words // 28))) for _ in range(2)]
        when = at + timedelta(seconds=number)
        services.record(
            to, chat_key=key, author="priya", question=texts[0], answer=texts[1], created_at=when, key=str(number)
        )
        size += sum(map(count, texts))
    return size

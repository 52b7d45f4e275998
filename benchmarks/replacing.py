"""Finding the facts that a new fact replaces: 2,500 facts beside 160,000.

Command: python -m benchmarks replacing

The index finds turns, then the facts of their chats are read. Target: at 160,000 facts no more than 1.5 × the time for
2,500. One value is a name that occurs in five chats, the other a date that occurs in twenty; the hits are the same at both
sizes.
"""

from functools import partial

from django.db import connection, transaction

from memorybank.indexing.fact_replacement import supersede
from memorybank.language.terms import terms
from memorybank.models import Bank, Chat, Entry, Fact, Output, SearchDocument
from memorybank.reading.recall.index_terms import date_words, index_text
from memorybank.writing.fact_store import new_fact

from . import scratch, seeding
from .measuring import Measurement, interleaved_ms, queries, show

FACT_COUNTS = (2_500, 160_000)
FACTS_PER_CHAT, CHATS_WITH_VALUE = 10, 5
REPETITIONS = 15
NAME = "Quorvex 8"
NEW = f"The importer uses Northbook 3 instead of {NAME}; its launch is moved from 1 March 2026 to 17 May 2026."


def measure() -> list[Measurement]:
    """Medians, the sizes in turns; nothing that is found stays replaced."""
    with scratch.database():
        news = [_new_fact(_bank(size)) for size in FACT_COUNTS]
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")
        looks = [partial(_look, fact) for fact in news]
        times = interleaved_ms(looks, REPETITIONS)
        counts = [queries(look) for look in looks]
    rows = [
        row
        for size, ms, count in zip(FACT_COUNTS, times, counts, strict=True)
        for row in (
            Measurement(f"{size:,} facts: ms", f"{ms:.1f}"),
            Measurement(f"{size:,} facts: queries", str(count)),
        )
    ]
    return [*rows, Measurement("largest / smallest", f"{times[-1] / times[0]:.2f} ×", "≤ 1.5 ×")]


def _look(fact: Fact) -> None:
    with transaction.atomic():
        supersede(fact.bank, [fact])
        transaction.set_rollback(True)


def _bank(facts: int) -> Bank:
    """A history with a turn in the index for each chat, which says what its facts say."""
    bank = seeding.bank()
    seeding.fill(bank, chats=facts // FACTS_PER_CHAT, facts=FACTS_PER_CHAT)
    leaves = list(bank.entries.leaves().order_by("pk").values_list("pk", "chat_id", "last_at"))
    for leaf, *_ in leaves[:: len(leaves) // CHATS_WITH_VALUE]:
        Fact.objects.filter(entry=leaf, position=0).update(text=f"The nightly export of {leaf} goes to {NAME}.")
    texts: dict[int, list[str]] = {}
    for entry, text in bank.facts.order_by("pk").values_list("entry_id", "text"):
        texts.setdefault(entry, []).append(text)
    outputs = Output.objects.bulk_create(
        Output(chat_id=chat, sequence=n, author="priya", question="\n".join(texts[leaf]), created_at=at)
        for n, (leaf, chat, at) in zip(bank.draw(len(leaves)), leaves, strict=True)
    )
    SearchDocument.objects.bulk_create((_document(bank, output) for output in outputs), batch_size=2_000)
    return bank


def _document(bank: Bank, output: Output) -> SearchDocument:
    turn_terms = terms(output.question)
    words = index_text(bank.pk, output.chat_id, turn_terms, date_words(output.created_at.date(), output.question))
    of = {
        "output": output,
        "bank": bank,
        "chat_id": output.chat_id,
        "sequence": output.sequence,
        "said_at": output.created_at,
    }
    return SearchDocument(words=words, length=len(turn_terms), lines=[], **of)


def _new_fact(bank: Bank) -> Fact:
    """What a chat says that has just been summarised."""
    chat = Chat.objects.create(bank=bank, key="news", last_output_at=seeding.NOW)
    turn = Output.objects.create(
        chat=chat, sequence=bank.draw(1)[0], author="priya", question=NEW, created_at=seeding.NOW
    )
    leaf = Entry(
        bank=bank, chat=chat, granularity="conversation", first_output=turn.sequence, last_output=turn.sequence
    )
    leaf.period_start, leaf.first_at, leaf.last_at = seeding.NOW.date(), seeding.NOW, seeding.NOW
    leaf.output_count, leaf.method = 1, "benchmark"
    leaf.save()
    fact = new_fact(leaf, position=0, text=NEW, said_on=seeding.NOW.date(), tokens=30, citations=[turn.pk])
    Fact.objects.create_cited([fact])
    return fact


if __name__ == "__main__":
    show(__doc__.splitlines()[0], measure())

"""The index of pgvector: what ``tests/system/test_pgvector.py`` runs on a server that has it."""

import random
from array import array
from collections.abc import Sequence
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import connection

from memorybank import services
from memorybank.llm.embeddings import _unit
from memorybank.models import Bank, Chat, Embedding, Output, SearchDocument
from memorybank.postgresql import vector_index
from memorybank.reading.recall import pgvector, vectors
from memorybank.reading.recall.index_cache import IndexCache
from tests.memorybank.indexing.test_embeddings import LATER, compared, server, use  # noqa: F401 - fixtures
from tests.support.factories import MONDAY, make_bank, run, say
from tests.support.openai_server import DIMENSIONS, OpenAIServer, embedding

pytestmark = pytest.mark.django_db
QUESTION = "Who paints the crane?"
TURN_COUNT = 300


@pytest.fixture(autouse=True)
def without_rows_of_other_tests(db: None) -> None:
    """Rows that were rolled back stay in the index until it is vacuumed, and a search may end among them."""
    sql(f"REINDEX TABLE {vector_index.TABLE}")


@pytest.fixture
def by_index(monkeypatch: Any) -> None:
    """Small banks, too, are searched by the index."""
    monkeypatch.setattr(pgvector, "MAX_VECTORS_WITHOUT_INDEX", 0)


def sql(*statements: str) -> list[Any]:
    """The rows of the last statement."""
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def fill(bank: Bank, draw: random.Random, turns: int = TURN_COUNT) -> list[int]:
    """Documents with random vectors; their ids."""
    chat = Chat.objects.create(bank=bank, key="filled")
    outputs = Output.objects.bulk_create(
        Output(chat=chat, sequence=n, author="ann", question="?", created_at=MONDAY) for n in range(turns)
    )
    SearchDocument.objects.bulk_create(
        SearchDocument(
            output=output, bank=bank, chat=chat, sequence=output.sequence, words="", length=0, lines=[], said_at=MONDAY
        )
        for output in outputs
    )
    made = [
        Embedding(
            document_id=output.pk,
            bank=bank,
            model="small",
            dims=DIMENSIONS,
            vector=_unit([draw.gauss(0, 1) for _ in range(DIMENSIONS)]),
        )
        for output in outputs
    ]
    vector_index.store(connection, Embedding.objects.bulk_create(made))
    return [output.pk for output in outputs]


def exactly_nearest(bank: Bank) -> list[int]:
    """The bank's turns, nearest first, computed here."""
    asked = embedding(QUESTION)

    def near(vector: bytes) -> float:
        return sum(a * b for a, b in zip(asked, array("f", vector), strict=True))

    rows = Embedding.objects.filter(bank=bank).values_list("pk", "vector")
    return sorted((pk for pk, _ in rows), key={pk: -near(bytes(v)) for pk, v in rows}.__getitem__)


def overlap(found: Sequence[int], wanted: Sequence[int]) -> int:
    """How many of the ten best were found."""
    return len(set(found[:10]) & set(wanted[:10]))


def test_every_new_vector_is_in_the_index(use: Any) -> None:  # noqa: F811
    say(make_bank(), "a", "The crane is orange.")
    run(LATER)
    assert sql("SELECT count(near), min(vector_dims(near)) FROM memorybank_embedding") == [(1, 288)]


def test_the_index_finds_the_nearest_turns_of_its_own_bank(use: Any, by_index: None) -> None:  # noqa: F811
    draw, banks = random.Random(1), [make_bank() for _ in range(4)]
    for bank in banks:
        fill(bank, draw)
    for bank in banks:
        found = compared(bank, QUESTION).nearest
        assert overlap(found, exactly_nearest(bank)) >= 9
        assert Embedding.objects.filter(pk__in=found, bank=bank).count() == len(found) > 60


def test_a_large_bank_is_searched_by_the_index(use: Any, by_index: None, monkeypatch: Any) -> None:  # noqa: F811
    bank = make_bank()
    fill(bank, random.Random(2))
    plans: list[str] = []

    def keep_plan(execute: Any, statement: Any, params: Any, many: bool, context: Any) -> Any:
        if "<=>" in statement and "ORDER BY" in statement and "hashint8" not in statement:
            plans.extend(row[0] for row in explained(statement, params))
        return execute(statement, params, many, context)

    def explained(statement: Any, params: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.cursor.execute(f"EXPLAIN {statement}", params)
            return cursor.fetchall()

    with connection.execute_wrapper(keep_plan):
        compared(bank, QUESTION)
    assert any("memorybank_near_256" in line for line in plans), plans


def test_index_and_scan_say_the_same_of_a_question(use: Any) -> None:  # noqa: F811
    bank = make_bank()
    ids = fill(bank, random.Random(3))
    by_index = compared(bank, QUESTION).similarities(ids)
    rows = Embedding.objects.filter(bank=bank)
    asked = _unit(embedding(QUESTION))
    scanned = vectors.scan(IndexCache(bank), rows, asked, key="", without=None, within=None).similarities(ids)
    assert by_index.cosines == pytest.approx(scanned.cosines, abs=0.005)
    assert (by_index.ordinary, by_index.nearest) == pytest.approx((scanned.ordinary, scanned.nearest), abs=0.03)


def test_vectors_from_before_the_extension_are_migrated(use: Any) -> None:  # noqa: F811
    bank = make_bank()
    say(bank, "a", "The crane is orange.")
    say(bank, "b", "The ferry is late.")
    run(LATER)
    before = compared(bank, "crane").nearest
    sql("SET CONSTRAINTS ALL IMMEDIATE", "ALTER TABLE memorybank_embedding DROP COLUMN near")
    assert not vector_index.holds(connection, DIMENSIONS)
    assert compared(bank, "crane").nearest == before and services.recall(bank, "crane")
    vector_index.install("default")
    assert vector_index.holds(connection, DIMENSIONS)
    assert sql("SELECT count(near) FROM memorybank_embedding") == [(2,)]
    assert compared(bank, "crane").nearest == before


def test_where_the_extension_is_refused_all_vectors_are_compared_and_a_check_says_so(use: Any) -> None:  # noqa: F811
    bank = make_bank()
    say(bank, "a", "The crane is orange.")
    run(LATER)
    assert not [check for check in run_checks(databases=["default"]) if check.id == "memorybank.W003"]
    sql("SET CONSTRAINTS ALL IMMEDIATE", "DROP EXTENSION vector CASCADE", "CREATE ROLE no_creator")
    sql("REVOKE CREATE ON DATABASE test_pgvector FROM PUBLIC", "SET LOCAL ROLE no_creator")
    vector_index.install("default")
    sql("RESET ROLE")
    assert not vector_index.holds(connection, DIMENSIONS)
    assert services.recall(bank, "crane")
    assert [check for check in run_checks(databases=["default"]) if check.id == "memorybank.W003"]


def test_an_erased_turn_is_gone_from_the_index_too(use: Any, by_index: None) -> None:  # noqa: F811
    bank = make_bank()
    gone, kept = say(bank, "a", "The crane is orange."), say(bank, "b", "The crane is loud.")
    run(LATER)
    assert set(compared(bank, "crane").nearest) == {gone.pk, kept.pk}
    services.erase(bank, output=gone.pk, actor="alice")
    assert compared(bank, "crane").nearest == [kept.pk]
    by_the_index_alone = "SELECT document_id FROM memorybank_embedding WHERE dims > 0 AND dims <= 256 " + (
        f"ORDER BY near::halfvec(288) <=> '{vector_index.extended(bank.pk, _unit(embedding('crane')))}'"
    )
    assert sql("SET LOCAL enable_seqscan = off", "SET LOCAL enable_sort = off", by_the_index_alone) == [(kept.pk,)]


def test_what_is_excluded_does_not_use_up_what_is_found(use: Any, by_index: None) -> None:  # noqa: F811
    bank, draw = make_bank(), random.Random(4)
    mine = say(bank, "mine", QUESTION, answer="")
    run(LATER)
    ids = fill(bank, draw)
    assert compared(bank, QUESTION).nearest[0] == mine.pk
    assert mine.pk not in compared(bank, QUESTION, without=mine.chat_id).nearest
    documents = SearchDocument.objects.filter(pk__in=ids[:3])
    found = vectors.compare(IndexCache(bank), QUESTION, total=TURN_COUNT, without=None, within=documents)
    assert set(found.nearest) == set(ids[:3])


def test_only_readers_are_given_a_private_turn(use: Any, by_index: None) -> None:  # noqa: F811
    bank = make_bank()
    secret = say(bank, "a", "The crane is orange.")
    run(LATER)
    services.set_audience(bank, chat_key="a", readers=("ann",), actor="alice")
    run(LATER)
    assert compared(bank, "crane").nearest == []
    assert compared(bank, "crane", viewer="ann").nearest == [secret.pk]


def test_a_text_without_meaning_is_near_to_nothing(use: Any, server: OpenAIServer) -> None:  # noqa: F811
    assert vector_index.extended(1, bytes(4 * DIMENSIONS)) is None

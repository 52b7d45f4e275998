"""Embeddings: optional, made after the turn is stored, one model at a time, and never in place of words."""

from collections.abc import Iterator
from typing import Any

import pytest

from memorybank import llm, services
from memorybank.indexing import embedding
from memorybank.llm.embeddings import OpenAICompatibleEmbedder
from memorybank.models import Bank, Chat, Embedding, LLMCall, Output, SearchDocument
from memorybank.reading.recall import vectors
from memorybank.reading.recall.index_cache import IndexCache
from projects.models import Project, Tenant
from tests.support.commands import PROCESS_TIMEOUT_SECONDS
from tests.support.factories import HOUR, MINUTE, MONDAY, make_bank, run, say
from tests.support.openai_server import DIMENSIONS, OpenAIServer

pytest.importorskip("numpy")
pytestmark = pytest.mark.django_db

#: When every chat of these tests has fallen idle.
LATER = MONDAY + HOUR


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def use(settings: Any, server: OpenAIServer) -> Iterator[Any]:
    """A function that configures the embedding model of this name."""

    def configure(name: str) -> None:
        options = {
            "BACKEND": "memorybank.llm.embeddings.OpenAICompatibleEmbedder",
            "BASE_URL": server.base_url,
            "MODEL": name,
            "TIMEOUT": PROCESS_TIMEOUT_SECONDS,
            "MAX_RETRIES": 0,
        }
        settings.MEMORYBANK = {"EMBEDDINGS": options}
        llm.reset()

    configure("small")
    yield configure
    llm.reset()


def compared(bank: Bank, question: str, *, without: int | None = None, viewer: str = "") -> vectors.Comparison:
    """A question with the vectors of a bank, read just now."""
    return vectors.compare(IndexCache(bank, viewer), question, total=Output.objects.count(), without=without)


def test_a_sweep_gives_every_turn_a_vector_with_its_model_and_size(use: Any, server: OpenAIServer) -> None:
    bank = make_bank()
    say(bank, "a", "The crane is orange.")
    say(bank, "b", "The ferry is late.")
    run(LATER)
    rows = Embedding.objects.values_list("model", "dims")
    assert list(rows) == [("small", DIMENSIONS)] * 2
    assert all(len(bytes(row.vector)) == 4 * DIMENSIONS for row in Embedding.objects.all())
    calls = server.calls
    run(LATER + MINUTE)
    assert server.calls == calls and not embedding.waiting().exists()


def test_a_turn_that_is_indexed_again_is_found_by_its_new_words_and_keeps_its_vector(
    use: Any, server: OpenAIServer
) -> None:
    bank = make_bank()
    say(bank, "a", "The crane is orange.")
    run(LATER)
    written, calls = list(SearchDocument.objects.values_list("words", "length", "lines")), server.calls
    SearchDocument.objects.update(words="", length=0, lines=[])
    Chat.objects.update(indexed_through=0, index_due=True)
    run(LATER + MINUTE)
    assert list(SearchDocument.objects.values_list("words", "length", "lines")) == written
    assert Embedding.objects.count() == 1 and server.calls == calls


def test_an_outage_of_the_embedding_model_loses_no_message(use: Any, server: OpenAIServer) -> None:
    server.mode = "500"
    bank = make_bank()
    say(bank, "a", "The crane is orange.")
    report = run(LATER)
    assert Output.objects.count() == SearchDocument.objects.count() == 1 and report.failed == 1
    assert services.recall(bank, "crane")
    server.mode = "ok"
    run(LATER + 2 * HOUR)
    assert Embedding.objects.count() == 1


def test_vectors_of_another_model_or_size_never_meet(use: Any, server: OpenAIServer) -> None:
    bank = make_bank()
    first = say(bank, "a", "The crane is orange.")
    say(bank, "b", "The crane is loud.")
    run(LATER)
    Embedding.objects.filter(pk=first.pk).update(dims=3, vector=b"\0" * 12)
    assert set(compared(bank, "crane").nearest) == {first.pk + 1}
    assert len({hit.pk for hit in services.recall(bank, "crane") if hit.kind == "output"}) == 2
    use("large")
    assert not compared(bank, "crane").nearest
    assert services.recall(bank, "crane")
    run(LATER + MINUTE)
    assert set(Embedding.objects.values_list("model", "dims")) == {("large", DIMENSIONS)}
    assert len(compared(bank, "crane").nearest) == 2


def test_meaning_finds_what_no_word_does(use: Any) -> None:
    bank = make_bank()
    near = say(bank, "a", "It was about the weather.", answer="")
    say(bank, "b", "The ferry is late.", answer="")
    run(LATER)
    assert services.recall(bank, "it was about")[0].pk == near.pk  # function words only: no word is looked for


def test_an_outage_while_asking_goes_by_words_and_is_remembered(use: Any, server: OpenAIServer) -> None:
    bank = make_bank()
    say(bank, "a", "The crane is orange.")
    run(LATER)
    server.mode = "500"
    calls = server.calls
    assert services.recall(bank, "crane") and services.recall(bank, "crane")
    assert server.calls == calls + 1  # the endpoint backs off for everybody


def test_a_turn_that_the_model_refuses_does_not_hold_up_the_others(use: Any, server: OpenAIServer) -> None:
    bank = make_bank()
    say(bank, "a", "The crane is orange.")
    server.mode = "400"
    run(LATER)
    assert not Embedding.objects.exists() and not embedding.waiting().exists()


def test_without_numpy_or_without_a_model_recall_goes_by_words(
    use: Any, server: OpenAIServer, monkeypatch: Any
) -> None:
    monkeypatch.setattr(vectors, "find_spec", lambda name: None)
    bank = make_bank()
    say(bank, "a", "The crane is orange.")
    run(LATER)
    assert server.calls == 0 and services.recall(bank, "crane")


@pytest.mark.parametrize("what", ["output", "chat", "project", "tenant"])
def test_deleting_leaves_no_vector(use: Any, what: str) -> None:
    tenant = Tenant.objects.create(slug="acme", name="Acme")
    bank, other = make_bank(), make_bank()
    project = Project.objects.create(tenant=tenant, slug="apollo", name="Apollo", bank=bank)
    output, kept = say(bank, "a", "The crane is orange."), say(other, "a", "The crane is orange.")
    run(LATER)
    assert Embedding.objects.count() == 2
    things: dict[str, Any] = {"chat": output.chat, "project": project, "tenant": tenant}
    if what == "output":
        services.erase(bank, output=output.pk, actor="alice")
    else:
        things[what].delete()
    assert Embedding.objects.get().pk == kept.pk


def test_a_private_chat_has_no_vector(use: Any) -> None:
    bank = make_bank()
    say(bank, "a", "The crane is orange.")
    run(LATER)
    services.set_audience(bank, chat_key="a", readers=(), actor="alice")
    assert not Embedding.objects.exists() and not compared(bank, "crane").nearest


def test_the_excluded_chat_is_left_out_of_the_comparison(use: Any) -> None:
    bank = make_bank()
    mine, other = say(bank, "mine", "The crane is orange."), say(bank, "other", "The crane is loud.")
    run(LATER)
    assert set(compared(bank, "crane", without=mine.chat_id).nearest) == {other.pk}


def test_an_erased_turn_gets_no_vector_from_a_call_under_way(use: Any, monkeypatch: Any) -> None:
    bank = make_bank()
    output = say(bank, "a", "The crane is orange.")
    embed = OpenAICompatibleEmbedder.embed

    def meanwhile(self: OpenAICompatibleEmbedder, texts: Any) -> Any:
        made = embed(self, texts)
        services.erase(bank, output=output.pk, actor="alice")
        return made

    monkeypatch.setattr(OpenAICompatibleEmbedder, "embed", meanwhile)
    run(LATER)
    assert not Embedding.objects.exists()


def test_a_bank_compares_with_its_own_vectors_only(use: Any) -> None:
    ours, theirs = make_bank(), make_bank()
    say(ours, "a", "The crane is orange.")
    say(theirs, "a", "The crane is orange.")
    run(LATER)
    assert len(compared(ours, "crane").nearest) == 1


def test_what_embedding_costs_is_in_the_ledger_and_not_among_the_calls_of_a_run(use: Any) -> None:
    bank = make_bank()
    say(bank, "a", "The crane is orange.")
    assert run(LATER).llm_calls == 0
    assert LLMCall.objects.get().purpose == LLMCall.Purpose.EMBEDDING


def test_a_question_leaves_without_its_secrets(use: Any, server: OpenAIServer) -> None:
    bank = make_bank()
    say(bank, "a", "The crane is orange.")
    run(LATER)
    services.recall(bank, "Is the password Copper55Lake still that of anna@example.com?")
    asked = str(server.requests[-1]["input"])
    assert "still that of" in asked
    assert "Copper55Lake" not in asked
    assert "anna@example.com" not in asked

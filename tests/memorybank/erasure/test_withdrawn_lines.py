"""A digest's line is withdrawn while a source is private or was corrected since, and comes back with the same bytes."""

from datetime import datetime
from typing import Any

import pytest

from memorybank import llm, services
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Chat, Entry, Fact
from tests.memorybank.erasure.test_what_is_left_of_digests import NOW, block, written_month
from tests.support.factories import (
    HOUR,
    MINUTE,
    MONDAY,
    add_fact,
    add_leaf,
    digests,
    make_bank,
    note_taker,
    run,
    say,
    sound,
)

pytestmark = pytest.mark.django_db

ANN = "key-of-ann"
CANARY = "Lisbon"


@pytest.fixture
def month(model: ScriptedLLM) -> tuple[Bank, Entry]:
    """A bank whose month a model wrote, and that month; from then on no model is configured."""
    bank, _erased, _lines = written_month()
    return bank, digests("month")[0]


@pytest.fixture
def paraphrased(month: tuple[Bank, Entry]) -> Bank:
    """That bank; a line of the month has a word of the chat "contract" without citing it, which became private."""
    bank, digest = month
    public = Fact.objects.filter(entry__chat__key="other1").earliest("pk")
    add_fact(digest, "A journey to Lisbon is planned.", position=91, citations=[public.pk])
    with llm.using("summary", None):
        run(NOW)
        narrow(bank, "contract")
    return bank


def narrow(bank: Bank, key: str, *, at: datetime = NOW) -> None:
    services.set_audience(bank, chat_key=key, readers=[ANN], actor="ann", now=at)


def share(bank: Bank, key: str, *, at: datetime = NOW + MINUTE) -> None:
    services.set_audience(bank, chat_key=key, readers=None, actor="ann", now=at)


def everywhere(bank: Bank, viewer: str = services.NOBODY) -> str:
    """All that a person could meet of memory."""
    bank = Bank.objects.get(pk=bank.pk)
    doors: list[Any] = [
        services.prompt_memory(bank, question="Who drives the truck to Lisbon?", now=NOW).system,
        services.render(bank, now=NOW).text,
        list(bank.line_versions.readable().values_list("text", flat=True)),
        list(services.browse(bank, viewer=viewer).values_list("text", "original")),
        services.search_facts(bank, "truck Lisbon", viewer=viewer, now=NOW),
        services.recall(bank, "truck Lisbon", viewer=viewer, now=NOW),
        list(services.export(bank, actor="owner", viewer=viewer, now=NOW)),
    ]
    return str(doors)


def memory_of(digest: Entry) -> list[Any]:
    """What a digest holds: its figures, its lines and the facts that it keeps."""
    digest.refresh_from_db()
    figures = [digest.output_count, digest.first_at, digest.last_at, digest.tokens, digest.stale, digest.outdated]
    lines = digest.facts.order_by("pk").values_list("pk", "text", "pinned", "hidden", "withdrawn", "tier")
    return [*figures, *lines, list(digest.kept_links.values_list("fact", flat=True))]


@pytest.mark.parametrize("sweeps", [0, 2])
@pytest.mark.parametrize("keys", [["contract"], ["contract", "other1"], [f"other{n}" for n in range(8)]])
def test_sharing_again_gives_the_same_bytes(month: tuple[Bank, Entry], keys: list[str], sweeps: int) -> None:
    bank, digest = month
    before, held = block(bank), memory_of(digest)
    with llm.using("summary", None):
        for key in keys:
            narrow(bank, key)
        for sweep in range(sweeps):
            run(NOW + sweep * HOUR)
            assert sound(bank)
        assert sweeps or block(bank) != before
        for key in reversed(keys):
            share(bank, key)
        assert block(bank) == before
        assert memory_of(digest) == held
        run(NOW + 4 * HOUR)
        assert block(bank) == before
        assert memory_of(digest) == held
    assert sound(bank)


def test_a_digest_of_one_chat_is_nowhere_while_it_is_private_and_comes_back(month: tuple[Bank, Entry]) -> None:
    bank, digest = month
    keys = [*Chat.objects.filter(entries__in=Entry.objects.filter(pk=digest.pk).below()).values_list("key", flat=True)]
    before = block(bank)
    with llm.using("summary", None):
        for key in keys:
            narrow(bank, key)
        run(NOW + MINUTE)
        assert not services.entries_of(bank).filter(pk=digest.pk).exists()
        assert CANARY not in everywhere(bank)
        assert sound(bank)
        for key in keys:
            share(bank, key)
        assert block(bank) == before
        assert sound(bank)


def test_nobody_meets_a_withdrawn_line_and_what_else_it_told_stands_in_its_place(month: tuple[Bank, Entry]) -> None:
    bank, digest = month
    private = Fact.objects.filter(entry__chat__key="contract", text__contains=CANARY).earliest("pk")
    public = Fact.objects.filter(entry__chat__key="other1").earliest("pk")
    line = add_fact(digest, "Omar drives to Lisbon, Ines to Porto.", position=90, citations=[private.pk, public.pk])
    paraphrase = add_fact(digest, "A journey to Lisbon is planned.", position=91, citations=[public.pk])
    with llm.using("summary", None):
        run(NOW)
        narrow(bank, "contract")
        assert CANARY not in everywhere(bank)
        run(NOW + MINUTE)
        assert CANARY not in everywhere(bank)
        assert CANARY not in str(services.browse(bank, viewer=ANN).filter(entry=digest).values_list("text"))
        assert set(Fact.objects.filter(withdrawn=True).values_list("pk", flat=True)) >= {line.pk, paraphrase.pk}
        assert public.text in block(bank)
    assert sound(bank)


def test_erasing_a_private_chat_deletes_its_withdrawn_lines_for_good(paraphrased: Bank) -> None:
    bank = paraphrased
    with llm.using("summary", None):
        services.erase(bank, chat="contract", actor="ann", now=NOW + MINUTE)
        run(NOW + HOUR)
    assert not Fact.objects.filter(text__contains=CANARY).exists()
    assert not Fact.objects.filter(withdrawn=True).exists()
    assert sound(bank)


def test_deleting_the_row_of_a_private_chat_shows_none_of_its_words(paraphrased: Bank) -> None:
    bank = paraphrased
    with llm.using("summary", None):
        Chat.objects.filter(key="contract").delete()
        run(NOW + HOUR)
    assert CANARY not in everywhere(bank)
    assert sound(bank)


def test_a_model_rewrites_the_digest_without_it_and_the_shared_chat_is_told_beside_it(
    month: tuple[Bank, Entry], model: ScriptedLLM
) -> None:
    bank, digest = month
    narrow(bank, "contract")
    model.answer = note_taker
    run(NOW + MINUTE)
    digest.refresh_from_db()
    assert not digest.outdated and not digest.facts.filter(withdrawn=True).exists()
    assert CANARY not in everywhere(bank)
    share(bank, "contract", at=NOW + HOUR)
    run(NOW + HOUR)
    assert CANARY in block(bank)
    assert sound(bank)


def test_a_pin_passes_to_the_sources_only_while_the_line_is_withdrawn(month: tuple[Bank, Entry]) -> None:
    bank, digest = month
    line = digest.facts.filter(sources__entry__chat__key="contract").earliest("pk")
    services.pin(bank, fact_ids=[line.pk], actor="ann", now=NOW)
    before = block(bank)
    with llm.using("summary", None):
        narrow(bank, "contract")
        assert all(line.sources.values_list("pinned", flat=True))
        share(bank, "contract")
    assert not any(line.sources.values_list("pinned", flat=True))
    assert block(bank) == before


def test_what_joins_a_written_digest_without_a_model_stands_beside_its_lines(month: tuple[Bank, Entry]) -> None:
    bank, digest = month
    lines = list(digest.facts.order_by("pk").values_list("pk", "text"))
    say(bank, "late", "The green ferry to Madeira costs 88 euro.", at=digest.last_at)
    with llm.using("summary", None):
        run(NOW + HOUR)
        run(NOW + 2 * HOUR)
    late = Entry.objects.get(chat__key="late")
    digest.refresh_from_db()
    assert late.parent_id and list(late.upwards())[-1] == digest
    assert list(digest.facts.order_by("pk").values_list("pk", "text")) == lines
    assert digest.method.startswith("scripted")
    assert sound(bank)


def test_a_correction_is_told_at_once_in_place_of_the_line_that_tells_the_old_value(model: ScriptedLLM) -> None:
    bank = make_bank()
    texts = ("Tom is on holiday until 17 July.", "Marta looks after the importer until Tom is back.")
    leaves = [add_leaf(bank, f"c{number}", [text], at=MONDAY) for number, text in enumerate(texts)]
    times = {"first_at": MONDAY, "last_at": MONDAY, "period_start": MONDAY.date()}
    digest = Entry.objects.create(bank=bank, granularity="day", output_count=2, method="written", **times)
    bank.entries.filter(pk__in=[leaf.pk for leaf in leaves]).absorb_into(digest)
    tom, marta = Fact.objects.order_by("pk")
    line = add_fact(digest, "Tom away until 17 July; Marta importer.", citations=[tom.pk, marta.pk], speaker="")
    bank.entries.digests().prune()
    with llm.using("summary", None):
        run(MONDAY + HOUR)
        before, held = block(bank), memory_of(digest)
        assert line.text in before
        services.edit_facts(bank, fact_ids=[tom.pk], text=texts[0].replace("17", "24"), actor="Tom", now=MONDAY + HOUR)
        for hours in (2, 3):
            assert "24 July" in block(bank) and "Marta" in block(bank) and "17 July" not in block(bank)
            memory = services.prompt_memory(bank, question="Until which day is Tom on holiday?", now=NOW)
            assert "17 July" not in f"{memory.recalled.text} {services.recall(bank, 'holiday of Tom', now=NOW)}"
            assert sound(bank)
            run(MONDAY + hours * HOUR)
        services.edit_facts(bank, fact_ids=[tom.pk], text=texts[0], actor="Tom", now=MONDAY + 4 * HOUR)
        assert block(bank) == before
        assert memory_of(digest) == held
        services.edit_facts(bank, fact_ids=[tom.pk], text=texts[0].replace("17", "24"), actor="Tom", now=NOW)
    run(NOW)
    digest.refresh_from_db()
    assert not digest.outdated and not Fact.objects.filter(withdrawn=True).exists()
    assert "24 July" in block(bank) and "17 July" not in block(bank)
    assert sound(bank)


def test_an_undone_correction_withdraws_what_was_written_from_it(model: ScriptedLLM) -> None:
    bank = make_bank()
    leaf = add_leaf(bank, "c0", ["Tom is on holiday until 17 July."], at=MONDAY)
    [tom] = leaf.facts.all()
    corrected = tom.text.replace("17", "24")
    with llm.using("summary", None):
        services.edit_facts(bank, fact_ids=[tom.pk], text=corrected, actor="Tom", now=MONDAY)
        times = {"first_at": MONDAY, "last_at": MONDAY, "period_start": MONDAY.date()}
        digest = Entry.objects.create(bank=bank, granularity="day", output_count=1, method="written", **times)
        bank.entries.filter(pk=leaf.pk).absorb_into(digest)
        add_fact(digest, "Tom away until 24 July.", citations=[tom.pk], speaker="")
        Bank.objects.touch(bank.pk)
        run(MONDAY + HOUR)
        assert "away until 24 July" in block(bank)
        services.edit_facts(bank, fact_ids=[tom.pk], text="Tom is on holiday until 17 July.", actor="Tom", now=NOW)
        assert "24 July" not in block(bank) and "17 July" in block(bank)
    assert sound(bank)


def test_a_note_of_the_same_message_that_tells_the_old_value_is_superseded(model: ScriptedLLM) -> None:
    bank = make_bank()
    leaf = add_leaf(bank, "c0", ["I am on holiday until 17 July.", "Tom on holiday until 17 July."], at=MONDAY)
    said, noted = leaf.facts.order_by("pk")
    services.edit_facts(bank, fact_ids=[said.pk], text="I am on holiday until 24 July.", actor="Tom", now=MONDAY)
    assert "24 July" in block(bank) and "17 July" not in block(bank)
    services.edit_facts(bank, fact_ids=[said.pk], text="I am on holiday until 17 July.", actor="Tom", now=MONDAY)
    noted.refresh_from_db()
    assert noted.superseded_by is None and "24 July" not in block(bank)

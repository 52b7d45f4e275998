"""The block's history: what goes from it, or is withheld, with an erasure or a private chat, and what has to stay."""

from datetime import date

import pytest

from memorybank import services
from memorybank.core.granularity import EPOCH, Granularity
from memorybank.indexing import block_writer
from memorybank.models import Bank, BlockLineVersion, Entry, Fact
from memorybank.writing import rollup, summarising
from tests.memorybank.reading.test_block_history import remember_chat
from tests.support.factories import DAY, HOUR, MINUTE, MONDAY, add_fact, chat_of, digests, make_bank, run, say

from .test_what_is_left_of_digests import NOW, WORD, written_month

pytestmark = pytest.mark.django_db
PARAPHRASE = f"A paraphrase with {WORD}."


def former_digest(bank: Bank, *, tier: Granularity, start: date) -> None:
    """Make each line of the block a former one of a digest."""
    lines = BlockLineVersion.objects.filter(bank=bank)
    lines.update(digest=True, tier=tier.tier, period_start=start, until=MONDAY + 2 * DAY)


def add_uncited_line(bank: Bank) -> None:
    """The month has a line in the block with the secret word that cites another chat; then the month is rewritten."""
    [digest] = digests("month")
    other = Fact.objects.filter(entry__chat__key="other1").earliest("pk")
    add_fact(digest, PARAPHRASE, position=91, citations=[other.pk], weight=1.0)
    Bank.objects.touch(bank.pk)
    block_writer.refresh(bank.pk, now=NOW)
    assert BlockLineVersion.objects.filter(text=PARAPHRASE, until=None).exists()
    Entry.objects.filter(pk=digest.pk).update(stale=True)
    Bank.objects.filter(pk=bank.pk).update(consolidate_at=NOW)
    rollup.roll_up(bank.pk, now=NOW + MINUTE)
    assert not Fact.objects.filter(text=PARAPHRASE).exists()


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("way", ["erase a turn", "erase the chat", "erase the author", "opt out", "delete"])
def test_a_rewritten_line_that_the_block_still_has_does_not_become_history(way: str) -> None:
    bank, erased, _ = written_month()
    erased.chat.outputs.update(author="Zelda")
    add_uncited_line(bank)
    now = NOW + 2 * MINUTE
    if way == "erase a turn":
        services.erase(bank, output=erased.pk, actor="ann", now=now)
    elif way == "erase the chat":
        services.erase(bank, chat="contract", actor="ann", now=now)
    elif way == "erase the author":
        services.erase(bank, author="Zelda", actor="ann", now=now)
    elif way == "opt out":
        services.opt_out(bank, author="Zelda", actor="Zelda", now=now)
    else:
        bank.chats.get(key="contract").delete()
    run(NOW + HOUR)
    assert not BlockLineVersion.objects.filter(text=PARAPHRASE).exists()


@pytest.mark.usefixtures("model")
def test_a_rewritten_line_leaves_prompts_and_history_with_a_chat_made_private() -> None:
    bank, _, _ = written_month()
    add_uncited_line(bank)
    services.set_audience(bank, chat_key="contract", readers=["ann"], actor="ann", now=NOW + 2 * MINUTE)
    assert WORD not in services.prompt_memory(bank, now=NOW + 2 * MINUTE).block.text
    run(NOW + HOUR)
    assert not BlockLineVersion.objects.readable().filter(text=PARAPHRASE).exists()


@pytest.mark.usefixtures("model")
def test_what_a_chats_notes_said_before_they_were_written_anew_goes_with_its_turn() -> None:
    bank = make_bank()
    erased = say(bank, "c0", f"The {WORD} contract was signed on Friday for 7731904 euro.")
    say(bank, "c0", "Ines drives the yellow truck to Porto.", at=MONDAY + MINUTE)
    run(MONDAY + HOUR)
    say(bank, "c0", "Omar drives the orange truck to Lisbon.", at=MONDAY + 2 * HOUR)
    Entry.objects.leaves().update(updates=99)  # it is rewritten next
    summarising.summarise_chat(chat_of(bank, "c0").pk, now=MONDAY + 3 * HOUR, even_if_busy=True)
    services.erase(bank, output=erased.pk, actor="ann", now=MONDAY + 3 * HOUR + MINUTE)
    run(MONDAY + 5 * HOUR)
    assert not BlockLineVersion.objects.filter(text__contains=WORD).exists()


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("then", ["erase", "make private again"])
def test_a_digest_that_the_chat_has_left_meanwhile_is_found(then: str) -> None:
    bank, erased, _ = written_month()
    [digest] = digests("month")
    former = {"since": NOW - 20 * DAY, "until": NOW - 10 * DAY, "said_at": MONDAY, "facts": [], "chats": ["other1"]}
    place = {"tier": Granularity.MONTH.tier, "period_start": digest.period_start, "digest": True, "pinned": False}
    line = BlockLineVersion.objects.create(bank=bank, text=PARAPHRASE, speaker="", label="", **former, **place)
    services.set_audience(bank, chat_key="contract", readers=["ann"], actor="ann", now=NOW)
    run(NOW + HOUR)  # the month is rewritten without the chat
    say(bank, "contract", "The weather is fine in Lisbon.", at=NOW + 2 * HOUR)
    run(NOW + 4 * HOUR)  # the chat is of another month now
    services.set_audience(bank, chat_key="contract", readers=None, actor="ann", now=NOW + 5 * HOUR)
    line.refresh_from_db()
    assert line.withheld_for == []
    if then == "erase":
        services.erase(bank, output=erased.pk, actor="ann", now=NOW + 6 * HOUR)
        assert not BlockLineVersion.objects.filter(pk=line.pk).exists()
    else:
        services.set_audience(bank, chat_key="contract", readers=["ann"], actor="ann", now=NOW + 6 * HOUR)
        assert not BlockLineVersion.objects.readable().filter(pk=line.pk).exists()


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("way", ["erase", "for nobody", "delete"])
def test_a_chat_that_was_never_shared_takes_no_digest_with_it(way: str) -> None:
    bank = make_bank()
    remember_chat(bank, 1)
    former_digest(bank, tier=Granularity.BACKGROUND, start=EPOCH)
    say(bank, "own", "The zebra is striped.")
    services.set_audience(bank, chat_key="own", readers=["zelda"], actor="Zelda", now=MONDAY)
    run(MONDAY + 3 * DAY)
    assert Entry.objects.leaves().filter(chat__key="own").exists()
    if way == "erase":
        services.erase(bank, output=chat_of(bank, "own").outputs.get().pk, actor="Zelda", now=MONDAY + 4 * DAY)
    elif way == "for nobody":
        services.set_audience(bank, chat_key="own", readers=[], actor="Zelda", now=MONDAY + 4 * DAY)
    else:
        chat_of(bank, "own").delete()
    assert BlockLineVersion.objects.former().filter(digest=True).count() == 1


@pytest.mark.usefixtures("no_model")
def test_what_left_the_block_before_a_message_was_written_does_not_go_with_it() -> None:
    bank = make_bank()
    remember_chat(bank, 1)
    former_digest(bank, tier=Granularity.BACKGROUND, start=EPOCH)
    remember_chat(bank, 5, at=MONDAY + 40 * DAY)
    services.erase(bank, chat="c5", actor="Zelda", now=MONDAY + 41 * DAY)
    assert BlockLineVersion.objects.former().filter(digest=True).count() == 1


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("is_private", [False, True])
@pytest.mark.parametrize("way", ["edit", "opt out"])
def test_what_memory_has_not_read_takes_no_history_with_it(way: str, is_private: bool) -> None:
    bank = make_bank()
    remember_chat(bank, 1)
    services.hide(bank, fact_ids=[Fact.objects.get().pk], actor="alice", now=MONDAY + DAY)
    if is_private:
        services.set_audience(bank, chat_key="c1", readers=["zelda"], actor="Zelda", now=MONDAY + 2 * DAY)
    new = say(bank, "c1", "What is the weather?", at=MONDAY + 3 * DAY, author="Bob", key="k1")
    if way == "edit":
        text = "What is the weather today?"
        say(bank, "c1", text, at=MONDAY + 3 * DAY + MINUTE, author="Bob", key="k2", replaces=[new.pk])
    else:
        services.opt_out(bank, author="Bob", actor="Bob", now=MONDAY + 3 * DAY + HOUR)
    assert BlockLineVersion.objects.former().count() == 1


@pytest.mark.usefixtures("no_model")
def test_when_a_private_chat_was_remembered_is_not_said() -> None:
    bank = make_bank()
    remember_chat(bank, 0)
    remember_chat(bank, 1, at=MONDAY + 5 * DAY)
    services.set_audience(bank, chat_key="c0", readers=["zelda"], actor="Zelda", now=MONDAY + 6 * DAY)
    later = MONDAY + 5 * DAY + HOUR
    assert services.block_kept_since(bank, now=MONDAY + 6 * DAY) == services.block_known_from(bank) == later

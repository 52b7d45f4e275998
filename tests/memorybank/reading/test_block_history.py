"""Block history: each line with its times, without lines that were erased, made private or masked since."""

import pytest

from memorybank import services
from memorybank.core.granularity import Granularity
from memorybank.core.memory_line import MemoryLine
from memorybank.models import Bank, BlockLineVersion, Fact
from tests.support.factories import DAY, HOUR, MINUTE, MONDAY, add_leaf, make_bank, run, say, sentence, tag
from tests.support.word_search import places

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_model")]


def shown(line: BlockLineVersion | MemoryLine) -> str:
    return f"says “{line.text}”" if line.is_report else line.text


def texts(bank: Bank, moment: object) -> list[str]:
    return [shown(line) for line in BlockLineVersion.objects.at(bank, moment)]  # type: ignore[arg-type]


def report(number: int) -> str:
    """The sentence of this number in the block: “order” is a word of what others act on, so it is a member's claim."""
    return f"says “{sentence(number)}”"


def remember_chat(bank: Bank, number: int, *, at: object = MONDAY, **more: object) -> None:
    """One chat becomes memory, an hour later."""
    say(bank, f"c{number}", sentence(number), at=at, **more)  # type: ignore[arg-type]
    run(at + HOUR)  # type: ignore[operator]


def test_it_says_what_the_block_said_at_every_moment() -> None:
    bank = make_bank()
    remember_chat(bank, 0)
    remember_chat(bank, 1, at=MONDAY + DAY)
    fact = Fact.objects.get(text__contains=tag(0))
    services.hide(bank, fact_ids=[fact.pk], actor="alice", now=MONDAY + 2 * DAY)
    assert texts(bank, MONDAY) == []
    assert texts(bank, MONDAY + 2 * HOUR) == [report(0)]
    assert texts(bank, MONDAY + DAY + 2 * HOUR) == [report(0), report(1)]
    assert texts(bank, MONDAY + 2 * DAY) == [report(1)]
    assert texts(bank, MONDAY + 2 * DAY - MINUTE) == [report(0), report(1)]
    newest = [shown(line) for line in services.prompt_memory(bank, now=MONDAY + 2 * DAY).block.lines]
    assert texts(bank, MONDAY + 3 * DAY) == newest


def test_a_line_that_stays_is_one_row_however_often_the_block_is_stored() -> None:
    bank = make_bank()
    for number in range(3):
        remember_chat(bank, number, at=MONDAY + number * DAY)
    assert BlockLineVersion.objects.count() == 3
    assert set(BlockLineVersion.objects.values_list("until", flat=True)) == {None}


def test_what_was_edited_is_kept_in_its_old_words_until_it_is_erased() -> None:
    bank = make_bank()
    remember_chat(bank, 0)
    fact = Fact.objects.get()
    services.edit_facts(bank, fact_ids=[fact.pk], text="It was sold.", actor="alice", now=MONDAY + DAY)
    assert texts(bank, MONDAY + DAY - MINUTE) == [report(0)]
    assert texts(bank, MONDAY + DAY) == ["It was sold."]
    services.erase(bank, chat="c0", actor="alice", now=MONDAY + 2 * DAY)
    assert places(tag(0)) == places("sold") == []
    assert not BlockLineVersion.objects.exists()


@pytest.mark.parametrize("way", ["author", "private", "left out", "deleted", "retention"])
def test_what_goes_from_memory_goes_from_what_was_told(way: str) -> None:
    bank = make_bank()
    remember_chat(bank, 0, author="Zelda")
    remember_chat(bank, 1, at=MONDAY + 100 * DAY)
    hidden = Fact.objects.get(text__contains=tag(0))
    services.hide(bank, fact_ids=[hidden.pk], actor="alice", now=MONDAY + 100 * DAY)  # it has left the block before
    now = MONDAY + 101 * DAY
    if way == "author":
        services.erase(bank, author="Zelda", actor="alice", now=now)
    elif way == "private":
        services.set_audience(bank, chat_key="c0", readers=(), actor="Zelda", now=now)
    elif way == "left out":
        services.opt_out(bank, author="Zelda", actor="alice", now=now)
    elif way == "deleted":
        bank.chats.filter(key="c0").delete()
    else:
        services.configure(bank, actor="alice", keep_memory_days=30, now=now)
        run(now)
    assert [shown(line) for line in BlockLineVersion.objects.all()] == [report(1)]


def past_digest(bank: Bank, number: int, *, day: object) -> None:
    """Make the line of a fact a former line of the digest of its day."""
    lines = BlockLineVersion.objects.filter(text=sentence(number))
    lines.update(digest=True, tier=Granularity.DAY.tier, period_start=day, until=MONDAY + 2 * DAY)


def test_a_past_line_of_a_digest_goes_with_what_its_writer_may_have_read_and_others_stay() -> None:
    bank = make_bank()
    for number in range(3):
        remember_chat(bank, number, at=MONDAY + number * DAY)
    past_digest(bank, 1, day=MONDAY.date())  # of the day of the first chat, which it does not cite
    past_digest(bank, 2, day=MONDAY.date() + 2 * DAY)
    services.erase(bank, chat="c0", actor="alice", now=MONDAY + 3 * DAY)
    assert [shown(line) for line in BlockLineVersion.objects.former()] == [report(2)]


def remember_two_days(bank: Bank) -> None:
    """Two chats, the first also in a past line that a digest of its day has without citing it, and one of the next."""
    for number, hours in enumerate((0, 3, 24)):
        remember_chat(bank, number, at=MONDAY + hours * HOUR, author="Zelda")
    past_digest(bank, 1, day=MONDAY.date())


def test_a_private_chat_leaves_the_history_and_comes_back_to_it_when_it_is_shared_again() -> None:
    bank = make_bank()
    remember_two_days(bank)
    moment, before = MONDAY + DAY + 2 * HOUR, texts(bank, MONDAY + DAY + 2 * HOUR)
    assert before == [report(1), report(0), report(2)]
    services.set_audience(bank, chat_key="c0", readers=["zelda"], actor="Zelda", now=MONDAY + 3 * DAY)
    assert texts(bank, moment) == [report(2)]
    assert [when for when in services.block_changes(bank, 9) if when <= MONDAY + 3 * HOUR] == []
    assert not list(services.find_violations(bank))
    services.set_audience(bank, chat_key="c0", readers=["zelda", "bob"], actor="Zelda", now=MONDAY + 4 * DAY)
    assert texts(bank, moment) == [report(2)]
    services.set_audience(bank, chat_key="c0", readers=None, actor="Zelda", now=MONDAY + 5 * DAY)
    assert texts(bank, moment) == before
    assert texts(bank, MONDAY + 4 * DAY) == [report(1), report(2)]  # as the block was then


@pytest.mark.parametrize("way", ["erased", "for nobody", "deleted"])
def test_what_is_withheld_goes_with_its_chat(way: str) -> None:
    bank = make_bank()
    remember_two_days(bank)
    services.set_audience(bank, chat_key="c0", readers=["zelda"], actor="Zelda", now=MONDAY + 3 * DAY)
    if way == "erased":
        services.erase(bank, output=bank.chats.get(key="c0").outputs.get().pk, actor="Zelda", now=MONDAY + 4 * DAY)
    elif way == "for nobody":
        services.set_audience(bank, chat_key="c0", readers=[], actor="Zelda", now=MONDAY + 4 * DAY)
    else:
        bank.chats.filter(key="c0").delete()
    assert sorted(shown(line) for line in BlockLineVersion.objects.all()) == [report(1), report(2)]
    assert not BlockLineVersion.objects.filter(digest=True).exists()


def test_a_line_of_two_private_chats_comes_back_when_both_are_shared() -> None:
    bank = make_bank()
    remember_two_days(bank)
    for number, chat in enumerate(("c0", "c1")):
        services.set_audience(bank, chat_key=chat, readers=["zelda"], actor="Zelda", now=MONDAY + (3 + number) * DAY)
    told = []
    for number, chat in enumerate(("c0", "c1")):
        services.set_audience(bank, chat_key=chat, readers=None, actor="Zelda", now=MONDAY + (5 + number) * DAY)
        told.append(report(1) in texts(bank, MONDAY + DAY))
    assert told == [False, True]


def test_what_is_masked_later_is_masked_in_what_was_told_and_ends_nothing() -> None:
    bank = make_bank(redact_personal=False)
    add_leaf(bank, "c0", ["Write to zelda.mertens@example.com about the crane."], at=MONDAY)
    run(MONDAY + HOUR)
    assert places("zelda.mertens")
    services.configure(bank, actor="alice", redact_personal=True, now=MONDAY + DAY)
    assert [line.until for line in BlockLineVersion.objects.all() if "crane" in line.text] == [None]
    assert "memorybank.BlockLineVersion.text" not in places("zelda.mertens")


def test_lines_that_left_the_block_are_kept_for_some_days() -> None:
    bank = make_bank()
    remember_chat(bank, 0)
    services.hide(bank, fact_ids=[Fact.objects.get().pk], actor="alice", now=MONDAY + DAY)
    for day, left in ((90, 1), (92, 0)):
        remember_chat(bank, day, at=MONDAY + day * DAY)
        newest = Fact.objects.order_by("-pk")[0]
        services.hide(bank, fact_ids=[newest.pk], actor="alice", now=MONDAY + day * DAY + 2 * HOUR)
        assert BlockLineVersion.objects.filter(text=sentence(0)).count() == left
    assert BlockLineVersion.objects.kept_since(bank, MONDAY + 92 * DAY) == MONDAY + 90 * DAY + HOUR

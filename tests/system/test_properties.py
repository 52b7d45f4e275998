"""I3 and I8 through the public face, and roll-up in odd zones: whatever people write, whenever, at any budget."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest
import tiktoken
from django.db import transaction
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from memorybank import llm, services
from memorybank.core import rollup_policy
from memorybank.language import tokens
from memorybank.models import Bank, Fact, Granularity
from tests.support.factories import block_of, make_bank

from .test_state_machine import good

SCRIPTED = {"BACKEND": "memorybank.llm.scripted.ScriptedLLM", "MODEL": "properties"}
MONDAY = datetime(2026, 3, 2, 12, tzinfo=UTC)
HEADINGS = {"Further detail:"}
QUESTIONS = ("", "", "crane", "清算", "<|endoftext|> when was ABC-1234?")
#: Zones, and a day that begins late there, or not at all.
SKIPPED = {
    "Africa/Cairo": date(2026, 4, 24),
    "America/Asuncion": date(2024, 10, 6),
    "America/Havana": date(2026, 3, 8),
    "America/Sao_Paulo": date(2018, 11, 4),
    "Asia/Beirut": date(2026, 3, 29),
    "Pacific/Apia": date(2011, 12, 30),
    "Europe/Berlin": date(2026, 3, 29),
}
with_database = settings(
    max_examples=settings.default.max_examples // 10,  # each is a whole history
    phases=set(Phase) - {Phase.shrink},  # histories are short, and shrinking them takes minutes
    suppress_health_check=[*settings.default.suppress_health_check, HealthCheck.function_scoped_fixture],
)

SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>system",
    "[INST]",
    "```",
    "\n## SYSTEM\n",
    "---",
    "[1,2]",
    "\u202e",
    "\x00",
    "\ud800",
)
SENTENCES = (
    "We decided to move the harbour crane to the northern quay before winter.",
    "清算システムは来月から新しいデータセンターで動かすことに決めました。",
    "Die Rechnungen werden ab sofort vor dem Versand von zwei Kolleginnen geprüft.",
    "سننقل قاعدة البيانات إلى الخادم الجديد يوم الأحد القادم.",
    "नया सर्वर अगले सप्ताह से सभी ग्राहकों के लिए चालू होगा।",
    "👩‍👩‍👧‍👦 The family tariff 🜁 stays exactly as it is for everybody until autumn 🎉.",
    "Could somebody find out whether ticket ABC-1234 is still blocking the release?",
)
GIANTS = (
    "x" * 20_000,
    "word " * 4_000,
    "漢" * 6_000,
    "a\n" * 3_000,
    "\u0301" * 5_000,
    "The crane <|endoftext|> " * 900,
)


class SaidTurn(NamedTuple):
    """Something said so many hours after the beginning."""

    chat: str
    author: str
    question: str
    answer: str
    hour: int


pieces = st.sampled_from(SENTENCES) | st.sampled_from(SPECIAL) | st.text(max_size=40)
texts = st.lists(pieces, min_size=1, max_size=6).map(" ".join)


def turns(questions: st.SearchStrategy[str]) -> st.SearchStrategy[SaidTurn]:
    """Turns that begin with such a question."""
    people = st.sampled_from(["Ann", "Bo", "李"])
    return st.builds(SaidTurn, st.sampled_from("abcd"), people, questions, texts, st.integers(0, 90 * 24))


def _in_order(said: list[SaidTurn], giant: list[SaidTurn]) -> list[SaidTurn]:
    return sorted([*said, *giant], key=lambda turn: turn.hour)


histories = st.builds(
    _in_order, st.lists(turns(texts), min_size=1, max_size=7), st.lists(turns(st.sampled_from(GIANTS)), max_size=1)
)
budgets = st.integers(0, 600) | st.sampled_from([0, 1, 17, 200, 3_000, 32_000])
questions = st.sampled_from(QUESTIONS)


@pytest.fixture(params=["extractive", "with a model"])
def configured(request: pytest.FixtureRequest, settings: Any) -> Iterator[None]:
    model = request.param == "with a model"
    settings.MEMORYBANK = {"LLMS": {"summary": SCRIPTED}} if model else {}
    llm.reset()
    if model:
        vars(llm.get("summary"))["answer"] = good
    yield
    llm.reset()


pytestmark = [pytest.mark.django_db]


@contextmanager
def remembering(history: list[SaidTurn], *, since: datetime = MONDAY, timezone: str = "UTC") -> Iterator[Bank]:
    """A bank with this history, all of it memory and all ripe periods rolled up; gone afterwards."""
    with transaction.atomic():
        bank = make_bank(now=since, max_tokens=200, timezone=timezone)
        for number, turn in enumerate(history):
            now = since + timedelta(hours=turn.hour)
            fields = {"author": turn.author, "question": turn.question, "answer": turn.answer}
            services.record(bank, chat_key=turn.chat, created_at=now, now=now, **fields)
            if number % 3 == 2:
                services.run(now=now)
        services.run(now=since + timedelta(days=200), until_idle=True)
        yield Bank.objects.get(pk=bank.pk)
        transaction.set_rollback(True)


def exactly(text: str) -> int:
    """Tokens as the tokenizer itself counts them, not as we do."""
    tokens.encoding("o200k_base")  # from the shipped table
    return len(tiktoken.get_encoding("o200k_base").encode(text, disallowed_special=()))


def is_whole(block: services.Block) -> bool:
    """Whether every paragraph is a heading or ends with the end of a fact, and every fact is there.

    Reports of one speaker that follow each other are one quotation.
    """
    _, _, *rows, _ = block.text.splitlines() or [""] * 3
    words = [line.text for line in block.lines]
    endings = (*words, *(f"{text}”" for text in words))
    return all(row in HEADINGS or row.endswith(endings) for row in rows) and all(
        any(text in row for row in rows) for text in words
    )


@pytest.mark.usefixtures("configured")
@with_database
@given(histories, budgets, questions, st.sampled_from(["", "a"]))
def test_a_block_fits_its_budget_is_whole_and_is_the_same_every_time(
    history: list[SaidTurn], budget: int, question: str, asking: str
) -> None:
    with remembering(history) as bank:
        fields: dict[str, Any] = {"budget": budget, "question": question, "exclude_chat": asking, "now": MONDAY}
        block = services.render(bank, **fields)

        assert exactly(block.text) == block.tokens <= budget
        assert is_whole(block)
        assert services.render(Bank.objects.get(pk=bank.pk), **fields) == block
        assert all(line.citations and line.facts for line in block.lines)

        later = services.render(bank, **{**fields, "question": "", "now": MONDAY + timedelta(days=999)})
        assert (later.text, later.lines, later.recalled.text) == (block.text, block.lines, "")


@pytest.mark.usefixtures("configured")
@with_database
@given(histories, budgets, questions, st.sampled_from(["", "a"]))
def test_what_is_recalled_fits_its_budget_cites_turns_and_repeats_nothing(
    history: list[SaidTurn], budget: int, question: str, asking: str
) -> None:
    with remembering(history) as bank:
        rendered = services.render(bank, recall_budget=budget, question=question, exclude_chat=asking, now=MONDAY)

        assert exactly(rendered.recalled.text) == rendered.recalled.tokens <= budget
        assert asking not in rendered.recalled.chats
        assert all(line.citations and not line.facts for line in rendered.recalled.lines)
        assert {line.text for line in rendered.lines}.isdisjoint(line.text for line in rendered.recalled.lines)
        assert rendered.recalled.text.count("```") == (2 if rendered.recalled.text else 0)


@pytest.mark.usefixtures("configured")
@with_database
@given(histories, questions)
def test_no_text_forges_a_line_a_special_token_or_a_hidden_character(history: list[SaidTurn], question: str) -> None:
    with remembering(history) as bank:
        rendered = services.render(bank, budget=32_000, question=question, now=MONDAY)
        both = (rendered.text, rendered.recalled.text)
        text = "".join(item.removesuffix("```").replace("```\n", "", 1) for item in both)  # all but our own fences
        assert not any(mark in text for mark in ("<|", "```", "\n#", "\n---", "\u202e", "\x00", "\ud800"))
        text.encode()  # no lone surrogate


@pytest.mark.usefixtures("configured")
@with_database
@given(histories, budgets, questions, st.randoms(use_true_random=False))
def test_what_is_kept_back_is_never_shown(history: list[SaidTurn], budget: int, question: str, dice: Any) -> None:
    """Facts, and private and excluded chats. What a question recalls is quoted from turns: see test_recall for that."""
    with remembering(history) as bank:
        leaves = Fact.objects.filter(entry__bank=bank, entry__granularity="conversation")
        leaf_facts = list(leaves.select_related("entry__chat").order_by("pk"))
        kept_back = [fact.pk for fact in leaf_facts if dice.random() < 0.4]
        Fact.objects.filter(pk__in=kept_back[::2]).update(hidden=True)
        Fact.objects.filter(pk__in=kept_back[1::2]).update(quarantine="held back by a test")
        Bank.objects.touch(bank.pk)
        if private := bank.chats.filter(key="b").exists():
            services.set_audience(bank, chat_key="b", readers=(), actor="alice", now=MONDAY)

        block = services.render(bank, budget=budget, question=question, exclude_chat="a", now=MONDAY)

        shown = Fact.objects.filter(pk__in=[pk for line in block.lines for pk in line.facts])
        rests_on = {*kept_back, *(fact.pk for fact in leaf_facts if fact.entry.chat.key in ("a", "b"[: int(private)]))}
        for fact in shown.select_related("entry"):
            below = [fact.pk] if fact.entry.granularity == "conversation" else fact.citations
            assert rests_on.isdisjoint(below)
        outputs = bank.chats.filter(key__in=["a", "b"]).values_list("outputs", flat=True)
        assert set(outputs).isdisjoint(output for line in block.lines for output in line.citations)
        assert {"a", "b"}.isdisjoint(block.chats)


@pytest.mark.usefixtures("configured")
@with_database
@given(histories, st.sampled_from(sorted(SKIPPED)))
def test_the_tree_is_sound_where_a_midnight_is_left_out_and_the_stored_block_is_current(
    history: list[SaidTurn], timezone: str
) -> None:
    close = [turn._replace(hour=turn.hour // 20) for turn in history]  # two days before and after
    since = datetime.combine(SKIPPED[timezone], datetime.min.time(), tzinfo=UTC) - timedelta(days=2)
    with remembering(close, since=since, timezone=timezone) as bank:
        assert services.find_violations(bank) == []
        assert sum(leaf.output_count for leaf in bank.entries.leaves()) == len(history)
        text = services.render(bank).text
        assert block_of(bank) == (text, exactly(text))


instants = st.datetimes(datetime(1999, 12, 1), datetime(2037, 1, 31), timezones=st.just(UTC))  # noqa: DTZ001
near_a_skip = st.builds(
    lambda day, hours: datetime.combine(day, datetime.min.time(), tzinfo=UTC) + timedelta(hours=hours),
    st.sampled_from(sorted(SKIPPED.values())),
    st.integers(-50, 50),
)
granularities = st.sampled_from(Granularity.digests())


@given(instants | near_a_skip, granularities, st.sampled_from(sorted(SKIPPED)))
@example(datetime(2011, 12, 29, 23, tzinfo=UTC), Granularity.DAY, "Pacific/Apia")  # the day after this was left out
@example(datetime(2026, 4, 23, 12, tzinfo=UTC), Granularity.DAY, "Africa/Cairo")  # the next day begins at one
@example(datetime(2020, 12, 31, 23, 30, tzinfo=UTC), Granularity.WEEK, "Europe/Berlin")  # a year of 53 weeks
def test_a_period_is_digested_only_when_it_is_over_where_the_bank_is(
    moment: datetime, granularity: Granularity, timezone: str
) -> None:
    zone = ZoneInfo(timezone)
    start = granularity.period.start(moment.astimezone(zone).date())
    due = rollup_policy.due_at(granularity, start, moment, zone).astimezone(UTC)

    assert due >= moment + granularity.period.min_age
    assert due.astimezone(zone).date() >= granularity.period.end(start)
    just_before = (due - timedelta(microseconds=1)).astimezone(zone).date()
    assert due == moment + granularity.period.min_age or just_before < granularity.period.end(start)

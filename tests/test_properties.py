"""I2, I3 and I8 through the public face: whatever people write, whenever, wherever, at any budget."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import tiktoken
from django.db import transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memorybank import ladder, llm, services, tokens
from memorybank.models import Bank, Granularity

from .memorybank.factories import make_bank, note_taker

EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES", "20"))
SCRIPTED = {"BACKEND": "memorybank.llm.scripted.ScriptedLLM", "MODEL": "properties"}
MONDAY = datetime(2026, 3, 2, 12, tzinfo=UTC)
GAPS = ("Africa/Cairo", "America/Sao_Paulo", "America/Havana", "Asia/Beirut", "Pacific/Apia", "Europe/Berlin")
with_database = settings(
    max_examples=EXAMPLES, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
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
texts = st.lists(
    st.sampled_from(SENTENCES) | st.sampled_from(SPECIAL) | st.text(max_size=40), min_size=1, max_size=6
).map(" ".join) | st.sampled_from(["x" * 20_000, "word " * 4_000, "漢" * 6_000, "a\n" * 3_000, "\u0301" * 5_000])
turns = st.tuples(
    st.sampled_from("abcdef"), st.sampled_from(["Ann", "Bo", "李"]), texts, texts, st.integers(0, 90 * 24)
)
histories = st.lists(turns, min_size=1, max_size=14)
budgets = st.integers(0, 3_000) | st.sampled_from([0, 1, 17, 200, 32_000])


@pytest.fixture(params=["extractive", "with a model"])
def configured(request: pytest.FixtureRequest, settings: Any) -> Iterator[None]:
    model = request.param == "with a model"
    settings.MEMORYBANK = {"LLMS": {"summary": SCRIPTED}} if model else {}
    llm.reset()
    if model:
        vars(llm.get("summary"))["answer"] = note_taker
    yield
    llm.reset()


@contextmanager
def remembering(history: list[tuple[str, str, str, str, int]], timezone: str = "UTC") -> Iterator[Bank]:
    """A bank with this history, all of it memory and all ripe periods rolled up; gone afterwards."""
    with transaction.atomic():
        bank = make_bank(now=MONDAY, max_tokens=200, timezone=timezone)
        for chat, author, question, answer, hours in sorted(history, key=lambda turn: turn[4]):
            now = MONDAY + timedelta(hours=hours)
            services.record(
                bank, chat_key=chat, author=author, question=question, answer=answer, created_at=now, now=now
            )
            services.run(now=now)
        services.run(now=MONDAY + timedelta(days=200), until_idle=True)
        yield Bank.objects.get(pk=bank.pk)
        transaction.set_rollback(True)


def exactly(text: str) -> int:
    """Tokens as the tokenizer itself counts them, not as we do."""
    tokens.encoding("o200k_base")  # from the shipped table
    return len(tiktoken.get_encoding("o200k_base").encode(text, disallowed_special=()))


@pytest.mark.django_db
@pytest.mark.usefixtures("configured")
@with_database
@given(
    histories,
    budgets,
    st.sampled_from(["", "crane", "清算", "<|endoftext|> when was ABC-1234?"]),
    st.sampled_from(["", "a"]),
)
def test_a_block_fits_its_budget_and_is_the_same_every_time(
    history: list[tuple[str, str, str, str, int]], budget: int, question: str, asking: str
) -> None:
    with remembering(history) as bank:
        asked: dict[str, Any] = {"budget": budget, "question": question, "exclude_chat": asking, "now": MONDAY}
        block = services.render(bank, **asked)

        assert exactly(block.text) == block.tokens <= budget
        assert services.render(Bank.objects.get(pk=bank.pk), **asked) == block
        assert all(line.citations and line.facts for line in block.lines)
        assert not asking or asking not in block.chats


@pytest.mark.django_db
@pytest.mark.usefixtures("configured")
@with_database
@given(histories, st.sampled_from(GAPS))
def test_the_tree_is_sound_and_the_stored_block_is_the_current_one(
    history: list[tuple[str, str, str, str, int]], timezone: str
) -> None:
    with remembering(history, timezone) as bank:
        assert services.check(bank) == []
        assert sum(leaf.output_count for leaf in bank.entries.leaves()) == len(history)
        assert bank.block == services.render(bank).text
        assert services.prompt_block(bank.pk) == (bank.block, exactly(bank.block))


@pytest.mark.django_db
@pytest.mark.usefixtures("configured")
@with_database
@given(histories)
def test_no_text_forges_a_line_a_special_token_or_a_hidden_character(
    history: list[tuple[str, str, str, str, int]],
) -> None:
    with remembering(history) as bank:
        text = services.render(bank, budget=32_000).text
        assert not any(mark in text for mark in ("<|", "```", "\n#", "\n---", "\u202e", "\x00", "\ud800"))
        text.encode()  # no lone surrogate


moments = st.datetimes(datetime(1999, 12, 1), datetime(2037, 1, 31), timezones=st.just(UTC))  # noqa: DTZ001  (a wall clock, made aware below)
rungs = st.sampled_from([Granularity.DAY, Granularity.WEEK, Granularity.MONTH])


@given(moments, rungs, st.sampled_from(GAPS))
@example(datetime(2011, 12, 29, 23, tzinfo=UTC), Granularity.DAY, "Pacific/Apia")  # the day after this was left out
@example(datetime(2023, 4, 27, 12, tzinfo=UTC), Granularity.DAY, "Africa/Cairo")  # the next day begins at one
@example(datetime(2020, 12, 31, 23, 30, tzinfo=UTC), Granularity.WEEK, "Europe/Berlin")  # a year of 53 weeks
def test_a_period_is_digested_only_when_it_is_over_where_the_bank_is(
    moment: datetime, rung: Granularity, timezone: str
) -> None:
    zone = ZoneInfo(timezone)
    start = ladder.period_start(rung, moment.astimezone(zone).date())
    ripe = ladder.ripe_at(rung, start, moment, zone)

    assert ripe >= moment + ladder.AGES[rung]
    there = ripe.astimezone(UTC).astimezone(zone)
    assert there.date() >= ladder.period_end(rung, start)
    assert ladder.period_start(rung, there.date()) != start

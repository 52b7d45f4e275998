"""Fidelity: every extracted fact, of the sample and of generated talk, is compared with its turn."""

import json
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import projects
from benchmarks.dating import misdated
from benchmarks.verbatim import violations
from memorybank.core.extraction import extract
from memorybank.core.transcript import read
from memorybank.core.turns import Turn, Utterance
from memorybank.models import Output
from memorybank.safety.redaction import Masker

NOON = datetime(2026, 4, 14, 12, tzinfo=UTC)
SAMPLE = Path(projects.__file__).parent / "importing" / "sample" / "chats.jsonl"


def chats() -> Iterator[list[Turn]]:
    """The chats of the sample, as memory reads them."""
    outputs: dict[str, list[Output]] = defaultdict(list)
    for number, raw in enumerate(SAMPLE.read_text(encoding="utf-8").splitlines()):
        line = json.loads(raw)
        own = {name: line.get(name) or "" for name in ("question", "answer")}
        recorded_at = datetime.fromisoformat(line["created_at"])
        outputs[line["chat"]].append(
            Output(pk=number, author=line["user"], messages=line.get("messages") or [], created_at=recorded_at, **own)
        )
    for own_outputs in outputs.values():
        yield read(own_outputs, tz=ZoneInfo("UTC"), masker=Masker())


def unsaid(turns: list[Turn]) -> list[tuple[str, list[str]]]:
    """The facts that say more or less than their turns, each with the difference."""
    texts = {turn.id: "\n".join(u.text for u in turn.utterances) for turn in turns}
    before = dict(zip(texts, ["", *texts.values()], strict=False))
    names = frozenset(word for turn in turns for u in turn.utterances for word in u.speaker.casefold().split())
    drafts = extract(turns, encoding="o200k_base", share=1.0)
    judged = [(d, violations(d.text, texts[d.citations[0]], before[d.citations[0]], names)) for d in drafts]
    judged += [(d, misdated(d.text, before[d.citations[0]] + texts[d.citations[0]], d.said_on)) for d in drafts]
    return [(draft.text, problems) for draft, problems in judged if problems]


def test_no_fact_of_the_sample_says_what_nobody_said() -> None:
    assert [wrong for turns in chats() for wrong in unsaid(turns)] == []


@pytest.mark.parametrize(
    ("fact", "text", "kind"),
    [
        ("This is not a display.", "This is not just a display.", "left out"),
        ("This is not a display.", "This is not really a display.", "left out under negation"),
        ("We met half around October 2025.", "We met half a year ago.", "date for part of a phrase"),
        ("We met in 2025.", "We met some time back.", "date for no phrase"),
        ("Design is dragging a bit, 2026.", "Design is dragging a bit, so it moves to July 1, 2026.", "left out"),
        ("We close the account.", "If the audit fails, we close the account.", "condition cut off"),
        ("Ana and Bea left.", "Ana, Tom the plumber and Bea left.", "left out"),
        ("It costs 5 euro.", "I guess it costs 5 euro.", "begins inside a clause"),
        ("The launch is on Friday.", "The launch is on Monday.", "unsaid word"),
        ("We ship on Friday.", "We ship on Friday, but not in May.", "negation cut off"),
        ("We ship on.", "We ship on um, Friday.", "ends inside a clause"),
        ("On 7 May 2023.", "Maybe tomorrow.", "begins inside a clause"),
        ("It is a prototype.", "It is just a prototype.", "left out"),
        ("The requirement is fulfilled.", "The basic requirement is basically fulfilled.", "left out"),
        ("It is significant.", "It is very significant.", "left out"),
    ],
)
def test_the_judge_sees_what_nobody_said(fact: str, text: str, kind: str) -> None:
    assert kind in violations(fact, text)


@pytest.mark.parametrize(
    ("phrase", "right", "wrong"),
    [
        ("yesterday", "13 April 2026", "14 April 2026"),
        ("two weeks ago", "around 31 March 2026", "around 30 March 2026"),
        ("last, um, Friday", "Friday 10 April 2026", "Friday 17 April 2026"),
        ("this past weekend", "the weekend of 11 April 2026", "the weekend of 18 April 2026"),
        ("last week", "the week before 14 April 2026", "the week before 7 April 2026"),
        ("next month", "May 2026", "March 2026"),
        ("last summer", "summer 2025", "summer 2027"),
        ("a year ago", "around April 2025", "2024"),
        ("on 3 May 2026", "on 3 May 2026", "on 4 May 2026"),
    ],
)
def test_the_judge_reckons_what_a_date_may_be(phrase: str, right: str, wrong: str) -> None:
    text = f"They met {phrase}."
    assert misdated(f"They met {right}.", text, NOON.date()) == []
    assert misdated(f"They met {wrong}.", text, NOON.date()) == ["another date"]


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("I doubt it.", "I think it is high enough, and I really doubt it."),
        ("We want it to add up.", "What we want is one of these, and we want it to um add up."),
        ("It's fine. It's fine.", "But we can do four. One, OK, it's fine. I can do one. It's fine. It's fine."),
        ("I know the local expert", "I know the local expert uh, but my guess is that they can wait."),
        ("On 7 May 2023.", "Maybe. The day after tomorrow."),
        ("There is stuff you can clap on.", "There is stuff, you know, you can clap on."),
    ],
)
def test_the_judge_finds_where_a_fact_was_said(fact: str, text: str) -> None:
    assert violations(fact, text) == []


WORDS = st.sampled_from(
    "the we not just really um uh yesterday last week half a year ago two or three launch moves to Lyon on Tuesday, "
    "if and but I think invoices, don't very never because, actually so nobody else knows the the budget".split()
)


@given(st.lists(WORDS, min_size=3, max_size=60).map(" ".join))
def test_no_talk_makes_a_fact_that_nobody_said(text: str) -> None:
    assert unsaid([Turn(1, NOON, (Utterance("user", "priya", f"{text}."),))]) == []

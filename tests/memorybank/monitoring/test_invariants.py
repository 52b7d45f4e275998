"""Checking invariants: every violation of I1 to I3 is reported, without chat text."""

from collections.abc import Callable

import pytest
from django.db import IntegrityError, connection, transaction

from memorybank import services
from memorybank.models import (
    Bank,
    Chat,
    Entry,
    Fact,
    FactOutput,
    FactSource,
    Granularity,
    KeptFact,
    Output,
    StoredBlock,
)
from tests.support.factories import (
    DAY,
    HOUR,
    MONDAY,
    add_fact,
    add_leaf,
    make_bank,
    run,
    say,
    sentence,
    sound,
    talk,
    undone,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("model")]


@pytest.fixture
def bank() -> Bank:
    """Two days of chats under pressure, the first of them digested, and a turn that waits."""
    made = make_bank(max_tokens=200)
    for number in range(6):
        talk(made, f"c{number}", range(number * 10, number * 10 + 4), at=MONDAY + number % 2 * 3 * DAY)
    run(MONDAY + 3 * DAY + HOUR)
    say(made, "c1", sentence(99), at=MONDAY + 3 * DAY + HOUR)
    assert made.entries.digests().exists()
    return made


def digest() -> Entry:
    return Entry.objects.digests().earliest("pk")


def leaf() -> Entry:
    return Entry.objects.leaves().earliest("pk")


def elsewhere() -> Entry:
    """A digest of somebody else's bank."""
    return Entry.objects.create(
        bank=make_bank(),
        granularity=Granularity.MONTH,
        period_start=MONDAY.date(),
        output_count=0,
        first_at=MONDAY,
        last_at=MONDAY,
        method="test",
    )


def line_of_digest() -> Fact:
    """The digest has a line of its own."""
    return add_fact(digest(), sentence(98), citations=[leaf().facts.latest("pk").pk])


def absorbed_line() -> None:
    """The digest is absorbed, its line is not told."""
    line_of_digest()
    month = Entry.objects.create(
        bank=digest().bank,
        granularity=Granularity.MONTH,
        period_start=MONDAY.date(),
        output_count=digest().output_count,
        first_at=MONDAY,
        last_at=MONDAY,
        method="test",
    )
    Entry.objects.filter(pk=digest().pk).update(parent=month)


def cycle() -> None:
    """The digest becomes the child of its own child."""
    child = digest().children.first()
    Entry.objects.filter(pk=digest().pk).update(parent=child)


BREAKS: dict[str, tuple[str, Callable[[], object]]] = {
    "a watermark moved back": ("I1", lambda: Chat.objects.filter(key="c0").update(summarised_through=0)),
    "a watermark moved ahead": ("I1", lambda: Chat.objects.filter(key="c1").update(summarised_through=10**9)),
    "a leaf lost": ("I1", lambda: Entry.objects.filter(pk=leaf().pk).delete()),
    "a leaf that covers too much": (
        "I1",
        lambda: Entry.objects.filter(pk=leaf().pk).update(first_output=1, output_count=9),
    ),
    "a miscounted chat": ("I1", lambda: Chat.objects.filter(key="c1").update(pending_outputs=0)),
    "a turn slipped in behind the watermark": (
        "I1",
        lambda: Output.objects.filter(chat=leaf().chat, sequence=leaf().first_output).update(status="error"),
    ),
    "a chat no sweep will look at": ("I1", lambda: Chat.objects.filter(key="c1").update(due_at=None)),
    "a digest that counts wrongly": ("I2", lambda: Entry.objects.filter(pk=digest().pk).update(output_count=1)),
    "a parent that is not coarser": (
        "I2",
        lambda: Entry.objects.filter(pk=digest().pk).update(parent=Entry.objects.leaves().latest("pk")),
    ),
    "a cycle": ("I2", lambda: cycle()),
    "a parent in another bank": ("I2", lambda: Entry.objects.filter(pk=digest().pk).update(parent=elsewhere())),
    "a citation of nothing": ("I2", lambda: FactOutput.objects.filter(fact__entry=leaf()).delete()),
    "a citation of another chat's turn": (
        "I2",
        lambda: FactOutput.objects.filter(fact__entry=leaf()).update(output=Output.objects.latest("pk")),
    ),
    "a digest that cites a turn": (
        "I2",
        lambda: FactOutput.objects.create(fact=line_of_digest(), output=leaf().covered()[0]),
    ),
    "a digest that rests on its own line": (
        "I2",
        lambda: FactSource.objects.update(source=line_of_digest()),
    ),
    "a leaf's fact that rests on another": (
        "I2",
        lambda: FactSource.objects.create(fact=leaf().facts.latest("pk"), source=leaf().facts.earliest("pk")),
    ),
    "a digest that stands for a fact of another bank": (
        "I2",
        lambda: KeptFact.objects.create(
            entry=digest(), fact=add_leaf(make_bank(), "x", ["Hi."], at=MONDAY).facts.get()
        ),
    ),
    "a fact in a tier where its entry is not": ("I2", lambda: Fact.objects.filter(entry=leaf()).update(tier=3)),
    "a line of an absorbed digest in the running": ("I2", lambda: absorbed_line()),
    "a fact of another bank": ("I2", lambda: Fact.objects.filter(entry=leaf()).update(bank=elsewhere().bank)),
    "a stored block over budget": ("I3", lambda: StoredBlock.objects.update(text="word " * 300)),
}


def test_a_sound_bank_has_no_violation(bank: Bank) -> None:
    assert sound(bank)


def test_a_broken_invariant_is_seen_and_named_without_chat_text(bank: Bank, subtests: pytest.Subtests) -> None:
    for what, (invariant, break_it) in BREAKS.items():
        with subtests.test(what=what), undone():
            break_it()
            violations = services.find_violations(Bank.objects.get(pk=bank.pk))
            assert invariant in {violation.invariant for violation in violations}
            assert not any("ORD-" in f"{violation.where} {violation.what}" for violation in violations)


def test_what_a_constraint_can_refuse_is_refused(bank: Bank) -> None:
    row = leaf()
    for wrong in ({"parent": row.pk}, {"last_output": 0}, {"chat": None}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Entry.objects.filter(pk=row.pk).update(**wrong)
    fact, line = row.facts.latest("pk"), line_of_digest()
    for dangle in (
        lambda: FactOutput.objects.create(fact=fact, output_id=10**9),
        lambda: FactSource.objects.create(fact=line, source_id=10**9),
        lambda: KeptFact.objects.create(entry=digest(), fact_id=10**9),
        lambda: row.covered()[:1].get().delete(),
        lambda: fact.delete(),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            dangle()
            connection.check_constraints()  # as the commit does


def test_another_bank_s_sins_are_not_this_one_s(bank: Bank) -> None:
    other = make_bank()
    add_leaf(other, "c", [sentence(1)], at=MONDAY)
    Chat.objects.filter(bank=bank).update(summarised_through=0)
    assert services.find_violations(other) == []

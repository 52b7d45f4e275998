"""A smaller budget and back: the fuller block comes back at once, and a model writes its digests again."""

import pytest

from memorybank import services
from memorybank.llm.scripted import ScriptedLLM
from memorybank.models import Bank, Entry
from tests.support.factories import DAY, MONDAY, block_of, day_of_leaves, make_bank, run, sound

pytestmark = pytest.mark.django_db

LATER = MONDAY + 60 * DAY
SMALL, LARGE = 300, 2000
#: A full block: what the packing leaves free is less than a line.
FULL = 0.92 * LARGE


def rolled_up(budget: int) -> Bank:
    """A bank whose five weeks were rolled up for this budget."""
    bank = make_bank(max_tokens=budget)
    for day in range(0, 35, 2):
        day_of_leaves(bank, day)
    run(LATER)
    return bank


def digest_tokens(bank: Bank) -> int:
    return sum(entry.tokens for entry in Entry.objects.filter(bank=bank, parent=None).digests())


def resize(bank: Bank, budget: int) -> int:
    """Change the budget; return the tokens of the block before any roll-up."""
    services.configure(bank, actor="alice", max_tokens=budget, now=LATER + DAY)
    return block_of(bank)[1]


def test_without_a_model_the_block_is_full_again_at_once(no_model: None) -> None:
    bank = rolled_up(LARGE)
    assert block_of(bank)[1] >= FULL
    assert resize(bank, SMALL) <= SMALL
    run(LATER + DAY)
    assert resize(bank, LARGE) >= FULL
    run(LATER + 2 * DAY)
    assert block_of(bank)[1] >= FULL
    assert sound(bank)


def test_a_model_writes_again_what_it_wrote_for_a_smaller_budget(model: ScriptedLLM) -> None:
    bank = rolled_up(SMALL)
    calls, small = len(model.history), digest_tokens(bank)
    assert resize(bank, LARGE) >= FULL  # at once, with sentences in the room of what is not written yet
    assert services.count_stale_entries(bank) > 0
    run(LATER + 2 * DAY)
    assert services.count_stale_entries(bank) == 0
    assert digest_tokens(bank) > small
    assert len(model.history) > calls
    assert block_of(bank)[1] >= FULL
    calls = len(model.history)
    resize(bank, SMALL)
    run(LATER + 3 * DAY)
    assert len(model.history) == calls  # nothing is written again for a smaller budget
    assert sound(bank)

"""What was hashed with an earlier secret key is recognised: erased turns stay erased, masked values masked."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.test import override_settings

from memorybank import services
from memorybank.erasure.replay import receipts, replay
from memorybank.exceptions import InvalidInput
from memorybank.models import Bank, Chat, Erasure, MaskedValue
from tests.support.factories import DAY, HOUR, MONDAY, make_bank, run, say

pytestmark = pytest.mark.django_db

TOKEN = "sk-live-9hT2mQ4xWz7Lp0"


@contextmanager
def rotated() -> Iterator[None]:
    """The site after its key was changed, with the old one as a fallback."""
    from django.conf import settings

    with override_settings(SECRET_KEY="another", SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        yield


def is_recorded(bank: Bank) -> bool:
    return Chat.objects.filter(bank=bank, key="c").exists()


@pytest.mark.parametrize("target", [{"chat": "c"}, {"author": "Priya"}])
def test_a_tombstone_of_the_old_key_still_refuses(target: dict[str, str]) -> None:
    bank = make_bank()
    say(bank, "c", "The crane is orange.", key="1")
    services.erase(bank, actor="alice", now=MONDAY + HOUR, **target)
    with rotated(), pytest.raises(InvalidInput):
        say(bank, "c", "The crane is orange.", key="1")
    with override_settings(SECRET_KEY="another"):  # without the fallback nobody can know: this is what would happen
        say(bank, "c", "The crane is orange.", key="1")
        assert is_recorded(bank)


def test_a_value_that_was_masked_under_the_old_key_is_masked_and_forgotten_under_the_new() -> None:
    bank = make_bank()
    say(bank, "c", f"The API key is {TOKEN}", key="1")
    run(MONDAY + HOUR)
    assert MaskedValue.objects.filter(bank=bank).count() == 1
    with rotated():
        assert TOKEN not in MaskedValue.objects.masker(bank).mask(f"Somebody pasted {TOKEN} here.")
        say(bank, "d", f"Again: the API key is {TOKEN}", at=MONDAY + DAY)
        run(MONDAY + DAY + HOUR)
        assert MaskedValue.objects.filter(bank=bank).count() == 1  # not a second time
        services.erase_everything(bank, actor="alice", now=MONDAY + 2 * DAY)
        assert not MaskedValue.objects.filter(bank=bank).exists()


def test_a_replay_takes_what_it_lacks_and_leaves_what_was_said_since() -> None:
    bank = make_bank()
    say(bank, "c", "The crane is orange.", key="1")
    say(bank, "d", "The ferry sails in March.", key="2")
    services.erase(bank, chat="c", actor="alice", now=MONDAY + HOUR)
    services.erase(bank, chat="d", actor="alice", now=MONDAY + HOUR)
    rows = list(receipts(bank))
    Erasure.objects.all().delete()  # as a backup of before has it
    say(bank, "c", "The crane is orange.", key="1")
    say(bank, "d", "The ferry sails in April now.", key="3", at=MONDAY + DAY)
    with rotated():
        report = replay(bank, rows, actor="alice", now=MONDAY + 2 * DAY)
    assert (report.known, report.taken, report.erased, report.turns) == (0, 4, 1, 1)  # of chats and of their turns
    assert not is_recorded(bank)
    [undecided] = report.undecided
    assert Erasure.objects.get(pk=undecided).kind == Erasure.Kind.CHAT
    assert Chat.objects.filter(bank=bank, key="d").exists()

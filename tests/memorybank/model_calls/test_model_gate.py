"""Two pieces of work and one place at the model."""

import pytest

from memorybank.exceptions import LLMRejected, LLMUnavailable, Stale
from memorybank.model_calls.gate import Slot


def is_free(slot: Slot) -> bool:
    """For other work that does not wait."""
    try:
        with slot.held("other"):
            return True
    except Stale:
        return False


def test_it_is_held_until_the_last_of_several_calls_is_over() -> None:
    slot = Slot(patience=0, ends=lambda: False)
    with slot.held("mine"):
        with slot.held("mine"), slot.held("mine"):
            assert not is_free(slot)
        assert not is_free(slot)
    assert is_free(slot)


@pytest.mark.parametrize(("error", "free"), [(LLMRejected("not this"), True), (LLMUnavailable("down"), False)])
def test_an_error_frees_it_and_an_outage_shuts_it(error: Exception, free: bool) -> None:
    slot = Slot(patience=0, ends=lambda: False)
    with pytest.raises(type(error)), slot.held("mine"):
        raise error
    assert (is_free(slot), slot.is_shut()) == (free, not free)


def test_when_the_worker_ends_what_is_begun_goes_on_and_nothing_else_begins() -> None:
    ending: list[bool] = []
    slot = Slot(patience=0, ends=lambda: bool(ending))
    with slot.held("mine"):
        ending.append(True)
        with slot.held("mine"):
            pass
    assert not is_free(slot)

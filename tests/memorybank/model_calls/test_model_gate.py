"""The model gate of a worker with two pieces of work."""

import pytest

from memorybank.exceptions import LLMRejected, LLMUnavailable, OutdatedWork
from memorybank.model_calls.gate import ModelGate


def is_free(gate: ModelGate) -> bool:
    """Whether other work gets the gate without waiting."""
    try:
        with gate.hold("other"):
            return True
    except OutdatedWork:
        return False


def test_the_gate_is_held_until_the_last_of_several_calls_is_over() -> None:
    gate = ModelGate(patience=0, ends=lambda: False)
    with gate.hold("mine"):
        with gate.hold("mine"), gate.hold("mine"):
            assert not is_free(gate)
        assert not is_free(gate)
    assert is_free(gate)


@pytest.mark.parametrize(("error", "free"), [(LLMRejected("not this"), True), (LLMUnavailable("down"), False)])
def test_an_error_frees_the_gate_and_an_outage_shuts_it(error: Exception, free: bool) -> None:
    gate = ModelGate(patience=0, ends=lambda: False)
    with pytest.raises(type(error)), gate.hold("mine"):
        raise error
    assert (is_free(gate), gate.is_shut()) == (free, not free)


def test_when_the_worker_ends_calls_go_on_and_none_begins() -> None:
    ending: list[bool] = []
    gate = ModelGate(patience=0, ends=lambda: bool(ending))
    with gate.hold("mine"):
        ending.append(True)
        with gate.hold("mine"):
            pass
    assert not is_free(gate)

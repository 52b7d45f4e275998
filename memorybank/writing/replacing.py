"""What takes the place of turns: they are erased in the transaction that records its answer, and not before."""

from collections.abc import Callable
from datetime import datetime

from memorybank.models import Bank, Output
from memorybank.writing import erasing, recording
from memorybank.writing.outputs import NewOutput, Outcome


def record(bank: Bank, new: NewOutput, *, now: datetime) -> Output:
    """As :func:`recording.record`. What is recorded as pending replaces nothing until it is answered."""
    if new.replaces and new.status == Output.Status.OK:
        return erasing.give_way(bank, new.replaces, lambda: recording.record(bank, new, now=now)[0], now=now)
    return recording.record(bank, new, now=now)[0]


def complete(bank: Bank, output: Output, outcome: Outcome, *, now: datetime) -> Output:
    """As :func:`recording.complete`. A failure replaces nothing, so that nothing is lost by it."""
    done: Callable[[], Output] = lambda: recording.complete(bank, output, outcome, now=now)  # noqa: E731
    if output.replaces and outcome.status == Output.Status.OK:
        return erasing.give_way(bank, output.replaces, done, now=now)
    return done()

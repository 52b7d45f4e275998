"""What takes the place of turns: they are erased in the transaction that records its answer, and not before."""

from dataclasses import replace
from datetime import datetime

from memorybank.models import Bank, Output
from memorybank.new_output import NewOutput, Outcome
from memorybank.writing import recording


def record(bank: Bank, new: NewOutput, *, now: datetime) -> Output:
    """As :func:`recording.record`. What is recorded as pending replaces nothing until it is answered."""
    if new.status != Output.Status.OK or not new.replaces:
        return recording.record(bank, new, now=now)[0]
    asked, _ = recording.record(bank, replace(new, status=Output.Status.PENDING, answer="", title=""), now=now)
    return complete(bank, asked, Outcome(answer=new.answer, title=new.title), now=now)


def complete(bank: Bank, output: Output, outcome: Outcome, *, now: datetime) -> Output:
    """As :func:`recording.complete`. A failure replaces nothing, so that nothing is lost by it."""

    def done() -> Output:
        return recording.complete(bank, output, outcome, now=now)

    if outcome.status != Output.Status.OK or not output.replaces:
        return done()
    from memorybank.erasure import erase  # the rules of masking, which no other message needs

    return erase.give_way(bank, output.replaces, output, done, now=now)

"""How far a compaction is: one percentage that never goes back, for the caller and for whoever looks at the page."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic

from memorybank.models import Compaction

Stage = Compaction.Stage
#: Where each stage ends; the parts share what lies between planning and the merge.
PERCENT = {Stage.LOAD: 5, Stage.STRATEGY: 10, Stage.PARTS: 80, Stage.MERGED: 95, Stage.WRITTEN: 100}


@dataclass(frozen=True, slots=True)
class Progress:
    """One step: ``done`` of ``of`` parts are read, whatever came of each."""

    percent: int
    stage: Stage
    done: int = 0
    of: int = 0


@dataclass(slots=True)
class Reporter:
    """Tells each step once, from the thread that does the work, which is held for another ``lease`` by that."""

    compaction: Compaction
    now: datetime
    lease: timedelta
    tell: Callable[[Progress], None] | None = None
    last: Progress = field(default=Progress(0, Stage.LOAD))
    started: float = field(default_factory=monotonic)

    def reached(self, stage: Stage) -> None:
        """A stage is over."""
        self._say(Progress(PERCENT[stage], stage, self.last.done, self.last.of))

    def part(self, done: int, of: int) -> None:
        """So many parts are read, or have failed."""
        start, end = PERCENT[Stage.STRATEGY], PERCENT[Stage.PARTS]
        self._say(Progress(start + (end - start) * done // of, Stage.PARTS, done, of))

    def _say(self, step: Progress) -> None:
        self.last = step
        until = self.now + timedelta(seconds=monotonic() - self.started) + self.lease
        self.compaction.note(until, percent=step.percent, stage=step.stage, done=step.done, of=step.of)
        if self.tell:
            self.tell(step)

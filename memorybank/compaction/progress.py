"""How far a compaction is: one percentage that never goes back, for the caller and for whoever looks at the page."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

from django.db import DatabaseError

from memorybank.exceptions import unexpected
from memorybank.models import Compaction

logger = logging.getLogger(__name__)

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

    def alive(self) -> None:
        """Hold the chat for another ``lease``. From any thread."""
        self._note()

    def _say(self, step: Progress) -> None:
        self.last = step
        self._note(percent=step.percent, stage=step.stage, done=step.done, of=step.of)
        seconds = monotonic() - self.started
        logger.debug("chat %s: %s, %s %% after %.1f s", self.compaction.chat_id, step.stage, step.percent, seconds)
        if self.tell:
            try:
                self.tell(step)
            except Exception as error:  # who listens is no reason to lose the work
                logger.warning("chat %s: nobody is told: %s", self.compaction.chat_id, unexpected(error))
                self.tell = None

    def _note(self, **how_far: Any) -> None:
        until = self.now + timedelta(seconds=monotonic() - self.started) + self.lease
        try:
            self.compaction.note(until, **how_far)
        except DatabaseError as error:  # a busy one; there is time for more, and the commit asks whose work it is
            logger.warning("chat %s: how far it is, is not noted: %s", self.compaction.chat_id, unexpected(error))

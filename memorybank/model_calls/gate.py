"""A worker's one place at the model. Its two lanes take turns: one asks while the other prepares or writes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Condition

from memorybank.exceptions import LLMMisconfigured, LLMUnavailable, Stale


class Slot:
    """Held by one piece of work at a time, which may make several calls at once.

    It is shut for other work once a call shows that the model is down, or the worker ``ends``. Who finds it shut, or
    has waited ``patience`` seconds, gives the work back: it is leased, and others may do it.
    """

    def __init__(self, *, patience: float, ends: Callable[[], bool]) -> None:
        self._patience, self._ends = patience, ends
        self._freed = Condition()
        self._owner: object = None
        self._holds, self._failed = 0, False

    def is_shut(self) -> bool:
        """Whether nothing else should be begun."""
        return self._failed or self._ends()

    @contextmanager
    def held(self, owner: object) -> Iterator[None]:
        """For ``owner``, until the last of its calls is over. Raises :class:`Stale` if it is to give its work back."""
        with self._freed:
            # Chunks of one chat ask side by side: they share the place that their chat holds.
            if self._owner is not owner:
                self._wait()
            self._owner, self._holds = owner, self._holds + 1
        try:
            yield
        except (LLMUnavailable, LLMMisconfigured):
            # An answer that is useless is the chat's own affair; only this says that the next call would fail, too.
            self._failed = True
            raise
        finally:
            self._leave()

    def _wait(self) -> None:
        free = self._freed.wait_for(lambda: self._owner is None, self._patience)
        # Asked again although it is free: the other lane's call may have failed while this one waited.
        if not free or self.is_shut():
            raise Stale("the worker's place at the model was not free in time")

    def _leave(self) -> None:
        with self._freed:
            self._holds -= 1
            if not self._holds:
                self._owner = None
                self._freed.notify_all()


_current: ContextVar[Slot | None] = ContextVar("slot", default=None)


def current() -> Slot | None:
    """The slot for what is done here; None where nobody works beside, as in the foreground."""
    return _current.get()


@contextmanager
def sharing(slot: Slot | None) -> Iterator[None]:
    """What is done within asks the model in its turn."""
    before = _current.set(slot)
    try:
        yield
    finally:
        _current.reset(before)

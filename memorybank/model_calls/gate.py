"""The model gate of a worker: its two lanes take turns, so that one calls the model while the other prepares."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Condition

from memorybank.exceptions import LLMMisconfigured, LLMUnavailable, OutdatedWork


class ModelGate:
    """Held by one piece of work at a time, which may make several calls at once.

    The gate is shut for other work once a call shows that the model is down, or once ``ends`` says that the worker
    ends. Work that finds it shut, or has waited ``patience`` seconds, is given back: its lease allows other workers to
    do it.
    """

    def __init__(self, *, patience: float, ends: Callable[[], bool]) -> None:
        self._patience, self._ends = patience, ends
        self._freed = Condition()
        self._owner: object = None
        self._holds, self._failed = 0, False

    def is_shut(self) -> bool:
        """Whether no other work may begin."""
        return self._failed or self._ends()

    @contextmanager
    def hold(self, owner: object) -> Iterator[None]:
        """Hold the gate for ``owner`` until its last call ends. Raises :class:`OutdatedWork` if the work must be given
        back.
        """
        with self._freed:
            # Chunks of one chat call in parallel: they share the gate that their chat holds.
            if self._owner is not owner:
                self._wait()
            self._owner, self._holds = owner, self._holds + 1
        try:
            yield
        except (LLMUnavailable, LLMMisconfigured):
            # A useless answer concerns its chat only; these errors mean that the next call would fail, too.
            self._failed = True
            raise
        finally:
            self._leave()

    def _wait(self) -> None:
        is_free = self._freed.wait_for(lambda: self._owner is None, self._patience)
        # Checked even if it is free: the other lane's call may have failed while this one waited.
        if not is_free or self.is_shut():
            raise OutdatedWork("the worker's model gate was not free in time")

    def _leave(self) -> None:
        with self._freed:
            self._holds -= 1
            if not self._holds:
                self._owner = None
                self._freed.notify_all()


_current: ContextVar[ModelGate | None] = ContextVar("model_gate", default=None)


def current_gate() -> ModelGate | None:
    """The gate of this context; None if there are no parallel lanes, as in the foreground."""
    return _current.get()


@contextmanager
def use_gate(gate: ModelGate | None) -> Iterator[None]:
    """Calls inside wait for this gate."""
    token = _current.set(gate)
    try:
        yield
    finally:
        _current.reset(token)

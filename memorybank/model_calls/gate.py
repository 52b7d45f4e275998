"""A worker's model gate: its two lanes take turns, so that one calls the model while the other prepares."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Condition

from memorybank.exceptions import LLMMisconfigured, LLMUnavailable, OutdatedWork


class ModelGate:
    """A lock that one piece of work holds at a time; its holder may make several calls at once.

    The gate shuts once a call shows that the model is down, or once ``ends`` returns true because the worker ends. Work
    that finds the gate shut, or has waited ``patience`` seconds, is given back, so that another worker can take it.
    """

    def __init__(self, *, patience: float, ends: Callable[[], bool]) -> None:
        self._patience, self._ends = patience, ends
        self._freed = Condition()
        self._owner: object = None
        self._holds, self._failed = 0, False

    def is_shut(self) -> bool:
        """Whether no more work may begin."""
        return self._failed or self._ends()

    @contextmanager
    def hold(self, owner: object) -> Iterator[None]:
        """Hold the gate for ``owner`` until its last call ends.

        Raises :class:`OutdatedWork` if the work must be given back.
        """
        with self._freed:
            # The chunks of a chat are summarised in parallel: they share their owner's hold on the gate.
            if self._owner is not owner:
                self._wait()
            self._owner, self._holds = owner, self._holds + 1
        try:
            yield
        except (LLMUnavailable, LLMMisconfigured):
            # An unusable answer affects only its chat, but after these errors the next call would fail, too.
            self._failed = True
            raise
        finally:
            self._leave()

    def _wait(self) -> None:
        is_free = self._freed.wait_for(lambda: self._owner is None, self._patience)
        # A free gate may be shut, too: the other lane's call may have failed while this one waited.
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
    """The gate of this context; None without parallel lanes, for example in a foreground command."""
    return _current.get()


@contextmanager
def use_gate(gate: ModelGate | None) -> Iterator[None]:
    """Use ``gate`` as the current gate in this ``with`` block."""
    token = _current.set(gate)
    try:
        yield
    finally:
        _current.reset(token)

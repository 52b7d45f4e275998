"""Read-only admin pages of memory: what the model gets, from which sources, what waits, and what it cost."""

from . import erasures, memory, work

__all__ = ["erasures", "memory", "work"]

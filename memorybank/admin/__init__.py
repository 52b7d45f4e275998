"""Read-only admin pages of memory: what the model is told, why, what waits, and what it cost."""

from . import erasures, memory, work

__all__ = ["erasures", "memory", "work"]

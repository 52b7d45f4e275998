"""The memory in the admin, to look at: what the model is told, why, what waits, and what it cost."""

from . import erasures, memory, work

__all__ = ["erasures", "memory", "work"]

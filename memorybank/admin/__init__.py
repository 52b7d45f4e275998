"""Read-only admin pages of memory: the block and its sources, pending work, erasures, and costs."""

from . import erasures, memory, work

__all__ = ["erasures", "memory", "work"]

"""A small typed client of Memory Bank."""

from .client import AsyncMemoryBank, MemoryBank
from .errors import MemoryBankError
from .types import Fact, Filter, Hit, Memory, Output, Receipt, Recorded, Text

__all__ = [
    "AsyncMemoryBank",
    "Fact",
    "Filter",
    "Hit",
    "Memory",
    "MemoryBank",
    "MemoryBankError",
    "Output",
    "Receipt",
    "Recorded",
    "Text",
]

"""The tables of the memory bank."""

from memorybank.core.granularity import Granularity

from .audit import Event, Head, Sealed, Trail
from .bank import Bank
from .block import StoredBlock
from .block_history import BlockLineVersion
from .chat import Chat
from .checkpoint import Checkpoint, Compaction
from .citation import FactOutput, FactSource, KeptFact
from .entry import BY_HAND, CAPPED, CARRIED, EXTRACTIVE, Entry
from .erasure import Erasure, ErasureRequest, OptOut
from .fact import Fact, FactQuerySet, Standing
from .health import BankDay, PromptCount, Sweep
from .job import Job
from .ledger import LLMCall, LLMEndpoint, ledgered
from .masked import MaskedValue
from .output import Output
from .public_id import PublicId, PublicIdKey, public_id
from .search import Embedding, SearchDocument

__all__ = [
    "BY_HAND",
    "CAPPED",
    "CARRIED",
    "EXTRACTIVE",
    "Bank",
    "BankDay",
    "BlockLineVersion",
    "Chat",
    "Checkpoint",
    "Compaction",
    "Embedding",
    "Entry",
    "Erasure",
    "ErasureRequest",
    "Event",
    "Fact",
    "FactOutput",
    "FactQuerySet",
    "FactSource",
    "Granularity",
    "Head",
    "Job",
    "KeptFact",
    "LLMCall",
    "LLMEndpoint",
    "MaskedValue",
    "OptOut",
    "Output",
    "PromptCount",
    "PublicId",
    "PublicIdKey",
    "Sealed",
    "SearchDocument",
    "Standing",
    "StoredBlock",
    "Sweep",
    "Trail",
    "ledgered",
    "public_id",
]

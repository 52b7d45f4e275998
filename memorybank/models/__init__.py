"""The tables of the memory bank."""

from memorybank.core.granularity import Granularity

from .audience import NOBODY, ChatReader
from .audit import AuditLog, Event, HashChain, HashChainedEvent
from .bank import Bank
from .block import BlockLineVersion, StoredBlock
from .chat import Chat, Output
from .checkpoint import Checkpoint, Compaction
from .citation import FactOutput, FactSource, KeptFact, QuotedChat
from .entry import BY_HAND, CAPPED_METHOD, CARRIED, EXTRACTIVE, NO_TEXT_METHOD, STAND_IN_METHOD, Entry
from .fact import Fact, FactQuerySet
from .ledger import AnswerRating, LLMCall, LLMEndpoint, ledgered
from .operations import BankDay, Job, PromptCount, Sweep
from .privacy import Erasure, ErasureRequest, MaskedValue, OptOut
from .public_id import PublicId, PublicIdKey, public_id
from .search import Embedding, SearchDocument

__all__ = [
    "BY_HAND",
    "CAPPED_METHOD",
    "CARRIED",
    "EXTRACTIVE",
    "NOBODY",
    "NO_TEXT_METHOD",
    "STAND_IN_METHOD",
    "AnswerRating",
    "AuditLog",
    "Bank",
    "BankDay",
    "BlockLineVersion",
    "Chat",
    "ChatReader",
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
    "HashChain",
    "HashChainedEvent",
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
    "QuotedChat",
    "SearchDocument",
    "StoredBlock",
    "Sweep",
    "ledgered",
    "public_id",
]

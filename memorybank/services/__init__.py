"""The public interface of the app: what another app may call. A function about one bank takes it first.

Queries return rows, frozen values, or querysets to filter, order and page; a function that changes something is named
by a verb. Model classes are exported as types, for annotations and forms.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memorybank.core.granularity import Granularity
from memorybank.core.packing.memory_line import MemoryLine, Text
from memorybank.core.reports import ExplainedLine, RunReport
from memorybank.data_inventory import Erasing, PrivacyRow, StoredTable
from memorybank.data_inventory import register as register_tables
from memorybank.erasure.receipts import REBUILT_COUNTS, ErasureReceipt, erased_counts
from memorybank.i18n import translate_models
from memorybank.models import (
    BY_HAND,
    Bank,
    BlockLineVersion,
    Chat,
    Checkpoint,
    Compaction,
    Entry,
    Erasure,
    ErasureRequest,
    Event,
    Fact,
    FactQuerySet,
    Head,
    Job,
    LLMCall,
    LLMEndpoint,
    Output,
    PromptCount,
    PublicId,
    Sealed,
    public_id,
)
from memorybank.models.bank import MAX_DAYS, MAX_IDLE_MINUTES, MAX_RECALL_TOKENS, MAX_TOKENS, MIN_TOKENS
from memorybank.monitoring.dashboard import Dashboard, load_dashboard
from memorybank.monitoring.health import HealthMetrics, failing, health_metrics, last_sweep
from memorybank.monitoring.invariants import Violation, check
from memorybank.monitoring.statistics import History, Recorded, Statistics, history, recorded, statistics
from memorybank.monitoring.time_series import TimeSeries
from memorybank.new_output import MAX_TEXT_CHARACTERS, NewOutput
from memorybank.prompts import text as prompt_text
from memorybank.reading.browsing import Origin, browse, find, origins, sentences
from memorybank.reading.explanations import Explanation, explain
from memorybank.reading.exporting import export
from memorybank.reading.prompting import PromptMemory, prompt_memory
from memorybank.reading.recall import Hit, recall
from memorybank.reading.recall.visibility import VisibleSentence
from memorybank.reading.rendering import Block, render
from memorybank.services.banks import all_banks, block_tokens, create_bank, delete_banks
from memorybank.services.block_history import (
    block_changes,
    block_kept_since,
    block_known_from,
    block_lines_at,
    block_lines_changed,
)
from memorybank.services.chats import chats_of, containing_words, create_chat, rename_chat
from memorybank.services.checkpoints import (
    checkpoints_after,
    compaction_of,
    is_compacting,
    may_compact,
    newest_checkpoint,
)
from memorybank.services.ledger import ledgered_call, record_call
from memorybank.services.memory import entries_of, facts_of, restated_facts, restricted_facts, stale_entries
from memorybank.services.outputs import outputs_of, turns_from, turns_of
from memorybank.services.tokens import count_tokens
from memorybank.services.trail import (
    ERASING_ACTIONS,
    audit_logs,
    erased_since,
    erasure_requests_of,
    erasures_of,
    events_of,
    jobs_of,
    was_enabled,
)
from memorybank.writing.bank_settings import configure, disable, enable, opt_out, retry_parked, set_private
from memorybank.writing.kept_prompts import count_prompt, keep_prompt
from memorybank.writing.recording import record_many, retry_output
from memorybank.writing.revisions import complete, record

if TYPE_CHECKING:
    from memorybank.compaction.compact import compact_chat, finish_compaction
    from memorybank.compaction.lease import begin_compaction, resume_compaction
    from memorybank.compaction.tool_messages import render_tool_messages
    from memorybank.erasure.erase import clear, forget, forget_asked
    from memorybank.erasure.requests import restore_asked
    from memorybank.indexing.document_writer import reindex
    from memorybank.model_calls.budget_cap import spent, spent_since
    from memorybank.model_calls.session import outage
    from memorybank.safety.quarantine import telling_words
    from memorybank.services.extraction import explain_line
    from memorybank.worker import run, run_due, summarise_now
    from memorybank.writing.fact_edits import add, edit, hide, keep_back, pin, release, restore, unpin
    from memorybank.writing.jobs import request_job

#: Imported at the first call: loading the code that writes memory takes a third of a second, and no prompt needs it.
_LATE = {
    name: module
    for module, names in {
        "memorybank.compaction.compact": "compact_chat finish_compaction",
        "memorybank.compaction.lease": "begin_compaction resume_compaction",
        "memorybank.compaction.tool_messages": "render_tool_messages",
        "memorybank.erasure.erase": "clear forget forget_asked",
        "memorybank.erasure.requests": "restore_asked",
        "memorybank.indexing.document_writer": "reindex",
        "memorybank.safety.quarantine": "telling_words",
        "memorybank.services.extraction": "explain_line",
        "memorybank.worker": "run run_due summarise_now",
        "memorybank.writing.fact_edits": "add edit hide keep_back pin release restore unpin",
        "memorybank.writing.jobs": "request_job",
        "memorybank.model_calls.budget_cap": "spent spent_since",
        "memorybank.model_calls.session": "outage",
    }.items()
    for name in names.split()
}

__all__ = [
    "BY_HAND",
    "ERASING_ACTIONS",
    "MAX_DAYS",
    "MAX_IDLE_MINUTES",
    "MAX_RECALL_TOKENS",
    "MAX_TEXT_CHARACTERS",
    "MAX_TOKENS",
    "MIN_TOKENS",
    "REBUILT_COUNTS",
    "Bank",
    "Block",
    "BlockLineVersion",
    "Chat",
    "Checkpoint",
    "Compaction",
    "Dashboard",
    "Entry",
    "Erasing",
    "Erasure",
    "ErasureReceipt",
    "ErasureRequest",
    "Event",
    "ExplainedLine",
    "Explanation",
    "Fact",
    "FactQuerySet",
    "Granularity",
    "Head",
    "HealthMetrics",
    "History",
    "Hit",
    "Job",
    "LLMCall",
    "LLMEndpoint",
    "MemoryLine",
    "NewOutput",
    "Origin",
    "Output",
    "PrivacyRow",
    "PromptCount",
    "PromptMemory",
    "PublicId",
    "Recorded",
    "RunReport",
    "Sealed",
    "Statistics",
    "StoredTable",
    "Text",
    "TimeSeries",
    "Violation",
    "VisibleSentence",
    "add",
    "all_banks",
    "audit_logs",
    "begin_compaction",
    "block_changes",
    "block_kept_since",
    "block_known_from",
    "block_lines_at",
    "block_lines_changed",
    "block_tokens",
    "browse",
    "chats_of",
    "check",
    "checkpoints_after",
    "clear",
    "compact_chat",
    "compaction_of",
    "complete",
    "configure",
    "containing_words",
    "count_prompt",
    "count_tokens",
    "create_bank",
    "create_chat",
    "delete_banks",
    "disable",
    "edit",
    "enable",
    "entries_of",
    "erased_counts",
    "erased_since",
    "erasure_requests_of",
    "erasures_of",
    "events_of",
    "explain",
    "explain_line",
    "export",
    "facts_of",
    "failing",
    "find",
    "finish_compaction",
    "forget",
    "forget_asked",
    "health_metrics",
    "hide",
    "history",
    "is_compacting",
    "jobs_of",
    "keep_back",
    "keep_prompt",
    "last_sweep",
    "ledgered_call",
    "load_dashboard",
    "may_compact",
    "newest_checkpoint",
    "opt_out",
    "origins",
    "outage",
    "outputs_of",
    "pin",
    "prompt_memory",
    "prompt_text",
    "public_id",
    "recall",
    "record",
    "record_call",
    "record_many",
    "recorded",
    "register_tables",
    "reindex",
    "release",
    "rename_chat",
    "render",
    "render_tool_messages",
    "request_job",
    "restated_facts",
    "restore",
    "restore_asked",
    "restricted_facts",
    "resume_compaction",
    "retry_output",
    "retry_parked",
    "run",
    "run_due",
    "sentences",
    "set_private",
    "spent",
    "spent_since",
    "stale_entries",
    "statistics",
    "summarise_now",
    "telling_words",
    "translate_models",
    "turns_from",
    "turns_of",
    "unpin",
    "was_enabled",
]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = service = getattr(import_module(_LATE[name]), name)
    return service

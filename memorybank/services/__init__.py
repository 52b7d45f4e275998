"""The public interface of the app, for other apps. Functions about one bank take it as their first argument.

Every name imported here is public. Queries return rows, frozen values, or querysets to filter, order and page.
Functions that change data are named by verbs. Model classes are exported as types, for annotations and forms.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memorybank.bank_scope import (
    all_banks_entered,
    also_enter,
    banks_entered,
    carried,
    enter,
    enter_all_banks,
    enter_banks_in,
)
from memorybank.core.granularity import Granularity
from memorybank.core.memory_line import MemoryLine, Text
from memorybank.core.prompt_memory import PromptMemory
from memorybank.core.quotes import Quotes, written_text
from memorybank.core.reports import ExplainedLine, RunReport
from memorybank.core.turns import speaker_names
from memorybank.erasure.receipts import REBUILT_COUNTS, ErasureReceipt, erased_counts
from memorybank.hooks import Change, send_task
from memorybank.i18n import translate_models
from memorybank.language.terms import terms as content_words
from memorybank.language.titles import title_of
from memorybank.models import (
    BY_HAND,
    NOBODY,
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
    Job,
    LLMCall,
    LLMEndpoint,
    Output,
    PromptCount,
    PublicId,
    public_id,
)
from memorybank.models.bank import (
    MAX_IDLE_MINUTES,
    MAX_PERSONAL_TOKENS,
    MAX_RECALL_TOKENS,
    MAX_RETENTION_DAYS,
    MAX_TOKENS,
    MIN_TOKENS,
)
from memorybank.monitoring.dashboard import Dashboard, load_dashboard
from memorybank.monitoring.health import HealthMetrics, count_failing_chats, health_metrics, last_sweep
from memorybank.monitoring.invariants import find_violations
from memorybank.monitoring.statistics import (
    RecordedCounts,
    count_earlier_turns,
    count_recorded,
    statistics,
    summary_cost,
)
from memorybank.monitoring.time_series import CHART_PERIOD_DAYS as CHART_PERIODS
from memorybank.monitoring.time_series import TimeSeries
from memorybank.new_output import (
    MAX_METADATA_ENTRIES,
    MAX_METADATA_NAME,
    MAX_METADATA_VALUE,
    MAX_TEXT_CHARACTERS,
    NewOutput,
)
from memorybank.prepared import PreparedQuery, insert, joined_writes
from memorybank.prompts import text as prompt_text
from memorybank.quoted_words import continue_from, store_quotes
from memorybank.reading.browsing import (
    Origin,
    browse,
    count_to_review,
    facts_from,
    facts_stating,
    origins,
    resting_beside,
    search_facts,
    sentences,
    to_review,
)
from memorybank.reading.explanations import Explanation, explain
from memorybank.reading.exporting import export
from memorybank.reading.personal import ANYBODY, Asker, in_own_words, personal_facts
from memorybank.reading.prompting import NotePlaces, prompt_memory
from memorybank.reading.recall.hits import Hit, recall
from memorybank.reading.recall.visibility import VisibleSentence
from memorybank.reading.rendering import Block, render
from memorybank.reading.turn_filter import TurnFilter, days_between
from memorybank.safety.quoting import as_shown
from memorybank.safety.via import VIA
from memorybank.services.audit import (
    ERASING_ACTIONS,
    audit_logs,
    erasure_requests_of,
    erasures_of,
    events_of,
    events_of_fact,
    jobs_of,
    objections_by,
    open_objections,
    receipts_of_person,
    was_enabled,
)
from memorybank.services.authors import authors_of, opted_out
from memorybank.services.banks import (
    all_banks,
    block_tokens,
    chat_count,
    create_bank,
    delete_banks,
    last_activity,
    lock_bank,
    memory_cost,
    update_trusted_authors,
)
from memorybank.services.block_history import (
    block_changes,
    block_kept_since,
    block_known_from,
    block_lines_at,
    block_lines_changed,
    block_lines_missing,
)
from memorybank.services.chats import (
    bank_of_chat,
    chats_of,
    create_chat,
    reader_count,
    readers_of,
    rename_chat,
)
from memorybank.services.checkpoints import (
    checkpoints_after,
    compaction_of,
    is_compacting,
    may_compact,
    newest_checkpoint,
)
from memorybank.services.ledger import count_ratings, ledgered_call, rate_answer, ratings_by, ratings_of, record_call
from memorybank.services.memory import (
    count_stale_entries,
    entries_of,
    facts_of,
    preferences_of,
    restated_fact_ids,
    restricted_fact_ids,
)
from memorybank.services.outputs import outputs_of, turns_from, turns_of
from memorybank.services.tokens import count_tokens
from memorybank.writing.sent_prompts import count_prompt, record_sent_prompt

if TYPE_CHECKING:
    from memorybank.compaction.compact import compact_chat, finish_compaction
    from memorybank.compaction.lease import begin_compaction, resume_compaction
    from memorybank.compaction.titling import improve_title
    from memorybank.compaction.tool_messages import render_tool_messages
    from memorybank.erasure.erase import erase, erase_everything, grant_erasure_request
    from memorybank.erasure.replay import receipts, replay
    from memorybank.erasure.requests import object_to, reject_erasure_request, uphold
    from memorybank.erasure.scope import quoting_titles, title_for_others
    from memorybank.indexing.document_writer import reindex
    from memorybank.model_calls.budget_cap import cost_this_month, month_of, spent_since
    from memorybank.model_calls.session import current_outage
    from memorybank.monitoring.statistics import expire_statistics
    from memorybank.safety.quarantine import is_of_message, telling_words
    from memorybank.services.extraction import explain_line
    from memorybank.services.jobs import request_job
    from memorybank.services.provider_errors import clean_error
    from memorybank.worker import run, run_due, summarise_now
    from memorybank.writing.bank_settings import configure, disable, enable, opt_out, retry_parked, set_audience
    from memorybank.writing.fact_edits import (
        add_fact,
        confirm_quarantine,
        edit_facts,
        hide,
        pin,
        release,
        restore,
        restore_original,
        unpin,
        withdraw_release,
    )
    from memorybank.writing.recording import add_messages, record_many, reopen_output, retry_output
    from memorybank.writing.revisions import complete, record
    from memorybank.writing.versions import bring_back, link_versions, set_aside, show_version, versions_of

#: Imported at first use: loading the code that writes memory takes a third of a second, and no prompt needs it.
_LATE = {
    name: module
    for module, names in {
        "memorybank.compaction.compact": "compact_chat finish_compaction",
        "memorybank.compaction.lease": "begin_compaction resume_compaction",
        "memorybank.compaction.titling": "improve_title",
        "memorybank.compaction.tool_messages": "render_tool_messages",
        "memorybank.erasure.erase": "erase_everything erase grant_erasure_request",
        "memorybank.erasure.replay": "receipts replay",
        "memorybank.erasure.requests": "object_to reject_erasure_request uphold",
        "memorybank.erasure.scope": "quoting_titles title_for_others",
        "memorybank.indexing.document_writer": "reindex",
        "memorybank.safety.quarantine": "is_of_message telling_words",
        "memorybank.monitoring.statistics": "expire_statistics",
        "memorybank.services.extraction": "explain_line",
        "memorybank.services.jobs": "request_job",
        "memorybank.services.provider_errors": "clean_error",
        "memorybank.worker": "run run_due summarise_now",
        "memorybank.writing.bank_settings": "configure disable enable opt_out retry_parked set_audience",
        "memorybank.writing.fact_edits": "add_fact edit_facts hide confirm_quarantine pin release restore"
        " restore_original unpin withdraw_release",
        "memorybank.writing.recording": "add_messages record_many reopen_output retry_output",
        "memorybank.writing.revisions": "complete record",
        "memorybank.writing.versions": "bring_back link_versions set_aside show_version versions_of",
        "memorybank.model_calls.budget_cap": "month_of cost_this_month spent_since",
        "memorybank.model_calls.session": "current_outage",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = service = getattr(import_module(_LATE[name]), name)
    return service

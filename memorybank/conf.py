"""The app's settings: ``MEMORYBANK`` in Django settings as one frozen, typed object.

Read at call time, so ``override_settings`` works. Unknown names and impossible values are reported at start by
:mod:`memorybank.checks`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any

from django.conf import settings


@dataclass(frozen=True, slots=True)
class Conf:
    """Every setting of the app with its default. Times are in seconds and sizes in tokens unless stated."""

    #: Alias → backend options, like CACHES. "chat" answers people; "summary" writes memory and falls back to "chat";
    #: with neither, memory is extractive.
    llms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Backend options of the embedding model; without them recall uses full-text search only.
    embeddings: Mapping[str, Any] = field(default_factory=dict)
    #: The encoding in which budgets are counted.
    encoding: str = "o200k_base"

    #: A chat with this many unsummarised turns is due even if it is not idle.
    due_after_turns: int = 20
    #: Maximum turns per summary; the rest is due again at once.
    turns_per_summary: int = 2000
    #: A lease expires after this time, so that another worker can take over the work of a dead one.
    lease_seconds: int = 900
    #: A chat is parked (not retried automatically) after this many attempts that failed because of its content.
    max_attempts: int = 5
    #: First pause after a failure; doubled each time, with jitter, up to ``backoff_max_seconds``.
    backoff_seconds: int = 60
    backoff_max_seconds: int = 3600
    #: How often beat looks for due work; jobs that no worker has taken by the next sweep are dropped.
    sweep_seconds: float = 60.0
    #: Minimum time between two consolidations of a bank (roll-up and rendering of its block) by workers.
    refresh_seconds: int = 5

    #: Maximum transcript tokens per call; longer chats are split.
    input_tokens: int = 12_000
    #: Maximum tokens of notes per call for a digest. More than for a transcript, because parts are digested apart and
    #: not united by subject. With the answer they fit a context window of 32,000.
    digest_input_tokens: int = 24_000
    #: Longer transcripts are split into parallel chunks, which is faster than one long call.
    chunk_from_tokens: int = 8_000
    #: Target size of a chunk. It may be a tenth larger, or smaller to use all ``concurrency`` parallel calls.
    chunk_tokens: int = 4_000
    #: Chunks summarised at the same time.
    concurrency: int = 4
    #: Maximum lines of a leaf that is joined from chunks unchanged; above it, the model merges the lines.
    lines_per_leaf: int = 240
    #: Time limit of a merge; when it is exceeded, the chunks' facts are kept unchanged.
    merge_seconds: int = 120
    #: Words of notes requested per transcript token, and the maximum words per call of up to ``chunk_tokens``.
    words_per_token: float = 0.25
    words_per_call: int = 600
    #: A live leaf is rebuilt from its turns after this many extensions, to limit drift.
    rebuild_after_updates: int = 25
    #: Extracted sentences kept in addition to the LLM's facts, as a share of the chat's tokens.
    detail_share: float = 0.8

    #: Roll-up starts when the frontier (entries that no digest has absorbed) exceeds the token budget × this.
    pressure: float = 1.25

    #: A chat keeps the memory block of its last prompt until it has been idle for this many minutes.
    block_keep_minutes: int = 10
    #: Maximum megabytes of each process's cache of index data and blocks, shared by all banks.
    index_cache_megabytes: int = 64
    #: Number of days for which lines that have left the block are kept for its history.
    history_days: int = 90
    #: Number of days for which the counts of a day (prompts, due chats, sizes of blocks) are kept.
    statistics_days: int = 400

    #: Alias ("chat", "summary" or "embedding") → price of a million tokens (input, output). Default: free.
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    #: Dotted path of ``f(bank, since) -> bool``: whether the bank's owner has spent their cap since then.
    capped_for_bank: str = ""
    #: Dotted path of ``f(bank id) -> Collection[str]``: the authors whose rules and decisions are shown as facts.
    trusted_authors: str = ""
    #: Dotted path of ``f(user) -> QuerySet[Bank]``: the banks a staff member may see in the admin.
    banks_for_user: str = ""
    #: The PostgreSQL role that web and workers connect as. If set, row-level security isolates the banks.
    row_security_role: str = ""
    #: Dotted path of ``f(bank_id, kind, ids)``, called in the transaction in which memory changes: see ``hooks``.
    on_change: str = ""
    #: Dotted path of ``f(task name, *args)`` that sends a task's message; without it a job waits for the next sweep.
    send_task: str = ""

    @property
    def lease(self) -> timedelta:
        return timedelta(seconds=self.lease_seconds)


def secret_keys() -> tuple[str, ...]:
    """The site's secret key, then its fallbacks, so that hashes made with an earlier key are still recognised."""
    return (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)


SETTING_NAMES = frozenset(f.name for f in fields(Conf))


#: The settings as they were last read, and what they make. A request reads them a dozen times.
_last: tuple[dict[str, Any], Conf] = {}, Conf()


def current() -> Conf:
    """The current settings. Unknown names are ignored here and refused by the checks."""
    global _last
    values = getattr(settings, "MEMORYBANK", {})
    known, conf = _last
    if values != known:
        conf = Conf(**{name.lower(): value for name, value in values.items() if name.lower() in SETTING_NAMES})
        _last = dict(values), conf
    return conf


def numeric_settings() -> list[tuple[str, int | float]]:
    """Every numeric setting with its default; these may be set by environment variables."""
    defaults = Conf()
    return [
        (name, value) for name in sorted(SETTING_NAMES) if isinstance(value := getattr(defaults, name), int | float)
    ]

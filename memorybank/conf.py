"""The app's settings: ``MEMORYBANK`` in Django settings → one frozen, typed object.

Read at call time, so ``override_settings`` works. Unknown names and impossible values are
reported at start by :mod:`memorybank.checks`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any

from django.conf import settings


@dataclass(frozen=True, slots=True)
class Conf:
    """Every tunable of the app with its default. Times are seconds, sizes are tokens, unless said."""

    #: Alias → backend options, like CACHES. "chat" answers people; "summary" writes memory and
    #: falls back to "chat"; neither → extractive memory.
    llms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Backend options of the embedding model; none → recall goes by words alone.
    embeddings: Mapping[str, Any] = field(default_factory=dict)
    #: The encoding budgets are proved in.
    encoding: str = "o200k_base"

    #: A chat with this many unsummarised turns is due even though it is not idle.
    due_after_turns: int = 20
    #: Turns that one summary covers at most; the rest is due again at once.
    turns_per_summary: int = 2000
    #: A task that dies gives its chat or bank back after this long.
    lease_seconds: int = 900
    #: A chat whose own content keeps failing is parked after this many attempts.
    max_attempts: int = 5
    #: First pause after a failure; doubled each time, with jitter, up to ``backoff_max_seconds``.
    backoff_seconds: int = 60
    backoff_max_seconds: int = 3600
    #: How often beat looks for what is due; what a sweep sends and no worker takes until the next one is dropped.
    sweep_seconds: float = 60.0
    #: While its chats keep coming in, a bank is rolled up and its block rendered no oftener than this.
    refresh_seconds: int = 5

    #: Transcript tokens one call reads at most; longer chats are split.
    input_tokens: int = 12_000
    #: From this size on, chunks in parallel beat one long call.
    chunk_from_tokens: int = 8_000
    #: The size of one chunk: up to a tenth more, and less where that fills a wave of ``concurrency``.
    chunk_tokens: int = 4_000
    #: Chunks summarised at the same time.
    concurrency: int = 4
    #: Lines of chunks that stand in one leaf as they are; more are merged by the model.
    lines_per_leaf: int = 240
    #: A merge has its own limit; past it the chunks' facts stand as they are.
    merge_seconds: int = 120
    #: What one call may write.
    lines_per_call: int = 12
    words_per_call: int = 180
    #: A live leaf is made anew from its turns after this many extensions, to bound drift.
    rebuild_after_updates: int = 25
    #: Extracted detail kept beside an LLM's facts, as a share of the chat's tokens.
    detail_share: float = 0.8

    #: Roll-up starts when the live frontier exceeds budget × this.
    pressure: float = 1.25

    #: Minutes after its last turn for which a chat keeps the block it was given.
    block_keep_minutes: int = 10
    #: Days for which lines that have left the block are kept, to say what it said then.
    history_days: int = 90

    #: "chat", "summary", "embedding" → what a million tokens cost: (read, written). Unnamed ones cost nothing.
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    #: Dotted path of ``f(bank, since) -> bool``: whether its owner's memory has spent since then what it may.
    capped_for_bank: str = ""
    #: Dotted path of ``f(user) -> QuerySet[Bank]``: whose banks a staff member may see in the admin.
    banks_for_user: str = ""

    @property
    def lease(self) -> timedelta:
        """``lease_seconds`` as a duration."""
        return timedelta(seconds=self.lease_seconds)


NAMES = frozenset(f.name for f in fields(Conf))


def current() -> Conf:
    """The settings as they are now. Unknown names are ignored here and refused by the checks."""
    given = getattr(settings, "MEMORYBANK", {})
    return Conf(**{name.lower(): value for name, value in given.items() if name.lower() in NAMES})


def numbers() -> list[tuple[str, int | float]]:
    """Every numeric setting with its default: those the environment may set."""
    defaults = Conf()
    return [(name, value) for name in sorted(NAMES) if isinstance(value := getattr(defaults, name), int | float)]

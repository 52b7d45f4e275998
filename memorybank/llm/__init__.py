"""Language models by alias, built from the MEMORYBANK setting, as Django builds caches from CACHES."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

from django.utils.module_loading import import_string

from memorybank import conf
from memorybank.llm.base import LLM, MESSAGE_TOKENS, Completion, Message

__all__ = ["LLM", "MESSAGE_TOKENS", "Completion", "Message", "embedder", "get", "reset", "using"]

FALLBACK_ALIASES = {"summary": "chat"}

_instances: dict[tuple[tuple[str, str], ...], Any] = {}
_replaced: dict[str, LLM | None] = {}
_lock = Lock()


def get(alias: str) -> LLM | None:
    """The model configured as ``alias``, or None; "summary" falls back to "chat".

    There is one instance per configuration: it reuses its connections, and aliases with equal options share it. Changed
    settings give a new instance.
    """
    if alias in _replaced:
        return _replaced[alias]
    llms = conf.current().llms
    options = llms.get(alias) or llms.get(FALLBACK_ALIASES.get(alias, alias))
    return _instance(options) if options else None


@contextmanager
def using(alias: str, model: LLM | None) -> Iterator[None]:
    """Use ``model`` as ``alias`` in this process, for a ``with`` block, whatever is configured; None for no model."""
    _replaced[alias] = model
    try:
        yield
    finally:
        del _replaced[alias]


def embedder() -> Any:
    """The embedding model (``llm.embeddings.OpenAICompatibleEmbedder``), or None."""
    options = conf.current().embeddings
    return _instance(options) if options else None


def _instance(options: Mapping[str, Any]) -> Any:
    # The key is the options, not the alias, so that two aliases of one endpoint share its connections.
    key = tuple(sorted((name, repr(value)) for name, value in options.items()))
    # Two threads that make the first call at the same time must not open two pools.
    with _lock:
        if key not in _instances:
            _instances[key] = _build(options)
        return _instances[key]


def reset() -> None:
    """Close and remove every instance: for tests."""
    with _lock:
        for instance in _instances.values():
            instance.close()
        _instances.clear()


def _drop_after_fork() -> None:
    """Drop the instances in a forked child: their sockets are the parent's, and a thread may have held the lock."""
    global _lock
    _lock = Lock()
    _instances.clear()


def _build(options: Mapping[str, Any]) -> Any:
    backend: Callable[..., Any] = import_string(options["BACKEND"])
    return backend(**{name.lower(): value for name, value in options.items() if name != "BACKEND"})


os.register_at_fork(after_in_child=_drop_after_fork)

"""System checks: misspelt or impossible settings fail at start, with a hint."""

from collections.abc import Iterator
from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.utils.module_loading import import_string

from . import conf, tokens

POSITIVE = (int, float)


@register("memorybank")
def check_settings(**_: Any) -> list[CheckMessage]:
    """Every name in ``MEMORYBANK`` is known, every number is positive, every path imports."""
    given = getattr(settings, "MEMORYBANK", {})
    if not isinstance(given, dict):
        return [Error("MEMORYBANK must be a dictionary.", id="memorybank.E001")]
    return [*_unknown(given), *_impossible(given), *_sizes(), *_backends(given)]


def _unknown(given: dict[str, Any]) -> Iterator[CheckMessage]:
    for name in given:
        if name.lower() not in conf.NAMES:
            close = get_close_matches(name.lower(), conf.NAMES, n=1)
            hint = f"Did you mean {close[0].upper()}?" if close else "See docs/settings.md."
            yield Error(f"MEMORYBANK has no setting {name}.", hint=hint, id="memorybank.E002")


def _impossible(given: dict[str, Any]) -> Iterator[CheckMessage]:
    defaults = conf.Conf()
    for f in fields(conf.Conf):
        value = given.get(f.name.upper(), getattr(defaults, f.name))
        wanted = type(getattr(defaults, f.name))
        if wanted in POSITIVE and (isinstance(value, bool) or not isinstance(value, POSITIVE) or value <= 0):
            yield Error(
                f"MEMORYBANK['{f.name.upper()}'] must be a positive number, not {value!r}.",
                id="memorybank.E003",
            )
    if given.get("ENCODING", defaults.encoding) not in tokens.ENCODINGS:
        yield Error(f"MEMORYBANK['ENCODING'] must be one of {', '.join(tokens.ENCODINGS)}.", id="memorybank.E004")


def _sizes() -> Iterator[CheckMessage]:
    now = conf.current()
    try:
        fits = now.chunk_tokens <= now.input_tokens and now.chunk_from_tokens <= now.input_tokens
    except TypeError:  # already reported by _impossible
        return
    if not fits:
        yield Error(
            "MEMORYBANK['CHUNK_TOKENS'] and ['CHUNK_FROM_TOKENS'] must not exceed ['INPUT_TOKENS'].",
            id="memorybank.E005",
        )


def _backends(given: dict[str, Any]) -> Iterator[CheckMessage]:
    paths = [(f"LLMS[{alias!r}]", options.get("BACKEND", "")) for alias, options in given.get("LLMS", {}).items()]
    paths += [("EMBEDDINGS", given["EMBEDDINGS"].get("BACKEND", ""))] if given.get("EMBEDDINGS") else []
    paths += [("BANKS_FOR_USER", given["BANKS_FOR_USER"])] if given.get("BANKS_FOR_USER") else []
    for where, path in paths:
        try:
            import_string(path)
        except ImportError as error:
            yield Error(
                f"MEMORYBANK {where}: cannot import {path!r}: {error}.",
                hint="The built-in backend is memorybank.llm.openai_compatible.OpenAICompatibleLLM.",
                id="memorybank.E006",
            )

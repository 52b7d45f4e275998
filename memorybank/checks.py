"""System checks: misspelt or impossible settings fail at start, with a hint."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from difflib import get_close_matches
from math import inf
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.utils.module_loading import import_string

from memorybank import conf
from memorybank.language import tokens

Values = Mapping[str, Any]


@register("memorybank")
def check_settings(**_: Any) -> list[CheckMessage]:
    """Check names, types, values and import paths in ``MEMORYBANK``."""
    configured = getattr(settings, "MEMORYBANK", {})
    if not isinstance(configured, dict):
        return [Error("MEMORYBANK must be a dictionary.", id="memorybank.E001")]
    values = {**asdict(conf.Conf()), **{str(name).lower(): value for name, value in configured.items()}}
    return [*_unknown(values), *_impossible(values), *_sizes(values), *_prices(values), *_backends(values)]


def _unknown(values: Values) -> Iterator[CheckMessage]:
    for name in values:
        if name not in conf.SETTING_NAMES:
            close = get_close_matches(name, conf.SETTING_NAMES, n=1)
            hint = f"Did you mean {close[0].upper()}?" if close else "See docs/settings.md."
            yield Error(f"MEMORYBANK has no setting {name.upper()}.", hint=hint, id="memorybank.E002")


def _impossible(values: Values) -> Iterator[CheckMessage]:
    for name, default in conf.numeric_settings():
        if not _is_positive(values[name], whole=isinstance(default, int)):
            kind = "positive whole number" if isinstance(default, int) else "positive number"
            yield Error(f"MEMORYBANK['{name.upper()}'] must be a {kind}, not {values[name]!r}.", id="memorybank.E003")
    if values["encoding"] not in tokens.ENCODINGS:
        yield Error(f"MEMORYBANK['ENCODING'] must be one of {', '.join(tokens.ENCODINGS)}.", id="memorybank.E004")


def _is_positive(value: Any, *, whole: bool) -> bool:
    # True is an int in Python, but never meant as a number.
    numeric = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    return numeric and 0 < value < inf


def _sizes(values: Values) -> Iterator[CheckMessage]:
    # _impossible reports values that are not numbers; this only compares sizes.
    sizes = [values[name] for name in ("chunk_tokens", "chunk_from_tokens", "input_tokens")]
    if all(_is_positive(size, whole=True) for size in sizes) and max(sizes) > sizes[-1]:
        yield Error(
            "MEMORYBANK['CHUNK_TOKENS'] and ['CHUNK_FROM_TOKENS'] must not exceed ['INPUT_TOKENS'].",
            id="memorybank.E005",
        )


def _prices(values: Values) -> Iterator[CheckMessage]:
    prices = values["prices"]
    for alias, pair in prices.items() if isinstance(prices, Mapping) else [("", prices)]:
        known = alias in ("chat", "summary", "embedding")
        if not (known and isinstance(pair, tuple | list) and len(pair) == 2 and all(map(_is_price, pair))):
            yield Error(
                f"MEMORYBANK PRICES[{alias!r}]: must be two numbers that are not negative.",
                hint="For chat, summary or embedding: what a million tokens cost, read and written.",
                id="memorybank.E008",
            )


def _is_price(value: Any) -> bool:
    return value == 0 or _is_positive(value, whole=False)


def _backends(values: Values) -> Iterator[CheckMessage]:
    llms, embeddings = values["llms"], values["embeddings"]
    if isinstance(llms, Mapping):
        for alias, options in llms.items():
            yield from _backend(f"LLMS[{alias!r}]", options)
    else:
        yield _no_options("LLMS", llms)
    if embeddings != {}:
        yield from _backend("EMBEDDINGS", embeddings)
    for name in ("banks_for_user", "capped_for_bank", "trusted_authors"):
        if values[name] != "":
            yield from _importable(name.upper(), values[name])


def _backend(where: str, options: Any) -> Iterator[CheckMessage]:
    if isinstance(options, Mapping):
        yield from _importable(where, options.get("BACKEND", ""))
    else:
        yield _no_options(where, options)


def _no_options(where: str, value: Any) -> CheckMessage:
    """The error omits the value, which may contain an API key."""
    return Error(
        f"MEMORYBANK {where}: must be a dictionary, not {type(value).__name__}.",
        hint="No single variable of the environment can hold it; see docs/settings.md.",
        id="memorybank.E007",
    )


def _importable(where: str, path: Any) -> Iterator[CheckMessage]:
    try:
        import_string(str(path))
    except ImportError as error:
        yield Error(
            f"MEMORYBANK {where}: cannot import {path!r}: {error}.",
            hint="The built-in backend is memorybank.llm.openai_compatible.OpenAICompatibleLLM.",
            id="memorybank.E006",
        )

"""Prompts are files, each known by its name and by what is in it."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from django.template.loader import get_template


def render(name: str, context: Mapping[str, Any]) -> str:
    """The text of a prompt file with what varies in it: plain text, which a page has to escape."""
    return get_template(_path(name)).render(dict(context)).strip()


@cache
def version(name: str) -> str:
    """Names a prompt file by what is in it, so that every edit is a new version."""
    source = Path(get_template(_path(name)).origin.name).read_bytes()  # type: ignore[attr-defined]
    return f"{name}@{hashlib.sha256(source).hexdigest()[:8]}"


def _path(name: str) -> str:
    return f"memorybank/prompts/{name}.txt"

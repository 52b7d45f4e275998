"""All text of the app that models read: prompts and their parts in ``*.txt``, single sentences in ``sentences.toml``.

The core package reads sentences here, so this module must not import Django; ``templates`` fills in the variables.
"""

import tomllib
from functools import cache
from hashlib import sha256
from pathlib import Path

PROMPTS_FOLDER = Path(__file__).parent


def text(name: str) -> str:
    """The sentence with this name, such as “memory.block”; raises :class:`KeyError` if there is none."""
    return _sentences()[name]


@cache
def version(*names: str) -> str:
    """The version of a prompt: a hash of all its files, so that an edit of any file gives a new version."""
    content = b"\0".join((PROMPTS_FOLDER / f"{name}.txt").read_bytes() for name in names)
    return f"{names[0]}@{sha256(content).hexdigest()[:8]}"


@cache
def _sentences() -> dict[str, str]:
    tables = tomllib.loads((PROMPTS_FOLDER / "sentences.toml").read_text(encoding="utf-8"))
    return {f"{table}.{name}": words for table, sentences in tables.items() for name, words in sentences.items()}

"""All text that a model reads: prompts and their parts are ``*.txt``, single sentences are in ``sentences.toml``.

The core reads headers here, so this module imports no framework; ``templates`` renders the prompts' variables.
"""

import tomllib
from functools import cache
from hashlib import sha256
from pathlib import Path

FOLDER = Path(__file__).parent


def text(name: str) -> str:
    """The sentence with this name, such as “memory.block”; raises :class:`KeyError` if there is none."""
    return _sentences()[name]


@cache
def version(*names: str) -> str:
    """The version of a prompt: a hash of all files it consists of, so that an edit of any makes a new version."""
    content = b"\0".join((FOLDER / f"{name}.txt").read_bytes() for name in names)
    return f"{names[0]}@{sha256(content).hexdigest()[:8]}"


@cache
def _sentences() -> dict[str, str]:
    tables = tomllib.loads((FOLDER / "sentences.toml").read_text(encoding="utf-8"))
    return {f"{table}.{name}": words for table, sentences in tables.items() for name, words in sentences.items()}

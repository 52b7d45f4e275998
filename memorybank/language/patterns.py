"""Words of the packs → parts of regular expressions."""

import re
from collections.abc import Callable, Iterable, Mapping

from memorybank.language.pack import Pack
from memorybank.language.pack_loader import every
from memorybank.language.sections import Words

NOTHING = "(?!)"  # matches nothing, as an empty alternation should


def either(patterns: Iterable[str]) -> str:
    """Any of them, the longest first, so that none hides another that begins like it; without parentheses."""
    return "|".join(sorted(set(patterns), key=lambda pattern: (-len(pattern), pattern))) or NOTHING


def spelt(words: Iterable[str]) -> str:
    """Any of these words or phrases to the letter, with apostrophes of both kinds."""
    return either(re.escape(word).replace("'", "['’]") for word in words)


def whole(of: Callable[[Pack], Words]) -> str:
    """Any of the patterns that ``of`` takes from the packs: whole words where words are parted, else anywhere."""
    return rf"\b(?:{either(every(of, spaced=True))})(?!\w)|{either(every(of, spaced=False))}"


def filled(pattern: str, parts: Mapping[str, str]) -> str:
    """The pattern with ``{{name}}`` replaced by the part of that name."""
    for name, part in parts.items():
        pattern = pattern.replace("{{" + name + "}}", part)
    return pattern

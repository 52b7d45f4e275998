"""Build parts of regular expressions from words."""

import re
from collections.abc import Iterable, Mapping

MATCH_NOTHING = "(?!)"  # an empty alternation must match nothing


def alternation(patterns: Iterable[str]) -> str:
    """An alternation without parentheses; longer patterns first, so that no prefix hides a longer pattern."""
    return "|".join(sorted(set(patterns), key=lambda pattern: (-len(pattern), pattern))) or MATCH_NOTHING


def literals(words: Iterable[str]) -> str:
    """An alternation of literal words or phrases; straight and curly apostrophes match each other."""
    return alternation(re.escape(word).replace("'", "['’]") for word in words)


def fill_in(pattern: str, parts: Mapping[str, str]) -> str:
    """The pattern with each ``{{name}}`` replaced by its part."""
    for name, part in parts.items():
        pattern = pattern.replace("{{" + name + "}}", part)
    return pattern

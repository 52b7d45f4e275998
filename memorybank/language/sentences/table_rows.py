"""Tell the rows of a Markdown table as sentences, each cell with its title: "Shop: Maro, Price: 340 euro." Pure."""

import re
from collections.abc import Iterator

#: The line between the titles and the rows.
RULE = re.compile(r"\s{0,3}\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*){1,30}\|?\s*")
BAR = re.compile(r"(?<!\\)\|")
#: A longer row is no fact.
MAX_ROW_CHARACTERS = 400


def rows_as_sentences(text: str) -> str:
    """The text with each row of its tables as a sentence in a line of its own, and without their titles."""
    if "|" not in text or "--" not in text:
        return text
    return "\n".join(_lines(text.split("\n")))


def _lines(lines: list[str]) -> Iterator[str]:
    titles: list[str] = []
    for number, line in enumerate(lines):
        parts = _cells(line)
        is_table = len(parts) > 1 and "|" in line
        if RULE.fullmatch(line):
            before = _cells(lines[number - 1]) if number else []
            titles = before if len(before) == len(parts) else []
        elif titles and is_table and len(parts) == len(titles) and len(line) <= MAX_ROW_CHARACTERS:
            yield _sentence(titles, parts)
        else:
            titles = []
            yield line


def _sentence(titles: list[str], parts: list[str]) -> str:
    told = (f"{title}: {part}" if title else part for title, part in zip(titles, parts, strict=True) if part)
    return f"{', '.join(told)}."


def _cells(line: str) -> list[str]:
    return [part.strip() for part in BAR.split(line.strip().strip("|"))]

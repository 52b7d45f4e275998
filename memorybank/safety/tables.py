"""The cells of tables in a text, each with the title of its column: lines of parts between bars, tabs or semicolons."""

import re
from collections.abc import Callable, Iterator

_PARTS = re.compile(r"[|\t;]")


def cells(text: str, is_title: Callable[[str], bool]) -> Iterator[tuple[str, int, str]]:
    """Title, start and text of each cell below the first title of a line that ``is_title``."""
    line_start, column, width, title = 0, -1, 0, ""
    for line in text.splitlines(keepends=True):
        parts = _PARTS.split(line)
        if len(parts) != width:
            column, width = -1, len(parts)
        titles = [number for number, part in enumerate(parts) if is_title(part.strip())] if width > 1 else []
        if titles:
            column, title = titles[0], parts[titles[0]].strip()
        elif column >= 0 and (value := parts[column].strip()):
            start = line_start + sum(len(part) + 1 for part in parts[:column])
            yield title, start + len(parts[column]) - len(parts[column].lstrip()), value
        line_start += len(line)

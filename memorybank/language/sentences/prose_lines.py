"""Select the prose lines of a message: no code, tables, headings or list numbers."""

import re
from collections.abc import Iterator

from memorybank.language.masks import MASK, NO_MASK

FENCE = re.compile(r"\s{0,8}(?:```|~~~)")
HEADING = re.compile(r"\s{0,3}#{1,6}(?:\s|$)|\s*+\*\*[^*]{1,120}\*\*\s*+:?\s*+$|\s*+[-=_*~#]{3,}+\s*+$")
SPACES = re.compile(r"[^\S\n]{2,}")
NUMBERED = re.compile(r"^\s*+(?:[(（]?(?:\d{1,3}|[a-zA-Z])[.)、）]\s+|[①-⑳]\s*)")
# “> 2 servers” is a quotation, “>2 servers” a comparison.
BULLET = re.compile(r"^(?:\s*+(?:>++(?!=?\d)\s*+|[-*+•‣–·]\s++))+(?:\[[ xX]\]\s+)?")
# [image: …], [file: …]: a program's placeholder for an attachment; nobody said it.
ATTACHMENT_PLACEHOLDER = re.compile(NO_MASK + r"\[\w{2,20}: [^\[\]]{0,400}\]")
MARKDOWN_LINK = re.compile(r"!?" + NO_MASK + r"\[([^\[\]]{0,300})\]\([^()\s]{0,2000}\)")
# A star of a file's name is no emphasis: checks/*.sql, **/*.py, *.tmp.
EMPHASIS = re.compile(r"\*\*(?!/)|__|~~|`+|(?<![\w*/])\*(?=[^\s.*])|(?<=[^\s/*])\*(?!\w|\*|\.\w)")
# A tokenizer's or template engine's control token; its bars are not a table's.
CONTROL_TOKEN = re.compile(r"< ?\|[^\s|]{1,40}\| ?>")
CODE_SIGNS = re.compile(r"[{}()<>\[\]=;|\\/$&^~_]")


def fenced_lines(lines: list[str]) -> set[int]:
    """The numbers of the lines inside code fences. A fence without an end ends at the next blank line."""
    marks = iter([number for number, line in enumerate(lines) if FENCE.match(line)])
    inside: set[int] = set()
    for start in marks:
        end = next(marks, None)
        if end is None:
            end = next((n for n in range(start, len(lines)) if not lines[n].strip()), len(lines) - 1)
        inside.update(range(start, end + 1))
    return inside


def is_table(line: str) -> bool:
    """Whether the line is a table row: it begins with a bar or contains two."""
    return line.lstrip().startswith("|") or CONTROL_TOKEN.sub("", line).replace("||", "").count("|") > 1


def is_code(line: str) -> bool:
    """Whether a line outside fences is code or log: more than an eighth of it is brackets and operators."""
    line = MASK.sub("", line)
    return len(CODE_SIGNS.findall(line)) * 8 > len(line) > 0


def prose(text: str) -> Iterator[str]:
    """The prose lines of a message, without markdown."""
    lines = SPACES.sub(" ", text).split("\n")
    skipped = fenced_lines(lines)
    numbered = sum(1 for line in lines if NUMBERED.match(line)) > 1
    for number, line in enumerate(lines):
        if number in skipped or HEADING.match(line) or is_table(line):
            continue
        line = BULLET.sub("", line, count=1)
        if numbered:
            line = NUMBERED.sub("", line, count=1)
        line = EMPHASIS.sub("", MARKDOWN_LINK.sub(r"\1", ATTACHMENT_PLACEHOLDER.sub("", line))).strip()
        if line and not line.endswith((":", "：")) and not is_code(line):
            yield line

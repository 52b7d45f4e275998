"""Escape any text to one line that cannot forge a heading, fence or special token, or hide characters."""

import re

from memorybank.language import plain

_RUNS = re.compile(r"([-=*_~`#])\1{2,}")
# Only marks that open a block: "#231", "-5", "~3 km", ">5" and "`code`" carry meaning.
_MARKUP = re.compile(r"^(?:#+(?=\s|$)|>(?=[\s>]|$)|\|+|=+(?=\s|$)|~~+|``+|(?:--?|[*+•])(?=\s|$)|\s+)+")
_OPENING = re.compile(r"<(?=[^\s\d=\-])")
_CLOSING = re.compile(r"(?<=[^\s\d=\-])>")
# Control tokens of the Llama and Mistral families.
_BRACKETED = re.compile(
    r"\[(/?(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT))\]", re.I
)


def escape(text: str) -> str:
    """``text`` as a single line of memory; idempotent.

    Hidden characters are removed, white space collapses, headings and bullets lose their mark, fences are shortened
    below a fence's length, and ``<|endoftext|>`` becomes ``‹|endoftext|›``.
    """
    text = _MARKUP.sub("", _RUNS.sub(r"\1\1", " ".join(plain(text).split())))
    text = _CLOSING.sub("›", _OPENING.sub("‹", text))
    text = _BRACKETED.sub(r"(\1)", text)
    return _MARKUP.sub("", text).strip()

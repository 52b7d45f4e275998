"""Any text → one line that can forge no heading, fence, special token or hidden character."""

import re

from memorybank.language import plain

_RUNS = re.compile(r"([-=*_~`#])\1{2,}")
# Only what opens a block: "#231", "-5", "~3 km", ">5" and "`code`" say something.
_MARKUP = re.compile(r"^(?:#+(?=\s|$)|>(?=[\s>]|$)|\|+|=+(?=\s|$)|~~+|``+|(?:--?|[*+•])(?=\s|$)|\s+)+")
_OPENING = re.compile(r"<(?=[^\s\d=\-])")
_CLOSING = re.compile(r"(?<=[^\s\d=\-])>")
# What instruction-tuned models of the Llama and Mistral families take for control tokens.
_BRACKETED = re.compile(
    r"\[(/?(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT))\]", re.I
)


def escape(text: str) -> str:
    """``text`` as a single line of memory; idempotent.

    Hidden characters go, white space collapses, headings and bullets lose their mark, fences
    are shortened to what is no fence, and ``<|endoftext|>`` becomes ``‹|endoftext|›``.
    """
    text = _MARKUP.sub("", _RUNS.sub(r"\1\1", " ".join(plain(text).split())))
    text = _CLOSING.sub("›", _OPENING.sub("‹", text))
    text = _BRACKETED.sub(r"(\1)", text)
    return _MARKUP.sub("", text).strip()

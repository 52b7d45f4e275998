"""Any text → one line that can forge no heading, fence, special token or hidden character."""

import re
import unicodedata

# Invisible although Unicode calls them letters, marks or symbols.
_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
_INVISIBLE = re.compile(f"[{_BLANKS}\ufe00-\ufe0f\U000e0100-\U000e01ef]")

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
    text = strip_hidden(text)
    text = _MARKUP.sub("", _RUNS.sub(r"\1\1", " ".join(text.split())))
    text = _CLOSING.sub("›", _OPENING.sub("‹", text))
    text = _BRACKETED.sub(r"(\1)", text)
    return _MARKUP.sub("", text).strip()


def strip_hidden(text: str) -> str:
    """``text`` without control, zero-width, bidirectional and otherwise invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    text = _INVISIBLE.sub("", text)
    if text.isprintable():  # then no character is of a category that hides; looking at each is slow
        return text
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cf":
        return ""
    if category in ("Cc", "Zl", "Zp"):
        return " "
    return "\ufffd" if category == "Cs" else character

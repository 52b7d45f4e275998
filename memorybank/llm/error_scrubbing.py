"""What a provider says of a failure without what it was sent: its words end in logs, ledger and admin."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memorybank.exceptions import LLMError
from memorybank.language.terms import FUNCTION

# A word, but no short number: those count seconds and items.
_WORD = re.compile(r"(?!\d{1,3}\b)\w+")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_PREFIX = re.compile(r"HTTP \d{3}: |")
_LEFT_OUT = re.compile(r"…(?:[^\w…]*…)+")
#: A piece of a word that is so long was sent, too: providers cut what they quote.
PIECE = 4
#: What errors are made of, and the little words: these stay, whatever was sent.
_KEPT = FUNCTION.union(
    """
    answer answered api authentication bad connect connection context error exceeded exceeds failed
    forbidden found gateway header host http https incorrect input internal invalid json key length limit limits loaded
    max maximum message messages model models network overloaded parameter permission prompt provided quota rate reached
    refused rejected request requests required response retry server service status temporarily timeout token tokens
    unauthorized unavailable unknown unreadable unsupported url value wrong
    """.split()
)


@contextmanager
def discreet(sent: Sequence[str]) -> Iterator[None]:
    """Whatever :class:`LLMError` is raised within says nothing of ``sent``."""
    try:
        yield
    except LLMError as error:
        error.args = (without_echo(str(error), sent), *error.args[1:])
        raise


def without_echo(message: str, sent: Sequence[str]) -> str:
    """The message with "…" for each word that was sent, but for those that errors and sentences are made of."""
    message = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), message).replace("\\n", " ")
    said = "\n".join(sent).casefold()
    words = set(_WORD.findall(said))

    def told(match: re.Match[str]) -> str:
        word = match[0].casefold()
        echoed = word not in _KEPT and (word in words or (len(word) >= PIECE and word in said))
        return "…" if echoed else match[0]

    begin = _PREFIX.match(message)
    prefix = begin[0] if begin else ""
    return prefix + _LEFT_OUT.sub("…", _WORD.sub(told, message[len(prefix) :]))

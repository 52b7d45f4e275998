"""Remove sent text from providers' error messages, because these reach logs, ledger and admin."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memorybank.exceptions import LLMError
from memorybank.language.terms import FUNCTION_WORDS

# A word, but not a number of up to three digits: those are mostly seconds and counts.
_WORD = re.compile(r"(?!\d{1,3}\b)\w+")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_PREFIX = re.compile(r"HTTP \d{3}: |")
_LEFT_OUT = re.compile(r"…(?:[^\w…]*…)+")
MAX_ERROR_CHARACTERS = 500
#: A part of a sent word is scrubbed if it is at least this long: providers truncate what they quote.
MIN_ECHO_CHARACTERS = 4
#: Function words and the vocabulary of errors are kept, even if they were sent.
_KEPT_WORDS = FUNCTION_WORDS.union(
    """
    answer answered api authentication bad completion connect connection context error exceeded exceeds failed
    field forbidden found gateway header host http https incorrect input internal invalid json key length
    limit limits loaded long longer max maximum message messages missing model models network overloaded
    parameter permission prompt provided quota rate reached reduce refused rejected request requests required
    response retry server service status temporarily timeout token tokens unauthorized unavailable unknown
    unreadable unsupported upstream url value window wrong
    """.split()
)


@contextmanager
def scrub_errors(sent: Sequence[str]) -> Iterator[None]:
    """Remove the words of ``sent`` from any :class:`LLMError` raised in the ``with`` block."""
    try:
        yield
    except LLMError as error:
        error.args = (scrub(str(error), sent), *error.args[1:])
        raise


def scrub(message: str, sent: Sequence[str]) -> str:
    """Replace each sent word in the message by "…", except function words and the vocabulary of errors."""
    message = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), message).replace("\\n", " ")
    sent_text = "\n".join(sent).casefold()
    sent_words = set(_WORD.findall(sent_text))

    def scrubbed(match: re.Match[str]) -> str:
        word = match[0].casefold()
        is_echo = word not in _KEPT_WORDS and (
            word in sent_words or (len(word) >= MIN_ECHO_CHARACTERS and word in sent_text)
        )
        return "…" if is_echo else match[0]

    match = _PREFIX.match(message)
    prefix = match[0] if match else ""
    return prefix + _LEFT_OUT.sub("…", _WORD.sub(scrubbed, message[len(prefix) :]))

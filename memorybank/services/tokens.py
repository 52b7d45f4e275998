"""Count the tokens of a text."""

from memorybank import conf
from memorybank.language import tokens


def count_tokens(text: str) -> int:
    """The number of tokens in ``text``, in the configured encoding, which budgets use, too."""
    return tokens.count(text, conf.current().encoding)

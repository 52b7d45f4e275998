"""Count the tokens of a text."""

from memorybank import conf
from memorybank.language import tokens


def count_tokens(text: str) -> int:
    """Tokens of ``text`` in the encoding that budgets are counted in."""
    return tokens.count(text, conf.current().encoding)

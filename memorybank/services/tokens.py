"""How long a text is for a model."""

from memorybank import conf
from memorybank.language import tokens


def count_tokens(text: str) -> int:
    """Tokens of ``text`` in the encoding that budgets are proved in."""
    return tokens.count(text, conf.current().encoding)

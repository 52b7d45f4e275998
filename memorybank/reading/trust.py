"""Whose word counts in a bank: the speakers who may state as a fact what others act on."""

from memorybank import hooks


def trusted_speakers(bank_id: int) -> frozenset[str]:
    """The names under which the trusted authors of a bank are shown."""
    from memorybank.safety.naming import display_name  # loads the rules of masking

    return frozenset(map(display_name, hooks.trusted_authors(bank_id)))

"""Lines that read like instructions to a model are held back for review, not injected."""


def reason(text: str) -> str:
    """Why ``text`` should not be shown to a model, or "" when it is fine."""
    return ""

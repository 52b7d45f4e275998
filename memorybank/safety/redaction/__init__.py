"""Secrets and personal data → masks such as ``[redacted: phone number]``, before any model sees a text.

Formats of keys and tokens are Kingfisher's business, phone numbers Google's, check digits python-stdnum's. Ours is what
people type in a chat. A mask too many harms memory: when in doubt it stays.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType

from memorybank.language import plain
from memorybank.safety.redaction import commands, contacts, numbers, passwords, vendors
from memorybank.safety.redaction.spans import MASKED, View, masked

__all__ = ["Redacted", "redact"]

PASSES = 5  # a mask may lay bare what its neighbour hid; measured: two passes settle everything


@dataclass(frozen=True, slots=True)
class Redacted:
    """The masked text, and the kinds of what was masked: one each, sorted."""

    text: str
    found: tuple[str, ...]


def redact(text: str, *, personal: bool = True) -> Redacted:
    """Mask secrets always, and personal data if ``personal``. Idempotent; linear in ``len(text)``.

    Reads what a person sees: hidden characters go first (the text comes back without them), and emphasis inside a
    word parts nothing. Lone surrogates become "?".
    """
    text = plain(text.encode("utf-8", "replace").decode("utf-8"))
    values: list[tuple[str, str]] = []
    for _ in range(PASSES):
        before = text
        text = _masked(text, (commands, vendors, passwords), values)
        if personal:
            text = _masked(text, (contacts, numbers), values)
        if text == before:
            break
    return Redacted(text, tuple(sorted({kind for _, kind in values})))


def _masked(text: str, rules: Iterable[ModuleType], values: list[tuple[str, str]]) -> str:
    """The text without what the rules find; what that was goes to ``values``."""
    view = View.of(text)
    spans = (span for rule in rules for span in rule.found(view.text))
    text, found = masked(text, [view.back(span) for span in spans if MASKED not in view.text[span.start : span.end]])
    values += found
    return text

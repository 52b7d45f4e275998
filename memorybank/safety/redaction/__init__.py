"""Mask secrets and personal data as ``[redacted: phone number]`` before any model sees a text.

Kingfisher knows the formats of keys and tokens, phonenumbers telephone numbers, python-stdnum check digits. The rules
here know what people type in a chat. A needless mask harms memory, so in doubt the text stays.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from memorybank.language import plain
from memorybank.safety.redaction import (
    codes,
    command_lines,
    contacts,
    identity_numbers,
    labelled,
    passphrases,
    passwords,
    vendors,
)
from memorybank.safety.redaction.known_values import Known, digest, is_distinctive
from memorybank.safety.redaction.spans import MASKED, Span, View, masked

__all__ = ["PERSONAL", "Known", "Masker", "Redacted", "digest", "is_distinctive", "redact"]

PASSES = 5  # a mask may reveal a secret beside it; measured: two passes settle everything
#: Kinds that a bank may choose not to mask; every other kind is a secret.
PERSONAL = frozenset({*contacts.KINDS, *identity_numbers.KINDS})

Rule = Callable[[str], Iterator[Span]]
SECRETS: tuple[Rule, ...] = (
    command_lines.found,
    vendors.found,
    codes.found,
    passphrases.found,
    passwords.found,
    labelled.found,
)
PEOPLE: tuple[Rule, ...] = (contacts.found, identity_numbers.found)


@dataclass(frozen=True, slots=True)
class Redacted:
    """The masked text and the sorted kinds of its masks. ``values`` are the masked values with their kinds."""

    text: str
    found: tuple[str, ...]
    values: tuple[tuple[str, str], ...] = field(default=(), repr=False, compare=False)


@dataclass(slots=True)
class Masker:
    """Masks the texts of one bank: uses values ``known`` before, and remembers ``learnt`` ones: value → kind."""

    personal: bool = True
    known: Known = field(default_factory=Known)
    learnt: dict[str, str] = field(default_factory=dict, repr=False)
    _learnt: Known = field(default_factory=Known, init=False, repr=False)

    def mask(self, text: str) -> str:
        """The masked text. Distinctive values are learnt."""
        masked = redact(text, personal=self.personal, known=self.known)
        self.learnt.update((value, kind) for value, kind in masked.values if is_distinctive(value))
        return masked.text

    def again(self, text: str) -> str:
        """A masked text, masked again with the values learnt since."""
        if len(self._learnt.kinds) != len(self.learnt):
            self._learnt = Known.of(self.learnt)
        return masked(text, self._learnt.found(text))[0]


def redact(text: str, *, personal: bool = True, known: Known | None = None) -> Redacted:
    """Mask secrets always, personal data if ``personal``, and ``known`` values. Idempotent; linear in ``len(text)``.

    It reads what a person sees: hidden characters are removed (also from the result), and emphasis inside a word does
    not divide it. Lone surrogates become "?".
    """
    text = plain(text.encode("utf-8", "replace").decode("utf-8"))
    values: list[tuple[str, str]] = []
    for _ in range(PASSES):
        before = text
        text = _masked(text, SECRETS, values)
        if personal:
            text = _masked(text, PEOPLE, values)
        if text == before:
            break
    if known and known.kinds:
        text = _masked(text, (known.found,), values)
    return Redacted(text, tuple(sorted({kind for _, kind in values})), tuple(values))


def _masked(text: str, rules: Iterable[Rule], values: list[tuple[str, str]]) -> str:
    """The text with the rules' finds masked; the masked values are added to ``values``."""
    view = View.of(text)
    spans = (span for rule in rules for span in rule(view.text))
    text, masked_values = masked(
        text, [view.back(span) for span in spans if MASKED not in view.text[span.start : span.end]]
    )
    values += masked_values
    return text

"""Mask secrets and personal data as ``[redacted: phone number]`` before any model sees a text.

Libraries check machine formats: Kingfisher (an extra) keys and tokens, phonenumbers telephone numbers, python-stdnum
check digits.
The rules here cover what people type in a chat. A needless mask harms memory, so in doubt a text stays unmasked.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from memorybank.language import plain
from memorybank.language.work_cache import work
from memorybank.safety.redaction import (
    codes,
    command_lines,
    contacts,
    identity_numbers,
    labelled,
    passwords,
    public_values,
    random_values,
    sequences,
    vendors,
)
from memorybank.safety.redaction.known_values import KnownValues, digest, is_distinctive
from memorybank.safety.redaction.spans import MASK_PLACEHOLDER, SearchView, SecretSpan, masked, outside

__all__ = ["PERSONAL_KINDS", "KnownValues", "Masker", "RedactedText", "digest", "is_distinctive", "redact"]

MAX_PASSES = 5  # a mask may reveal a secret beside it; measured: two passes settle everything
#: Kinds that a bank may choose not to mask; every other kind is a secret.
PERSONAL_KINDS = frozenset({*contacts.CONTACT_KINDS, *identity_numbers.IDENTITY_KINDS})

Rule = Callable[[str], Iterator[SecretSpan]]
SECRET_RULES: tuple[Rule, ...] = (
    command_lines.find,
    vendors.find,
    codes.find,
    sequences.find,
    passwords.find,
    labelled.find,
    random_values.find,
)
PERSONAL_RULES: tuple[Rule, ...] = (contacts.find, identity_numbers.find)


@dataclass(frozen=True, slots=True)
class RedactedText:
    """The masked text and the sorted kinds of its masks. ``values`` are the masked values with their kinds."""

    text: str
    kinds: tuple[str, ...]
    values: tuple[tuple[str, str], ...] = field(default=(), repr=False, compare=False)


@dataclass(slots=True)
class Masker:
    """Masks the texts of one bank, with the values ``known`` so far; collects new ones in ``learnt``: value → kind."""

    personal: bool = True
    known: KnownValues = field(default_factory=KnownValues)
    learnt: dict[str, str] = field(default_factory=dict, repr=False)
    _learnt: KnownValues = field(default_factory=KnownValues, init=False, repr=False)

    def mask(self, text: str) -> str:
        """The masked text. Distinctive values are learnt."""
        masked = redact(text, personal=self.personal, known=self.known)
        self.learnt.update((value, kind) for value, kind in masked.values if is_distinctive(value))
        return masked.text

    def mask_learnt(self, text: str) -> str:
        """A masked text, masked again with the values learnt since."""
        if not any(value in text for value in self.learnt):  # of nearly every text: hashing its words takes longer
            return text
        if len(self._learnt.kinds) != len(self.learnt):
            self._learnt = KnownValues.of(self.learnt)
        return masked(text, self._learnt.find(text))[0]


def redact(text: str, *, personal: bool = True, known: KnownValues | None = None) -> RedactedText:
    """Mask secrets always, personal data if ``personal``, and ``known`` values. Idempotent; linear in ``len(text)``.

    It searches the text as a person sees it: hidden characters are removed (also from the result), and emphasis marks
    inside a word are ignored. Lone surrogates become "?".
    """
    text = plain(text.encode("utf-8", "replace").decode("utf-8"))
    values: list[tuple[str, str]] = []
    with work():  # the rules search one text after another
        for _ in range(MAX_PASSES):
            before = text
            text = _masked(text, SECRET_RULES, values)
            if personal:
                text = _masked(text, PERSONAL_RULES, values)
            if text == before:
                break
    if known and known.kinds:
        text = _masked(text, (known.find,), values)
    return RedactedText(text, tuple(sorted({kind for _, kind in values})), tuple(values))


def _masked(text: str, rules: Iterable[Rule], values: list[tuple[str, str]]) -> str:
    """The text with the matches of the rules masked; appends the masked values to ``values``."""
    view = SearchView.of(text)
    spans = [
        span for rule in rules for span in rule(view.text) if MASK_PLACEHOLDER not in view.text[span.start : span.end]
    ]
    public = sorted(public_values.find(view.text)) if spans else []
    text, masked_values = masked(text, [view.back(span) for span in outside(public, spans)])
    values += masked_values
    return text

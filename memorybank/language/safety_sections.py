"""Pack sections for safety: words around secrets and personal data, and patterns of instructions to a model."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# As in ``sections``. Neither file imports the other.
Words = tuple[str, ...]
WordsByMeaning = Mapping[str, Words]


@dataclass(frozen=True, slots=True)
class SecretWords:
    """Words that people type around secrets."""

    #: Words for a password, and short forms that mean one only before a colon or an equals sign.
    passwords: Words = ()
    short: Words = ()
    #: Patterns for logging in or getting access; near them, text that strongly resembles a password counts as one.
    access: Words = ()
    #: Patterns: names for a secret made of digits, and for one made of words.
    pins: Words = ()
    phrases: Words = ()
    #: Patterns: names for a key or token; and words of which every such name contains one.
    keys: Words = ()
    key_words: Words = ()
    #: Words between a secret's name and its value: "is"; and other links: "to", "as".
    says: Words = ()
    becomes: Words = ()
    #: Words between getting access and what one gets it with: "with", "using".
    means: Words = ()
    #: Patterns: words that describe a password and are not one: "wrong", "expired".
    states: Words = ()
    #: Patterns: things that a code opens, words for a code, verbs for entering it. Two of the three announce a code.
    places: Words = ()
    codes: Words = ()
    types: Words = ()
    #: Patterns: "unlocks with" and similar; and looser names for a secret made of words.
    opens: Words = ()
    wordings: Words = ()
    #: Patterns: names for a licence key, and for a wireless network.
    licences: Words = ()
    networks: Words = ()


@dataclass(frozen=True, slots=True)
class PersonalDataWords:
    """Words that people type around personal data. They are patterns that ignore case unless said otherwise."""

    #: Words before a telephone number, and words that may follow them.
    phones: Words = ()
    phone_number: Words = ()
    #: Words that only a number told digit by digit begins with: "zero", "plus".
    spoken_digits: Words = ()
    #: Words before a number that identifies a person: passport, tax number, number plate.
    ids: Words = ()
    #: The words of ``ids`` that are ordinary words, too ("all tests pass", "a plate of steel"), in any language.
    ordinary_ids: Words = ()
    #: Words before a date of birth.
    born: Words = ()
    #: The words of ``born`` that also name the yearly day, on which other things happen, too.
    birthdays: Words = ()
    #: Words for the signs of an e-mail address: "at", "dot".
    at: Words = ()
    dot: Words = ()
    #: A street with its number, case-sensitive.
    streets: Words = ()


@dataclass(frozen=True, slots=True)
class InjectionPatterns:
    """Patterns of lines that give a model commands, by command; matched against case-folded text.

    ``{{name}}`` in a pattern stands for any of ``parts["name"]``.
    """

    #: Names of a chat's participants other than people.
    roles: Words
    #: The word before a sender's name in a forwarded message, without its colon.
    senders: Words
    #: Patterns: words before and after a name with which people introduce themselves or speak for somebody else.
    introductions: Words
    introduced: Words
    role: Words
    tool: Words
    exfiltration: Words
    override: Words
    persona: Words
    standing: Words
    reveal: Words
    concealment: Words
    parts: WordsByMeaning


@dataclass(frozen=True, slots=True)
class NormativePatterns:
    """Patterns of sentences that tell how to behave; matched against case-folded text, within one sentence.

    Such sentences say what to answer when somebody asks, what every answer must be like, what to tell nobody, whose
    word counts, or what needs no check. ``{{name}}`` in a pattern stands for any of ``parts["name"]``.
    """

    sentences: Words = ()
    parts: WordsByMeaning = field(default_factory=dict)
    #: Signs that a sentence is about the subject of a rule, or meant in general: see ``memorybank.safety.rule_signs``.
    signs: WordsByMeaning = field(default_factory=dict)

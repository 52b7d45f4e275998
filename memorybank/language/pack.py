"""One language pack: the sections of one language."""

from dataclasses import dataclass, field

from memorybank.language.safety_sections import Directions, Instructions, Personal, Secrets
from memorybank.language.sections import Changes, Clauses, Dates, Kinds, Numbers, States, Talk, Vocabulary, Wishes


@dataclass(frozen=True, slots=True)
class Pack:
    """One language. ``code`` is ISO 639-1; ``spaced`` says whether the language puts spaces between words."""

    code: str
    spaced: bool
    words: Vocabulary
    talk: Talk
    clauses: Clauses
    dates: Dates
    numbers: Numbers
    kinds: Kinds
    changes: Changes
    states: States
    secrets: Secrets
    personal: Personal
    instructions: Instructions
    directions: Directions
    wishes: Wishes


@dataclass(frozen=True, slots=True)
class Beyond:
    """A language without a full pack: only what masking and injection screening need."""

    code: str
    spaced: bool = True
    secrets: Secrets = field(default_factory=Secrets)
    personal: Personal = field(default_factory=Personal)
    directions: Directions = field(default_factory=Directions)

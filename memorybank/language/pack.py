"""One language pack: the sections of one language."""

from dataclasses import dataclass, field

from memorybank.language.safety_sections import InjectionPatterns, InjectionTopics, PersonalDataWords, SecretWords
from memorybank.language.sections import (
    ChangePatterns,
    Clauses,
    Conversation,
    DateWords,
    ForgetPhrases,
    KindPatterns,
    NumberWords,
    StatePatterns,
    Vocabulary,
)


@dataclass(frozen=True, slots=True)
class Pack:
    """One language. ``code`` is ISO 639-1; ``spaced`` says whether the language puts spaces between words."""

    code: str
    spaced: bool
    words: Vocabulary
    talk: Conversation
    clauses: Clauses
    dates: DateWords
    numbers: NumberWords
    kinds: KindPatterns
    changes: ChangePatterns
    states: StatePatterns
    secrets: SecretWords
    personal: PersonalDataWords
    instructions: InjectionPatterns
    directions: InjectionTopics
    wishes: ForgetPhrases


@dataclass(frozen=True, slots=True)
class PartialPack:
    """A language without a full pack: only what masking and injection screening need."""

    code: str
    spaced: bool = True
    secrets: SecretWords = field(default_factory=SecretWords)
    personal: PersonalDataWords = field(default_factory=PersonalDataWords)
    directions: InjectionTopics = field(default_factory=InjectionTopics)

"""The sections of a pack: everything a language must say, be it that it has none.

In the file a string is words parted by spaces; an array is phrases or patterns, one each; a table is words by what
they mean. A pattern is a regular expression that is matched in any case, and brings no groups of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

Words = tuple[str, ...]
Table = Mapping[str, Words]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words by what they are worth, in lower case."""

    #: They carry no content, and having one or two is what makes words a sentence.
    function: Words
    #: Praise and small talk: a sentence made of these tells nothing that is worth keeping.
    praise: Words
    #: Two lines that differ in these alone say the same.
    articles: Words
    #: A full stop behind these ends no sentence.
    abbreviations: Words


@dataclass(frozen=True, slots=True)
class Talk:
    """What only the moment needed."""

    #: Phrases spoken before the point is made; cut only where punctuation or a name follows.
    openers: Words
    #: Phrases that say that something is said. What follows must be able to stand alone.
    lead_ins: Words
    #: Words that can be left out of any sentence.
    intensifiers: Words
    #: Patterns: how a sentence begins that leans on the one before it. Joining the two costs nothing when a word
    #: is misread, so the list may be generous.
    leaning: Words


@dataclass(frozen=True, slots=True)
class Clauses:
    """Where a long sentence may be cut behind a comma."""

    comma: Words
    #: Behind a comma these begin a clause of its own; …
    opening: Words
    #: … these only if one of the ``subjects`` (patterns) follows.
    before_subject: Words
    subjects: Words
    #: They go where the clause becomes a sentence.
    dropped: Words


@dataclass(frozen=True, slots=True)
class Pack:
    """One language. ``code`` is ISO 639-1; ``spaced`` says whether it parts its words by spaces."""

    code: str
    spaced: bool
    words: Vocabulary
    talk: Talk
    clauses: Clauses

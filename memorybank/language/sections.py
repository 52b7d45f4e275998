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
    #: Words that say nothing, neither more nor less, in any sentence: "basically", not "very".
    fillers: Words
    #: Phrases that say nothing where they stand between commas: ", you know,".
    asides: Words
    #: Words of asking, telling and summing up: in a question they are about the answer, not about its subject.
    asking: Words
    #: Patterns: how a sentence begins that leans on the one before it. Joining the two costs nothing when a word
    #: is misread, so the list may be generous.
    leaning: Words
    #: Words with which an answer begins; what begins with another little word is mostly none.
    answering: Words
    #: Sounds of somebody who looks for words; one that is a word elsewhere counts where this language is spoken.
    hesitations: Words
    #: Function words that may be said twice in a row; all others are stammered then.
    doubled: Words
    #: Those of them that are stammered all the same where a speaker halts anyway.
    resumed: Words
    #: Patterns: where one of these stands, no word of the clause is left out. The list may be generous.
    negations: Words


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
    #: What a clause hangs on that begins with one of these must stay with it.
    conditions: Words
    #: They join the last of several names to those before: "and".
    joining: Words


@dataclass(frozen=True, slots=True)
class Dates:
    """Dates in words. A phrase is filed under what it means: ``"-1 week"`` is the week before that of the speaker."""

    #: Twelve, each with all its names, the full one first; seven, from Monday.
    months: Words
    weekdays: Words
    #: Words that show that a sentence speaks of time.
    signs: Words
    #: Between day, month and year ("3 de mayo"); between month and day; behind the day ("3rd").
    of: Words
    before_day: Words
    ordinals: Words
    #: Words for day, week, month, year, and those for the numbers before them.
    units: Table
    numbers: Table
    #: Phrases that are never anything else, and patterns with the neighbours that make others sure.
    phrases: Table
    patterns: Table
    #: Around a number with its unit: "vor", "前"; and patterns of what must not follow then.
    ago_before: Words
    ago_after: Words
    not_ago: Words
    #: Around the weekday that was last, and patterns of what may hang on its name.
    last_before: Words
    last_after: Words
    weekday_tail: Words
    #: Patterns before the weekday of another calendar week, by how many weeks from now.
    week_and_day: Table
    #: Where words are not parted: characters that make another word of the phrase behind them or of a number, and
    #: patterns that do so behind the phrase.
    not_behind: Words
    not_counted: Words
    not_before: Words
    #: Patterns for a module of the language's own, by the name it knows them by; then no other reads its phrases.
    grammar: Table
    turns: Table
    seasons: Table


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers in words, and what they scale."""

    #: Those for 1, 2, 3, … and for 10, 20, 30, …, each with all its words; compounds are made of the first.
    ones: Words
    tens: Words
    #: How tens and ones are put together: "{tens}-{ones}".
    compounds: Words
    #: They mean other things, too: they prove a number, but claim none.
    ambiguous: Words
    #: By their value: "k", "million".
    scales: Table
    #: What may be glued to a number without being its unit: "th", "s".
    endings: Words


@dataclass(frozen=True, slots=True)
class Kinds:
    """Patterns of what a sentence is; whole words, where words are parted."""

    decided: Words
    #: With one of these nothing is decided after all.
    undecided: Words
    preferred: Words
    #: How a sentence begins that asks for something to be made; these bring their own ends.
    requested: Words
    #: What the whole is for; who answers for what; what is open, or owed by somebody.
    purpose: Words
    role: Words
    owed: Words
    #: How a model names the kinds of lines when it answers in this language.
    labels: Table


@dataclass(frozen=True, slots=True)
class Changes:
    """How a sentence says that one value replaces another. OLD and NEW stand for the values."""

    #: Patterns of verbs of change, and of what counts behind one, before one, and by itself.
    verbs: Words
    after_verb: Words
    before_verb: Words
    alone: Words
    #: They open a parenthesis with the old value: "(was 3 May)".
    was: Words
    #: A value ends before these.
    stop: Words
    #: With one of these nothing is replaced: it is only supposed.
    hedged: Words
    #: Said of any change; two facts that share these alone are not about the same thing.
    generic: Words


@dataclass(frozen=True, slots=True)
class States:
    """Patterns of how a sentence says that something is so for the time being, and how, later, that it is over."""

    #: What holds for now: "still", "currently"; …
    ongoing: Words
    #: … and what is waited for: "still no", "open question".
    waiting: Words
    #: The first ends with one of these: "revoked", "switched off"; …
    ended: Words
    #: … the other with these as well: "arrived", "answered".
    arrived: Words
    #: It holds another value from now on, which NEW stands for: "moved to NEW".
    moved: Words
    #: With one of these nothing has ended yet.
    upcoming: Words
    #: Words by which speakers speak of themselves.
    own: Words


@dataclass(frozen=True, slots=True)
class Wishes:
    """How somebody asks to have forgotten what she said. Patterns of whole sentences; no talk of code or files."""

    #: Patterns: what may stand before it, as "please" or "sorry".
    lead: Words
    #: ``{{about}}`` in a pattern is what it is about; without it, what was said last is meant.
    forget: Words
    #: What the answer says then: a sentence each.
    done: Words
